//! `chandler plan` as a shell sees it.

use std::io::Write as _;
use std::process::{Command, Stdio};

use rstest::rstest;
use serde_json::{Value, json};

use crate::command_line::{Said, Shell, text};
use crate::support::cluster::repository;

/// A shell with the catalogs of `tests/fixtures/command` at hand.
pub(crate) fn shell() -> Shell {
    let shell = Shell::new();
    for catalog in ["hub", "extra"] {
        let fixture = format!("tests/fixtures/command/{catalog}/catalog.yaml");
        let content = fs_err::read_to_string(repository().join(fixture)).unwrap();
        shell.write(&format!("{catalog}/catalog.yaml"), &content);
    }
    shell
}

pub(crate) fn subscription(name: &str, spec: Value, installed: &str) -> Value {
    let mut spec = spec;
    for (key, value) in [
        ("name", name),
        ("source", "hub"),
        ("sourceNamespace", "olm"),
    ] {
        if spec[key].is_null() {
            spec[key] = json!(value);
        }
    }
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "Subscription",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": spec,
        "status": {"installedCSV": installed},
    })
}

pub(crate) fn csv(package: &str, version: &str, phase: &str) -> Value {
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": format!("{package}.v{version}"), "namespace": "ns"},
        "spec": {"displayName": package, "version": version, "install": {"strategy": "deployment"}},
        "status": {"phase": phase},
    })
}

/// Objects as YAML documents; JSON is YAML.
pub(crate) fn documents(objects: &[Value]) -> String {
    let documents: Vec<String> = objects.iter().map(ToString::to_string).collect();
    documents.join("\n---\n") + "\n"
}

fn plan(shell: &Shell, more: &str) -> Said {
    shell.run(&format!(
        "plan --catalog hub --subscriptions subs.yaml {more}"
    ))
}

fn json_plan(shell: &Shell, code: i32, more: &str) -> Value {
    let said = plan(shell, &format!("-o json {more}"));
    assert_eq!(said.code, Some(code), "{}{}", said.out, said.err);
    serde_json::from_str(&said.out).unwrap()
}

fn with_subscriptions(objects: &[Value]) -> Shell {
    let shell = shell();
    shell.write("subs.yaml", &documents(objects));
    shell
}

#[test]
fn a_plan_for_programs_has_the_shape_that_scripts_rely_on() {
    let shell = with_subscriptions(&[subscription("gopher", json!({}), "")]);
    let plan = json_plan(&shell, 0, "");
    let install = |name: &str, version: &str, by: &str| {
        json!({
            "bundle": format!("{name}.v{version}"),
            "package": name,
            "version": version,
            "catalog": "hub",
            "catalogNamespace": "olm",
            "channel": "stable",
            "image": format!("example.com/{name}:{version}"),
            "replaces": "",
            "requestedBy": [by],
        })
    };
    let expected = json!({
        "namespace": "ns",
        "components": [{
            "outcome": "solved",
            "for": ["gopher"],
            "install": [
                install("shovel", "1.0.0", "gopher.v2.0.0"),
                install("gopher", "2.0.0", "gopher"),
            ],
            "subscriptions": [{
                "name": "shovel-stable-hub-olm",
                "package": "shovel",
                "channel": "stable",
                "catalog": "hub",
                "catalogNamespace": "olm",
                "startingCSV": "shovel.v1.0.0",
            }],
            "kept": [],
            "heldBack": [],
            "notes": [],
        }],
    });
    assert_eq!(plan, expected);
}

#[test]
fn yaml_says_the_same_as_json() {
    let shell = with_subscriptions(&[subscription("gopher", json!({}), "")]);
    let said = plan(&shell, "-o yaml");
    let yaml: Value = chandler::yaml::from_str("plan", &said.out).unwrap();
    assert_eq!(yaml, json_plan(&shell, 0, ""));
}

#[test]
fn what_cannot_be_solved_is_explained_and_harms_nobody_else() {
    let shell = with_subscriptions(&[
        subscription("gopher", json!({"channel": "edge", "version": "2.1.0"}), ""),
        subscription("shovel", json!({}), ""),
    ]);
    let plan = json_plan(&shell, 1, "");
    let [gopher, shovel] = plan["components"].as_array().unwrap().as_slice() else {
        panic!("{plan:#}");
    };
    assert_eq!(gopher["outcome"], "unsolvable");
    assert_eq!(gopher["for"], json!(["gopher"]));
    for field in ["summary", "explanation"] {
        let said = gopher[field].as_str().unwrap();
        assert!(said.contains("excavator"), "{field}: {said}");
    }
    assert!(gopher["nearest"].is_array(), "{gopher:#}");
    assert!(gopher["tree"]["says"].is_string(), "{gopher:#}");
    assert_eq!(shovel["outcome"], "solved");
    assert_eq!(shovel["install"][0]["bundle"], "shovel.v1.0.0");
}

#[test]
fn in_a_pipe_there_is_a_line_for_everything() {
    let shell = with_subscriptions(&[
        subscription("gopher", json!({}), "gopher.v1.2.0"),
        subscription("badger", json!({"source": "extra"}), ""),
    ]);
    shell.write(
        "csvs.yaml",
        &documents(&[csv("gopher", "1.2.0", "Succeeded")]),
    );
    let said = shell.run(
        "plan --catalog hub=hub --catalog extra=extra --subscriptions subs.yaml \
         --installed csvs.yaml",
    );
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    let first = said.out.lines().next().unwrap();
    assert_eq!(
        first,
        "install badger 3.0.0 (badger.v3.0.0) from channel stable of olm/extra for badger"
    );
    assert!(
        said.out.contains("keep gopher 1.2.0 (gopher.v1.2.0)"),
        "{}",
        said.out
    );
}

#[test]
fn an_upgrade_says_from_where_to_where_and_generated_subscriptions_are_named() {
    let shell = with_subscriptions(&[subscription("gopher", json!({}), "gopher.v1.2.0")]);
    shell.write(
        "csvs.yaml",
        &documents(&[csv("gopher", "1.2.0", "Succeeded")]),
    );
    let said = plan(&shell, "--installed csvs.yaml");
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(
        said.out,
        "install shovel 1.0.0 (shovel.v1.0.0) from channel stable of olm/hub for gopher.v2.0.0\n\
         upgrade gopher 1.2.0 → 2.0.0 (gopher.v2.0.0) from channel stable of olm/hub for gopher\n\
         subscribe shovel-stable-hub-olm: package shovel, channel stable, catalog olm/hub\n"
    );
}

#[test]
fn an_older_version_that_is_asked_for_is_called_a_downgrade() {
    let shell = with_subscriptions(&[subscription(
        "gopher",
        json!({"version": "1.1.0"}),
        "gopher.v1.2.0",
    )]);
    shell.write(
        "csvs.yaml",
        &documents(&[csv("gopher", "1.2.0", "Succeeded")]),
    );
    let said = plan(&shell, "--installed csvs.yaml");
    assert!(
        said.out.starts_with("downgrade gopher 1.2.0 → 1.1.0 "),
        "{}{}",
        said.out,
        said.err
    );
}

/// A Subscription that was told to follow another package, and what it has: a CSV that says whose it is.
fn after_a_switch_to(package: &str) -> Shell {
    let mut switched = subscription("badger", json!({"channel": "stable"}), "badger.v3.0.0");
    switched["spec"]["name"] = json!(package);
    let shell = with_subscriptions(&[switched]);
    let mut badger = csv("badger", "3.0.0", "Succeeded");
    let property =
        json!([{"type": "olm.package", "value": {"packageName": "badger", "version": "3.0.0"}}]);
    badger["metadata"]["annotations"] =
        json!({"operatorframework.io/properties": json!({"properties": property}).to_string()});
    shell.write("csvs.yaml", &documents(&[badger]));
    shell
}

#[test]
fn what_stays_is_named_by_its_own_package_also_if_the_subscription_follows_another() {
    let shell = after_a_switch_to("gopher");
    let said = plan(&shell, "--installed csvs.yaml");
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    // Where it came from is not where the Subscription looks now.
    assert!(
        said.out
            .starts_with("keep badger 3.0.0 (badger.v3.0.0) for badger\n"),
        "{}",
        said.out
    );
}

#[test]
fn an_upgrade_to_another_package_names_the_one_before() {
    let shell = after_a_switch_to("weasel");
    let blobs = [
        json!({"schema": "olm.package", "name": "weasel", "defaultChannel": "stable"}),
        json!({"schema": "olm.channel", "package": "weasel", "name": "stable",
               "entries": [{"name": "weasel.v1.0.0", "skips": ["badger.v3.0.0"]}]}),
        json!({"schema": "olm.bundle", "package": "weasel", "name": "weasel.v1.0.0",
        "image": "example.com/weasel:1.0.0", "properties": [
            {"type": "olm.package", "value": {"packageName": "weasel", "version": "1.0.0"}},
        ]}),
    ];
    shell.write("hub/weasel.yaml", &documents(&blobs));
    let said = plan(&shell, "--installed csvs.yaml");
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    // Versions of different packages do not compare: it is no downgrade.
    assert_eq!(
        said.out,
        "upgrade weasel badger 3.0.0 → 1.0.0 (weasel.v1.0.0) from channel stable of olm/hub for badger\n"
    );
}

#[test]
fn two_runs_say_the_same_byte_by_byte() {
    let shell = with_subscriptions(&[
        subscription("gopher", json!({}), ""),
        subscription("other", json!({"name": "nothing"}), ""),
    ]);
    for output in ["text", "json", "yaml"] {
        let (a, b) = (
            plan(&shell, &format!("-o {output}")),
            plan(&shell, &format!("-o {output}")),
        );
        assert_eq!((a.code, a.out, a.err), (b.code, b.out, b.err), "{output}");
    }
}

fn from_standard_input(shell: &Shell, input: &str) -> Said {
    let mut child = Command::new(env!("CARGO_BIN_EXE_chandler"))
        .args("plan --catalog hub --subscriptions - -o json".split(' '))
        .current_dir(shell.path("."))
        .env("CHANDLER_CACHE_DIR", shell.path(".cache"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    Said {
        code: output.status.code(),
        out: text(&output.stdout),
        err: text(&output.stderr),
    }
}

#[test]
fn a_list_comes_from_standard_input_as_kubectl_prints_it() {
    let shell = shell();
    let items = [
        subscription("gopher", json!({}), ""),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}),
    ];
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    let said = from_standard_input(&shell, &list.to_string());
    assert_eq!(said.code, Some(0), "{}", said.err);
    let plan: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(plan["components"][0]["for"], json!(["gopher"]));
    // Of one kind, whose items leave it out.
    let mut item = subscription("gopher", json!({}), "");
    item.as_object_mut()
        .unwrap()
        .retain(|key, _| key != "kind" && key != "apiVersion");
    let list = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "SubscriptionList", "items": [item],
    });
    assert_eq!(from_standard_input(&shell, &list.to_string()).out, said.out);
}

#[test]
fn nothing_is_asked_for_by_a_list_without_items() {
    let shell = shell();
    shell.write("subs.yaml", "{apiVersion: v1, kind: List, items: []}");
    assert_eq!(
        plan(&shell, "").out,
        "nothing is asked for in namespace default\n"
    );
    assert_eq!(json_plan(&shell, 0, "")["components"], json!([]));
}

#[test]
fn of_several_namespaces_one_has_to_be_chosen() {
    let mut elsewhere = subscription("shovel", json!({}), "");
    elsewhere["metadata"]["namespace"] = json!("another");
    let shell = with_subscriptions(&[subscription("gopher", json!({}), ""), elsewhere]);
    let said = shell.fails(2, "plan --catalog hub --subscriptions subs.yaml");
    assert!(said.contains("another, ns"), "{said}");
    assert!(
        said.contains("hint: choose one with `--namespace"),
        "{said}"
    );
    let plan = json_plan(&shell, 0, "--namespace another");
    assert_eq!(plan["namespace"], "another");
    assert_eq!(plan["components"][0]["for"], json!(["shovel"]));
}

#[test]
fn a_range_that_is_none_concerns_only_its_subscription() {
    let shell = with_subscriptions(&[
        subscription("gopher", json!({"version": ">>2"}), ""),
        subscription("shovel", json!({}), ""),
    ]);
    let plan = json_plan(&shell, 1, "");
    let summary = plan["components"][0]["summary"].as_str().unwrap();
    assert!(
        summary.starts_with("Subscription ns/gopher: spec.version"),
        "{summary}"
    );
    assert_eq!(plan["components"][1]["outcome"], "solved");
}

#[test]
fn an_annotation_that_cannot_be_read_is_a_warning_that_names_the_csv() {
    let shell = with_subscriptions(&[subscription("gopher", json!({}), "gopher.v1.2.0")]);
    let mut csv = csv("gopher", "1.2.0", "Succeeded");
    csv["metadata"]["annotations"] = json!({"operatorframework.io/properties": "{"});
    shell.write("csvs.yaml", &documents(&[csv]));
    let said = plan(&shell, "--installed csvs.yaml");
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.err
            .contains("warning: ClusterServiceVersion ns/gopher.v1.2.0: "),
        "{}",
        said.err
    );
    assert!(
        said.out.contains("upgrade gopher 1.2.0 → 2.0.0"),
        "{}",
        said.out
    );
}

#[test]
fn a_package_that_nobody_has_comes_with_one_that_may_be_meant() {
    let shell = with_subscriptions(&[subscription("a", json!({"name": "gofer"}), "")]);
    let said = plan(&shell, "");
    assert_eq!(said.code, Some(1));
    assert!(
        said.out.contains("gofer") && said.out.contains("gopher"),
        "{}",
        said.out
    );
    assert!(
        said.err.contains("error: Subscription a cannot be met"),
        "{}",
        said.err
    );
}

#[test]
fn kubernetes_that_is_too_old_is_a_reason() {
    let shell = with_subscriptions(&[subscription("tunnel", json!({}), "")]);
    let outcome = |code: i32, version: &str| {
        let line = format!(
            "plan --catalog extra --subscriptions subs.yaml -o json --kube-version {version}"
        );
        let said = shell.run(&line);
        assert_eq!(said.code, Some(code), "{}{}", said.out, said.err);
        let plan: Value = serde_json::from_str(&said.out).unwrap();
        plan["components"][0].clone()
    };
    assert_eq!(outcome(0, "v1.30.1")["outcome"], "solved");
    let summary = outcome(1, "1.29")["summary"].to_string();
    assert!(summary.contains("1.30.0"), "{summary}");
    let said = shell.fails(
        2,
        "plan --catalog extra --subscriptions subs.yaml --kube-version new",
    );
    assert!(said.contains("`new` is no version of Kubernetes"), "{said}");
    assert!(said.contains("hint: "), "{said}");
}

#[test]
fn a_catalog_source_beside_the_subscriptions_says_its_rank_and_what_it_offers() {
    let source = |spec: Value| {
        json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
            "metadata": {"name": "extra", "namespace": "olm"}, "spec": spec,
        })
    };
    let line = "plan --catalog hub=hub --catalog extra=extra --subscriptions subs.yaml -o json";
    let shovel = |spec: Value| {
        let mut any = subscription("shovel", json!({}), "");
        any["spec"] = json!({"name": "shovel"});
        let shell = with_subscriptions(&[any, source(spec)]);
        let plan: Value = serde_json::from_str(&shell.run(line).out).unwrap();
        plan["components"][0]["install"][0]["bundle"].clone()
    };
    assert_eq!(shovel(json!({"sourceType": "grpc"})), "shovel.v1.5.0");
    assert_eq!(
        shovel(json!({"sourceType": "grpc", "packages": ["b*"]})),
        "shovel.v1.0.0"
    );
    assert_eq!(
        shovel(json!({"sourceType": "grpc", "priority": -1})),
        "shovel.v1.0.0"
    );
}

#[rstest]
#[case::missing_file("plan --catalog hub --subscriptions missing.yaml", 3, "missing.yaml")]
#[case::missing_installed("plan --catalog hub --subscriptions subs.yaml --installed no", 3, "no")]
#[case::missing_catalog("plan --catalog ./none --subscriptions subs.yaml", 3, "none")]
#[case::no_subscription(
    "plan --catalog hub --subscriptions other.yaml",
    2,
    "no Subscription in it"
)]
#[case::no_csv(
    "plan --catalog hub --subscriptions subs.yaml --installed subs.yaml",
    2,
    "no ClusterServiceVersion in it"
)]
#[case::no_yaml("plan --catalog hub --subscriptions broken.yaml", 2, "broken.yaml:1")]
#[case::no_object(
    "plan --catalog hub --subscriptions text.yaml",
    2,
    "no Subscription in it"
)]
#[case::wrong_type("plan --catalog hub --subscriptions typed.yaml", 2, "spec.name")]
#[case::no_name(
    "plan --catalog hub --subscriptions nameless.yaml",
    2,
    "no metadata.name"
)]
#[case::twice(
    "plan --catalog hub --subscriptions twice.yaml",
    2,
    "another Subscription named gopher"
)]
#[case::two_inputs(
    "plan --catalog hub --subscriptions - --installed -",
    2,
    "only one file can be `-`"
)]
#[case::same_name(
    "plan --catalog hub --catalog a/hub --subscriptions subs.yaml",
    2,
    "both named `hub`"
)]
#[case::no_cluster("plan --catalog hub --kubeconfig none.yaml", 3, "--catalog")]
#[case::no_cluster_at_all("plan --kubeconfig none.yaml", 3, "--subscriptions")]
fn what_is_wrong_is_said_with_where_and_what_to_do(
    #[case] line: &str,
    #[case] code: i32,
    #[case] words: &str,
) {
    let gopher = subscription("gopher", json!({}), "");
    let shell = with_subscriptions(std::slice::from_ref(&gopher));
    shell.write(
        "other.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    );
    shell.write("broken.yaml", "a: b: c");
    shell.write("text.yaml", "just text");
    let mut typed = gopher.clone();
    typed["spec"]["name"] = json!({"a": 1});
    shell.write("typed.yaml", &documents(&[typed]));
    let mut nameless = gopher.clone();
    nameless["metadata"] = json!({});
    shell.write("nameless.yaml", &documents(&[nameless]));
    shell.write("twice.yaml", &documents(&[gopher.clone(), gopher]));
    shell.write("a/hub/catalog.yaml", &shell.read("hub/catalog.yaml"));
    let said = shell.fails(code, line);
    assert!(said.contains(words), "{said}");
    assert!(said.contains("hint: "), "{said}");
}

#[test]
fn hostile_yaml_is_refused_in_words() {
    let deep = "[".repeat(100_000);
    let bomb = format!(
        "a: &a [{0}]\nb: &b [{1}]\nc: &c [{2}]\nd: [{3}]\n",
        ["x"; 50].join(","),
        ["*a"; 50].join(","),
        ["*b"; 50].join(","),
        ["*c"; 50].join(",")
    );
    let nested = format!(
        "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {}1{}\n",
        "{a: ".repeat(300),
        "}".repeat(300)
    );
    for input in [
        deep.as_str(),
        &bomb,
        &nested,
        "\u{0}",
        "? {}\n: 1",
        "kind: List\nitems: [1, null, []]",
    ] {
        let said = from_standard_input(&shell(), input);
        let shown: String = input.chars().take(30).collect();
        assert_eq!(said.code, Some(2), "{shown}: {}", said.err);
        assert!(
            said.err.contains("error: ") && !said.err.contains("panicked"),
            "{}",
            said.err
        );
    }
}

#[test]
fn the_words_of_strangers_cannot_steer_the_terminal() {
    let shell = with_subscriptions(&[subscription(
        "a\u{1b}[31m",
        json!({"name": "x\u{1b}]0;y"}),
        "",
    )]);
    let said = plan(&shell, "");
    assert_eq!(said.code, Some(1));
    assert!(
        !said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'),
        "{:?}",
        said.out
    );
}

/// A package with a sound channel and one that goes in a circle.
fn shell_with_a_broken_channel(default: &str) -> Shell {
    let shell = shell();
    let channels = r#"
{"schema": "olm.channel", "package": "mole", "name": "stable", "entries": [{"name": "mole.v1.0.0"}]}
---
{"schema": "olm.channel", "package": "mole", "name": "round",
 "entries": [{"name": "mole.v1.0.0", "replaces": "mole.v2.0.0"}, {"name": "mole.v2.0.0", "replaces": "mole.v1.0.0"}]}
---
{"schema": "olm.bundle", "package": "mole", "name": "mole.v1.0.0", "image": "example.com/mole:1.0.0",
 "properties": [{"type": "olm.package", "value": {"packageName": "mole", "version": "1.0.0"}}]}
---
{"schema": "olm.bundle", "package": "mole", "name": "mole.v2.0.0", "image": "example.com/mole:2.0.0",
 "properties": [{"type": "olm.package", "value": {"packageName": "mole", "version": "2.0.0"}}]}
"#;
    let package = json!({"schema": "olm.package", "name": "mole", "defaultChannel": default});
    shell.write("hub/mole.yaml", &format!("{package}\n---{channels}"));
    shell
}

fn plan_for_mole(shell: &Shell, spec: Value, installed: &str, more: &str) -> Said {
    let wish = subscription("mole", spec, installed);
    shell.write("subs.yaml", &documents(&[wish]));
    plan(shell, more)
}

#[test]
fn a_broken_channel_stops_who_follows_it_and_nobody_else() {
    let shell = shell_with_a_broken_channel("stable");
    for sound in [json!({"channel": "stable"}), json!({})] {
        let said = plan_for_mole(&shell, sound, "", "");
        assert_eq!(said.code, Some(0), "{}", said.out);
        assert!(said.out.contains("mole.v1.0.0"), "{}", said.out);
    }
    let said = plan_for_mole(&shell, json!({"channel": "round"}), "", "");
    assert_eq!(said.code, Some(1), "{}", said.out);
    for words in [
        "channel \"round\" of package \"mole\" is broken and left out: ",
        "in a circle",
        "channel stable",
    ] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
}

#[test]
fn a_broken_default_channel_stops_who_names_none_and_says_which_to_name() {
    let shell = shell_with_a_broken_channel("round");
    let said = plan_for_mole(&shell, json!({}), "", "");
    assert_eq!(said.code, Some(1), "{}", said.out);
    assert!(said.out.contains("\"round\""), "{}", said.out);
    assert!(said.out.contains("channel stable"), "{}", said.out);
    let said = plan_for_mole(&shell, json!({"channel": "stable"}), "", "");
    assert_eq!(said.code, Some(0), "{}", said.out);
    let shown = shell.done("show mole --catalog hub");
    assert!(
        shown.contains("chandler install mole --channel stable"),
        "{shown}"
    );
    assert!(shown.contains("round is broken and left out"), "{shown}");
}

#[test]
fn what_only_a_broken_channel_offers_is_not_said_to_be_nowhere() {
    let shell = shell_with_a_broken_channel("stable");
    let moles = shell.read("hub/mole.yaml").replace(
        r#"{"packageName": "mole", "version": "2.0.0"}}"#,
        r#"{"packageName": "mole", "version": "2.0.0"}},
           {"type": "olm.gvk", "value": {"group": "g", "version": "v1", "kind": "Hill"}}"#,
    );
    let vole = r#"
---
{"schema": "olm.package", "name": "vole", "defaultChannel": "stable"}
---
{"schema": "olm.channel", "package": "vole", "name": "stable", "entries": [{"name": "vole.v1.0.0"}]}
---
{"schema": "olm.bundle", "package": "vole", "name": "vole.v1.0.0", "image": "example.com/vole:1.0.0",
 "properties": [{"type": "olm.package", "value": {"packageName": "vole", "version": "1.0.0"}},
                {"type": "olm.gvk.required", "value": {"group": "g", "version": "v1", "kind": "Hill"}}]}
"#;
    shell.write("hub/mole.yaml", &format!("{moles}{vole}"));
    shell.write(
        "subs.yaml",
        &documents(&[subscription("vole", json!({}), "")]),
    );
    let said = plan(&shell, "");
    assert_eq!(said.code, Some(1), "{}", said.out);
    for words in [
        "Hill",
        "channel \"round\" of package \"mole\" is broken and left out: ",
    ] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
}

#[test]
fn who_has_an_operator_of_a_channel_that_broke_keeps_it_and_is_told() {
    let shell = shell_with_a_broken_channel("stable");
    let csv = csv("mole", "2.0.0", "Succeeded");
    shell.write("installed.yaml", &documents(&[csv]));
    let spec = json!({"channel": "round"});
    let said = plan_for_mole(&shell, spec, "mole.v2.0.0", "--installed installed.yaml");
    assert_eq!(said.code, Some(0), "{}", said.out);
    assert!(
        said.out.contains("mole.v2.0.0 stays as it is"),
        "{}",
        said.out
    );
    assert!(said.out.contains("\"round\""), "{}", said.out);
}

#[test]
fn a_package_without_a_sound_channel_is_said_to_be_broken() {
    let shell = shell_with_a_broken_channel("round");
    let only_round = shell.read("hub/mole.yaml");
    let documents: Vec<&str> = only_round.split("---").collect();
    let documents: Vec<&str> = documents
        .into_iter()
        .filter(|document| !document.contains(r#""name": "stable""#))
        .collect();
    shell.write("hub/mole.yaml", &documents.join("---"));
    let said = plan_for_mole(&shell, json!({"channel": "round"}), "", "");
    assert_eq!(said.code, Some(1), "{}", said.out);
    assert!(
        said.out
            .contains("package mole of catalog olm/hub is broken and left out: "),
        "{}",
        said.out
    );
    assert!(said.out.contains("round"), "{}", said.out);
}

#[test]
fn a_name_that_one_channel_misspells_stops_nobody_who_follows_another() {
    let shell = shell_with_a_broken_channel("stable");
    let misspelled = r#""entries": [{"name": "mole.v2.0.00"}]"#;
    let moles = shell.read("hub/mole.yaml").replace(
        r#""entries": [{"name": "mole.v1.0.0", "replaces": "mole.v2.0.0"}, {"name": "mole.v2.0.0", "replaces": "mole.v1.0.0"}]"#,
        misspelled,
    );
    assert!(moles.contains(misspelled), "{moles}");
    shell.write("hub/mole.yaml", &moles);
    let said = plan_for_mole(&shell, json!({"channel": "stable"}), "", "");
    assert_eq!(said.code, Some(0), "{}", said.out);
    assert!(said.out.contains("install mole 1.0.0"), "{}", said.out);
    let said = plan_for_mole(&shell, json!({"channel": "round"}), "", "");
    assert_eq!(said.code, Some(1), "{}", said.out);
    assert!(said.out.contains("mole.v2.0.00"), "{}", said.out);
}

#[test]
fn who_begins_with_something_of_a_broken_channel_is_told_that_it_is_broken() {
    let shell = shell_with_a_broken_channel("stable");
    for spec in [
        json!({"channel": "round", "startingCSV": "mole.v2.0.0"}),
        json!({"startingCSV": "mole.v2.0.0"}),
    ] {
        let said = plan_for_mole(&shell, spec, "", "");
        assert_eq!(said.code, Some(1), "{}", said.out);
        let words = "channel \"round\" of package \"mole\" is broken and left out: ";
        assert!(said.out.contains(words), "{}", said.out);
        assert!(!said.out.contains("does not list"), "{}", said.out);
    }
}

#[test]
fn who_follows_a_default_channel_that_broke_keeps_what_it_has_and_is_told() {
    let shell = shell_with_a_broken_channel("round");
    let moles = shell.read("hub/mole.yaml").replace(
        r#""name": "stable", "entries": [{"name": "mole.v1.0.0"}]"#,
        r#""name": "stable", "entries": [{"name": "mole.v1.0.0", "replaces": "mole.v0.9.0"}]"#,
    );
    shell.write("hub/mole.yaml", &moles);
    let csv = csv("mole", "0.9.0", "Succeeded");
    shell.write("installed.yaml", &documents(&[csv]));
    let more = "--installed installed.yaml";
    let said = plan_for_mole(&shell, json!({}), "mole.v0.9.0", more);
    assert_eq!(said.code, Some(0), "{}", said.out);
    for words in [
        "mole.v0.9.0 stays as it is: ",
        "the default channel of package mole cannot be followed: ",
        "only who names another channel, such as stable,",
    ] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    let why = shell
        .done("explain mole --catalog hub --subscriptions subs.yaml --installed installed.yaml");
    assert!(why.starts_with("mole 0.9.0 stays as it is"), "{why}");
    assert!(why.contains("is broken and left out"), "{why}");
    let said = plan_for_mole(&shell, json!({"channel": "stable"}), "mole.v0.9.0", more);
    assert!(said.out.contains("→ 1.0.0"), "{}", said.out);
}
