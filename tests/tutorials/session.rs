//! A shell in an empty folder, in which one command follows the other.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use tempfile::TempDir;

use crate::page::missing;

/// How long a command may take, and how long what only looks is repeated until it sees what is shown.
const PATIENCE: Duration = Duration::from_mins(10);
/// What looks and changes nothing: a reader would look again.
const LOOKS: [&str; 9] = [
    "kubectl get ",
    "curl ",
    "chandler list",
    "chandler status",
    "chandler history",
    "chandler search",
    "chandler show",
    "chandler explain",
    "chandler plan",
];

/// A running shell; everything it started ends with it.
pub(crate) struct Session {
    shell: Child,
    input: ChildStdin,
    codes: Receiver<i32>,
    folder: TempDir,
    /// What stands in pages, and what it is here.
    places: BTreeMap<String, String>,
}

impl Session {
    /// Starts a shell with variables.
    pub(crate) fn start(variables: &[(&str, &str)]) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let programs = folder.path().join(".bin");
        fs_err::create_dir(&programs)?;
        fs_err::create_dir(folder.path().join("work"))?;
        let path = format!(
            "{}:{}",
            programs.display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let mut shell = Command::new("bash")
            .args(["--noprofile", "--norc"])
            .current_dir(folder.path().join("work"))
            .env("HOME", folder.path())
            .env("PATH", path)
            .env("CHANDLER_CACHE_DIR", folder.path().join(".cache"))
            .env_remove("KUBECONFIG")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let input = shell.stdin.take().context("no input")?;
        let output = shell.stdout.take().context("no output")?;
        let (sender, codes) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = line.parse().map(|code| sender.send(code));
            }
        });
        let session = Self {
            shell,
            input,
            codes,
            folder,
            places: BTreeMap::new(),
        };
        let chandler = Path::new(env!("CARGO_BIN_EXE_chandler"));
        std::os::unix::fs::symlink(chandler, programs.join("chandler"))?;
        // Somebody may listen there already.
        let port = free_port()?;
        Ok(session
            .knows("127.0.0.1:8080", &format!("127.0.0.1:{port}"))
            .knows(" 8080:", &format!(" {port}:")))
    }

    /// What a name in the pages is here.
    pub(crate) fn knows(mut self, place: &str, here: &str) -> Self {
        self.places.insert(place.to_owned(), here.to_owned());
        self
    }

    /// Lets the reader have a program.
    pub(crate) fn with_program(self, name: &str, program: &Path) -> anyhow::Result<Self> {
        std::os::unix::fs::symlink(program, self.folder.path().join(".bin").join(name))?;
        Ok(self)
    }

    /// Lets the reader have a folder.
    pub(crate) fn has(&self, name: &str, folder: &Path) {
        std::os::unix::fs::symlink(folder, self.folder.path().join("work").join(name)).unwrap();
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, content: &str) -> anyhow::Result<()> {
        let path = self.folder.path().join("work").join(name);
        fs_err::write(path, self.here(content))?;
        Ok(())
    }

    /// Runs a command until it ends well and prints what is shown.
    pub(crate) fn does(&mut self, line: &str, shown: &[String]) -> anyhow::Result<()> {
        let command = self.here(line);
        let shown: Vec<String> = shown.iter().map(|line| self.here(line)).collect();
        let only_looks = LOOKS.iter().any(|look| command.starts_with(look));
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (code, printed) = self.runs(&command)?;
            let missing = missing(&shown, &printed);
            if code == 0 && missing.is_none() {
                println!("$ {command}\n{printed}");
                return Ok(());
            }
            if !only_looks || Instant::now() > deadline {
                ensure!(code == 0, "`{command}` ended with {code}:\n{printed}");
                let missing = missing.unwrap_or_default();
                bail!("`{command}`: `{missing}` is not shown in\n{printed}");
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Its exit code and what it printed.
    fn runs(&mut self, command: &str) -> anyhow::Result<(i32, String)> {
        let output = self.folder.path().join(".output");
        writeln!(
            self.input,
            "{{ {command}\n}} >{} 2>&1 </dev/null; echo $?",
            output.display()
        )?;
        let Ok(code) = self.codes.recv_timeout(PATIENCE) else {
            let printed = fs_err::read_to_string(output).unwrap_or_default();
            bail!("`{command}` does not end:\n{printed}");
        };
        Ok((code, fs_err::read_to_string(output)?))
    }

    fn here(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (place, here) in &self.places {
            text = text.replace(place, here);
        }
        text
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The group has what runs in the background as well.
        let group = format!("-{}", self.shell.id());
        let _ = Command::new("kill").args(["--", &group]).status();
        let _ = self.shell.wait();
    }
}

fn free_port() -> anyhow::Result<u16> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.port())
}
