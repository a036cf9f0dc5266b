//! The `chandler` command as a shell sees it.

use std::path::PathBuf;
use std::process::{Command, Output};

fn chandler(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_chandler"))
        .args(arguments)
        .output()
        .unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A folder of its own to run commands in, with a cache of its own.
pub(crate) struct Shell {
    folder: tempfile::TempDir,
}

/// What a command said, and how it ended.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Shell {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    pub(crate) fn write(&self, inside: &str, content: &str) {
        let path = self.path(inside);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, inside: &str) -> String {
        fs_err::read_to_string(self.path(inside)).unwrap()
    }

    /// Runs a command line without quoting: words are separated by blanks.
    pub(crate) fn run(&self, line: &str) -> Said {
        self.run_words(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs a command whose words may be empty or have blanks.
    pub(crate) fn run_words(&self, words: &[&str]) -> Said {
        let output = Command::new(env!("CARGO_BIN_EXE_chandler"))
            .args(words)
            .current_dir(self.folder.path())
            .env("CHANDLER_CACHE_DIR", self.path(".cache"))
            .env("HOME", self.folder.path())
            .env("DOCKER_CONFIG", self.folder.path())
            .output()
            .unwrap();
        Said {
            code: output.status.code(),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }

    /// Runs a command that has to succeed, and gives what it printed.
    pub(crate) fn done(&self, line: &str) -> String {
        let said = self.run(line);
        assert_eq!(said.code, Some(0), "{line}: {}{}", said.out, said.err);
        said.out
    }

    /// Runs a command whose answer is no, or that fails, and gives what it said about that.
    pub(crate) fn fails(&self, code: i32, line: &str) -> String {
        let said = self.run(line);
        assert_eq!(said.code, Some(code), "{line}: {}{}", said.out, said.err);
        assert!(said.err.contains("error: "), "{line}: {}", said.err);
        said.err
    }
}

#[test]
fn help_is_an_answer_and_names_every_command() {
    let output = chandler(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    let help = text(&output.stdout);
    for command in [
        "bundle",
        "catalog",
        "plan",
        "explain",
        "graph",
        "crds",
        "completions",
    ] {
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
        &["bundle"],
        &["catalog"],
        &["catalog", "add", ".", "x"],
        &["catalog", "render", "x", "-o", "xml"],
        &["catalog", "render", "NOT A REFERENCE"],
        &["bundle", "pull", "oci:", "x"],
        &["bundle", "pull", "a/b", "x", "--mirror", "nothing"],
        &["bundle", "pull", "a/b", "x", "--ca-file", "nothing"],
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
