//! The `chandler` command as a shell sees it.

use std::process::{Command, Output};

fn chandler(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_chandler"))
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn help_is_an_answer_and_names_every_command() {
    let output = chandler(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    let help = text(&output.stdout);
    for command in ["crds", "completions"] {
        assert!(help.contains(command), "{help}");
    }
}

#[test]
fn version_prints_the_version_of_the_package() {
    let output = chandler(&["--version"]);
    assert_eq!(
        text(&output.stdout),
        format!("chandler {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn wrong_usage_ends_with_2_and_says_so_on_standard_error() {
    for arguments in [
        &["nonsense"][..],
        &[],
        &["completions"],
        &["crds", "--nonsense"],
    ] {
        let output = chandler(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn crds_prints_one_document_per_kind() {
    let output = chandler(&["crds"]);
    assert_eq!(output.status.code(), Some(0));
    let printed = text(&output.stdout);
    assert_eq!(printed.matches("kind: CustomResourceDefinition").count(), 8);
    assert_eq!(printed.matches("\n---\n").count(), 7);
}

#[test]
fn crds_to_a_folder_that_cannot_be_written_ends_with_3_and_a_hint() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let output = chandler(&["crds", "--output-dir", &file.path().to_string_lossy()]);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    assert!(
        said.contains("error: ") && said.contains("hint: "),
        "{said}"
    );
    assert!(said.contains(&*file.path().to_string_lossy()), "{said}");
}

#[test]
fn completions_know_the_commands_in_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = chandler(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stdout).contains("crds"), "{shell}");
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_closes_the_pipe_is_no_failure() {
    use std::process::Stdio;
    let mut child = Command::new(env!("CARGO_BIN_EXE_chandler"))
        .arg("crds")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
}
