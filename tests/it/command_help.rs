//! The help of the commands: what it promises is what is there.

use rstest::rstest;

use crate::command_line::Shell;

const REGISTRY: [&str; 4] = ["--plain-http", "--ca-file", "--mirror", "--cache-dir"];

#[rstest]
#[case("bundle init", &["<NAME>", "--version", "--output-dir", "[default: 0.1.0]"], false)]
#[case("bundle lint", &["<DIR>", "--previous <DIR|IMAGE>", "[possible values: text, json, yaml]"], true)]
#[case("bundle push", &["<DIR>", "<REFERENCE>", "oci:DIR[:TAG]"], true)]
#[case("bundle pull", &["<REFERENCE>", "<DIR>"], true)]
#[case("catalog init", &["<PACKAGE>", "--default-channel", "--icon", "--description", "--output-dir"], false)]
#[case("catalog add", &["<DIR>", "<BUNDLE>", "--channel", "--replaces", "--skips", "--skip-range", "--image"], true)]
#[case("catalog render", &["<SOURCE>...", "[default: json]", "--image"], true)]
#[case("catalog lint", &["<SOURCE>", "[default: text]"], true)]
#[case("catalog push", &["<DIR>", "<REFERENCE>", "--force"], true)]
#[case("catalog diff", &["<OLD>", "<NEW>", "--exit-code"], true)]
#[case("hub", &["--catalog <[NAME=]SOURCE>", "--listen <ADDRESS:PORT>", "--refresh <DURATION>"], true)]
#[case("search", &["[WORDS]...", "--catalog <[NAME=]SOURCE>", "--category", "--provider", "--limit"], true)]
#[case("show", &["<PACKAGE[@VERSION]>", "--catalog <[NAME=]SOURCE>"], true)]
#[case("plan", &["--catalog <[NAME=]SOURCE>", "--subscriptions <FILE>", "--installed <FILE>", "--kube-version <VERSION>", "--kubeconfig"], true)]
#[case("explain", &["<PACKAGE[@RANGE]>", "--catalog <[NAME=]SOURCE>", "--channel", "--subscriptions <FILE>"], true)]
#[case("list", &["--namespace", "--kubeconfig", "[default: all of the cluster]"], false)]
#[case("history", &["<NAME>", "--namespace"], false)]
#[case("uninstall", &["<NAME>", "--everything", "--prune-dependencies", "--delete-crds <NAME>...", "--dry-run", "--yes", "--timeout"], false)]
#[case("graph", &["<PACKAGE>", "--catalog <[NAME=]SOURCE>", "--dependencies", "--subscriptions <FILE>", "--installed <FILE>", "--kubeconfig", "[possible values: dot, mermaid, json, yaml, text]"], true)]
fn each_command_tells_its_arguments(
    #[case] command: &str,
    #[case] words: &[&str],
    #[case] speaks_to_registries: bool,
) {
    let help = Shell::new().done(&format!("{command} -h"));
    // However it is wrapped.
    let flat = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in words {
        assert!(flat.contains(word), "{command}: no {word} in {help}");
    }
    for option in REGISTRY {
        assert_eq!(help.contains(option), speaks_to_registries, "{help}");
    }
    assert!(
        help.contains(&format!("Usage: chandler {command} ")),
        "{help}"
    );
}

#[test]
fn groups_list_their_commands() {
    let shell = Shell::new();
    let help = shell.done("bundle --help");
    for verb in ["init", "lint", "push", "pull"] {
        assert!(help.contains(&format!("\n  {verb} ")), "{help}");
    }
    let help = shell.done("catalog --help");
    for verb in ["init", "add", "render", "lint", "push", "diff"] {
        assert!(help.contains(&format!("\n  {verb} ")), "{help}");
    }
}
