//! `chandler hub`, `chandler search` and `chandler show` as a shell sees them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::{Value, json};

use crate::command_line::Shell;
use crate::command_plan::shell;

#[test]
fn search_for_programs_has_the_shape_that_scripts_rely_on() {
    let found = shell().done("search gohper --catalog hub -o json");
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["total"], 1);
    let mut package = found["packages"][0].clone();
    package.as_object_mut().unwrap().remove("description");
    assert_eq!(
        package,
        json!({
            "name": "gopher", "displayName": "gopher", "catalog": "hub", "provider": "",
            "defaultChannel": "stable", "version": "2.0.0", "categories": [],
            "capabilityLevel": "", "deprecated": false,
        })
    );
}

#[test]
fn search_prints_a_line_for_each_package_into_a_pipe() {
    let shell = shell();
    let found = shell.done("search gopher --catalog hub --catalog extra");
    assert_eq!(found, "gopher\t2.0.0\thub\tgopher\n");
    let all = shell.done("search --catalog hub --limit 1");
    assert_eq!(all.lines().count(), 1);
    let none = shell.run("search zebra --catalog hub");
    assert_eq!((none.code, none.out.as_str()), (Some(0), ""));
    assert!(none.err.contains("nothing fits"), "{}", none.err);
}

#[test]
fn show_tells_channels_versions_apis_and_needs() {
    let shell = shell();
    let shown = shell.done("show gopher --catalog hub");
    for words in [
        "gopher 2.0.0\n",
        "  stable (default): 2.0.0, of 4 versions\n",
        "  Hole (example.com/v1)\n",
        "Needs\n",
        "chandler install gopher --channel stable\n",
    ] {
        assert!(shown.contains(words), "no {words} in {shown}");
    }
    let version = shell.done("show gopher@1.1.0 --catalog hub");
    assert!(
        version.contains("Upgrades to\n  gopher.v1.2.0\n"),
        "{version}"
    );
    let page: Value =
        serde_json::from_str(&shell.done("show gopher --catalog hub -o json")).unwrap();
    assert_eq!(page["card"]["name"], "gopher");
}

#[test]
fn show_says_what_may_be_meant() {
    let said = shell().fails(1, "show gofer --catalog hub");
    assert!(said.contains("there is no package `gofer`"), "{said}");
    let said = shell().fails(1, "show submarine --catalog hub");
    assert!(said.contains("`chandler search WORDS`"), "{said}");
    assert!(!said.contains("/api/v1"), "{said}");
    let said = shell().fails(1, "show gopher@9 --catalog hub");
    assert!(said.contains("hint: the newest are"), "{said}");
}

#[test]
fn a_hub_without_a_catalog_that_can_be_read_does_not_start() {
    let said = shell().fails(3, "hub --catalog ./nowhere --listen 127.0.0.1:0");
    assert!(said.contains("is not a folder"), "{said}");
}

/// A hub that runs until this is dropped.
struct Running {
    child: Child,
    address: String,
    // Whoever closes it makes the hub fail that wants to say something.
    _words: BufReader<ChildStderr>,
}

impl Running {
    fn start(shell: &Shell) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_chandler"))
            .args([
                "hub",
                "--catalog",
                "hub",
                "--catalog",
                "extra",
                "--listen",
                "127.0.0.1:0",
            ])
            .current_dir(shell.path("."))
            .env("CHANDLER_CACHE_DIR", shell.path(".cache"))
            .env("HOME", shell.path("."))
            .env_remove("RUST_LOG")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut words = BufReader::new(child.stderr.take().unwrap());
        // The pipe ends when the process does, so that this cannot wait for ever.
        let address = words
            .by_ref()
            .lines()
            .map_while(Result::ok)
            .find_map(|line| {
                let (_, rest) = line.split_once("http://")?;
                Some(rest.split(['"', ' ']).next()?.to_owned())
            });
        Self {
            child,
            address: address.unwrap(),
            _words: words,
        }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_hub_serves_catalogs_without_a_cluster() {
    let shell = shell();
    let hub = Running::start(&shell);
    let list = hub.get("/api/v1/packages?q=gopher");
    assert!(list.starts_with("HTTP/1.1 200 OK\r\n"), "{list}");
    assert!(list.contains("\"name\":\"gopher\""), "{list}");
    assert!(hub.get("/healthz").ends_with("\r\n\r\nok"));
    assert!(hub.get("/readyz").ends_with("\r\n\r\nok"));
    assert!(hub.get("/metrics").contains("openmetrics-text"));
    assert!(
        hub.get("/catalogs/extra/api/v1/all")
            .contains("olm.package")
    );
}
