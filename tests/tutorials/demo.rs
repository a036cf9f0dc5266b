//! The demo on a cluster of one's own: it is in nobody's way there, and leaves nothing.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use tempfile::TempDir;

use crate::cluster::{Cluster, repository};
use crate::stage::Stage;

/// How long a part of the demo may take: others use this machine as well.
const PATIENCE: Duration = Duration::from_mins(5);

/// Somebody who tries the demo on a cluster of their own.
struct Guest<'c> {
    cluster: &'c Cluster,
    /// Where the demo writes down what it did.
    state: TempDir,
}

impl<'c> Guest<'c> {
    fn new(cluster: &'c Cluster) -> anyhow::Result<Self> {
        let state = tempfile::tempdir()?;
        Ok(Self { cluster, state })
    }

    /// `make demo` or `make demo-down`, for this cluster.
    fn make(&self, target: &str) -> Command {
        let mut make = make(target);
        let registry = self.cluster.registry.as_deref().unwrap_or_default();
        let for_pods = self.cluster.pod_registry.as_deref().unwrap_or(registry);
        make.env("KUBECONFIG", self.cluster.kubeconfig())
            .env("CHANDLER_STATE", self.state.path())
            .env("CHANDLER_REGISTRY", registry)
            .env("CHANDLER_PLAIN_HTTP", registry)
            .env("CHANDLER_POD_REGISTRY", for_pods);
        make
    }

    fn done(&self, target: &str) -> anyhow::Result<String> {
        let output = self.make(target).output()?;
        ensure!(output.status.success(), "make {target}: {}", said(&output));
        Ok(said(&output))
    }

    fn refused(&self, target: &str) -> anyhow::Result<String> {
        let output = self.make(target).output()?;
        ensure!(!output.status.success(), "make {target}: {}", said(&output));
        Ok(said(&output))
    }

    async fn kubectl(&self, line: &str) -> anyhow::Result<String> {
        let words: Vec<&str> = line.split(' ').collect();
        self.cluster.kubectl(&words).await
    }

    /// The names of all objects that there are, but for those that come and go by themselves.
    async fn inventory(&self) -> anyhow::Result<Vec<String>> {
        let kinds = self.kubectl("api-resources --verbs=list -o name").await?;
        let stays = |it: &&str| !it.starts_with("events") && !it.starts_with("leases.");
        let kinds: Vec<&str> = kinds.lines().filter(stays).collect();
        let list = format!("get {} -A -o name --ignore-not-found", kinds.join(","));
        let mut names: Vec<String> = self
            .kubectl(&list)
            .await?
            .lines()
            .map(str::to_owned)
            .collect();
        names.sort();
        Ok(names)
    }
}

/// Something that is made, as it is typed in a shell of its own.
fn make(target: &str) -> Command {
    let mut make = Command::new("make");
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        // What cargo and make tell their children would have everything compiled again.
        let is_theirs = [
            "CARGO_PKG_",
            "CARGO_MANIFEST_",
            "CARGO_BIN_",
            "MAKE",
            "MFLAGS",
        ];
        if is_theirs.iter().any(|it| name.starts_with(it)) || name == "LD_LIBRARY_PATH" {
            make.env_remove(name);
        }
    }
    make.args(["--no-print-directory", "-C"])
        .arg(repository())
        .arg(target)
        .stdin(Stdio::null());
    make
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// A cluster with neither Chandler nor what the demo makes.
async fn empty() -> anyhow::Result<Option<Stage>> {
    let Some(stage) = Stage::bare().await? else {
        return Ok(None);
    };
    let remove = "chandler deploy --image any | kubectl delete --ignore-not-found -f -";
    stage.session()?.does(remove, &[])?;
    Ok(Some(stage))
}

#[tokio::test]
async fn the_demo_refuses_a_cluster_that_has_what_it_would_make() {
    let Some(stage) = empty().await.unwrap() else {
        return;
    };
    let guest = Guest::new(stage.cluster).unwrap();
    let crd = repository().join("bundles/redis-operator/1.1.1/manifests");
    let crd = crd.join("databases.spotahome.com_redisfailovers.yaml");
    let obstacles = [
        ("create namespace gophers".to_owned(), "namespace gophers"),
        (
            "create clusterrole aggregate-olm-view --verb=get --resource=pods".to_owned(),
            "clusterrole aggregate-olm-view",
        ),
        (
            format!("create -f {}", crd.display()),
            "customresourcedefinition redisfailovers.databases.spotahome.com",
        ),
    ];
    for (make, what) in obstacles {
        guest.kubectl(&make).await.unwrap();
        let before = guest.inventory().await.unwrap();
        let words = guest.refused("demo").unwrap();
        let name = what.rsplit(' ').next().unwrap();
        assert!(words.contains("the demo must not be in its way"), "{words}");
        assert!(words.contains(name), "{words}");
        // It is not the demo's, so it stays.
        let words = guest.done("demo-down").unwrap();
        assert!(words.contains("nothing of the demo"), "{words}");
        assert_eq!(guest.inventory().await.unwrap(), before);
        assert!(!guest.state.path().join("demo").exists());
        guest.kubectl(&format!("delete {what}")).await.unwrap();
    }
}

#[tokio::test]
async fn the_demo_leaves_a_cluster_of_ones_own_as_it_was() {
    let Some(stage) = empty().await.unwrap() else {
        return;
    };
    let guest = Guest::new(stage.cluster).unwrap();
    let before = guest.inventory().await.unwrap();
    let shown = guest.done("demo").unwrap();
    for line in [
        "gopher.v1.0.0",
        "harbor-operator.v1.3.0",
        "healthy",
        "http://127.0.0.1:",
    ] {
        assert!(shown.contains(line), "{line} is not in {shown}");
    }
    let words = guest.refused("demo").unwrap();
    assert!(
        words.contains("a demo is in your cluster already"),
        "{words}"
    );
    guest.done("demo-down").unwrap();
    assert_eq!(guest.inventory().await.unwrap(), before);
    assert!(!guest.state.path().join("demo").exists());
    let words = guest.done("demo-down").unwrap();
    assert!(words.contains("nothing of the demo"), "{words}");
}

#[tokio::test]
async fn ctrl_c_takes_the_demo_down_and_says_so() {
    let Some(stage) = empty().await.unwrap() else {
        return;
    };
    let guest = Guest::new(stage.cluster).unwrap();
    let before = guest.inventory().await.unwrap();
    let log = guest.state.path().join("log");
    let output = fs_err::File::create(&log).unwrap();
    let mut demo = guest.make("demo");
    demo.stdout(output.into_parts().0).process_group(0);
    let mut demo = demo.stderr(Stdio::piped()).spawn().unwrap();
    let is_begun = || fs_err::read_to_string(&log).is_ok_and(|it| it.contains("catalogsource"));
    until(&mut demo, is_begun).unwrap();
    let group = format!("-{}", demo.id());
    let status = Command::new("kill").args(["-INT", "--", &group]).status();
    assert!(status.unwrap().success());
    assert!(!demo.wait().unwrap().success());
    let words = fs_err::read_to_string(&log).unwrap();
    assert!(words.contains("the demo is down"), "{words}");
    assert_eq!(guest.inventory().await.unwrap(), before);
}

/// Waits for something that a process is to bring about.
fn until(process: &mut Child, holds: impl Fn() -> bool) -> anyhow::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        if process.try_wait()?.is_some() || Instant::now() > deadline {
            let _ = process.kill();
            let mut words = String::new();
            let errors = process.stderr.as_mut().context("no errors")?;
            errors.read_to_string(&mut words)?;
            bail!("not in time: {words}");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

#[test]
fn a_cluster_that_is_gone_keeps_nobody_from_taking_the_demo_down() {
    let state = tempfile::tempdir().unwrap();
    let demo = state.path().join("demo");
    fs_err::create_dir(&demo).unwrap();
    let record = "KUBECONFIG=/nowhere/kubeconfig\nCHANDLER_KUBECTL=/nowhere/kubectl\n";
    fs_err::write(demo.join("own"), record).unwrap();
    let output = make("demo-down")
        .env_remove("KUBECONFIG")
        .env("CHANDLER_STATE", state.path())
        .output();
    let output = output.unwrap();
    let words = said(&output);
    assert!(output.status.success(), "{words}");
    assert!(
        words.contains("/nowhere/kubeconfig does not answer"),
        "{words}"
    );
    assert!(!demo.exists());
}

#[test]
fn chandler_speaks_to_a_registry_as_those_who_push_to_it_do() {
    let arguments = |plain: &str, for_pods: &str| {
        let script = ". deploy/demo/registry.sh && run_arguments registry:1";
        let output = Command::new("bash")
            .args(["-euc", script])
            .current_dir(repository())
            .env("CHANDLER_PLAIN_HTTP", plain)
            .env("CHANDLER_POD_REGISTRY", for_pods)
            .output()
            .unwrap();
        let words = said(&output).replace("--run-argument=", "");
        words.lines().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(arguments("", ""), "");
    assert_eq!(arguments("registry:1", ""), "--plain-http=registry:1");
    assert_eq!(
        arguments("registry:1", "node:1"),
        "--plain-http=registry:1 --mirror=registry:1=node:1 --plain-http=node:1"
    );
    assert_eq!(arguments("", "node:1"), "--mirror=registry:1=node:1");
}
