//! The demo on a cluster of one's own: it is in nobody's way there, and leaves nothing.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use tempfile::TempDir;

use crate::cluster::repository;
use crate::guest::{Guest, Running, make, said};
use crate::stage::Stage;

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
    let mut guest = Guest::new(stage.cluster).unwrap();
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
        guest.obstacle = Some(what);
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
    let words = guest.done("demo-down").unwrap();
    assert!(words.contains("the demo is down"), "{words}");
    guest.comes_back_to(&before).await.unwrap();
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
    let mut demo = Running::start(&guest).unwrap();
    demo.shows("catalogsource").unwrap();
    demo.interrupt().unwrap();
    demo.shows("the demo is down").unwrap();
    assert!(!demo.ends().unwrap().success(), "{}", demo.words());
    guest.comes_back_to(&before).await.unwrap();
}

#[tokio::test]
async fn a_test_of_the_demo_that_fails_leaves_nothing_to_the_next_one() {
    let Some(stage) = empty().await.unwrap() else {
        return;
    };
    let mut guest = Guest::new(stage.cluster).unwrap();
    let before = guest.inventory().await.unwrap();
    guest.kubectl("create namespace fleet").await.unwrap();
    let mark = "label namespace fleet chandler.demo=true";
    guest.kubectl(mark).await.unwrap();
    guest.obstacle = Some("namespace gophers");
    guest.kubectl("create namespace gophers").await.unwrap();
    let fails = std::panic::AssertUnwindSafe(|| {
        let _guest = guest;
        panic!("this one is expected");
    });
    assert!(std::panic::catch_unwind(fails).is_err());
    let guest = Guest::new(stage.cluster).unwrap();
    guest.comes_back_to(&before).await.unwrap();
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
    assert!(!words.contains("the demo is down"), "{words}");
    assert!(!demo.exists());
}

#[test]
fn a_cluster_that_is_only_busy_is_asked_again() {
    // Answers to the second question, and has a namespace of the demo until somebody deletes it.
    let kubectl = "#!/usr/bin/env bash\n\
        cd \"$(dirname \"$0\")\"\n\
        case $1 in\n\
          version) [ -e asked ] || { touch asked; echo 'net/http: TLS handshake timeout' >&2; exit 1; } ;;\n\
          get) case $* in *'namespace fleet gophers'*) [ -e deleted ] || echo 'x Namespace gophers true' ;; esac ;;\n\
          delete) touch deleted ;;\n\
        esac\n";
    let (words, folder) = down_with(kubectl);
    assert!(words.contains("takes its time"), "{words}");
    assert!(words.contains("removing what the demo made"), "{words}");
    assert!(words.contains("the demo is down"), "{words}");
    assert!(folder.path().join("deleted").exists(), "{words}");
}

#[test]
fn a_cluster_that_does_not_say_what_is_in_it_is_not_taken_for_an_empty_one() {
    let kubectl = "#!/usr/bin/env bash\n[ \"$1\" = version ]\n";
    let (words, folder) = down_with(kubectl);
    assert!(words.contains("does not say what is in it"), "{words}");
    assert!(!words.contains("the demo is down"), "{words}");
    // So that it can be tried again.
    assert!(folder.path().join("demo/own").exists(), "{words}");
}

/// What is said when a demo is taken down in a cluster whose kubectl is this script, and the folder of both.
fn down_with(kubectl: &str) -> (String, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("kubectl");
    fs_err::write(&program, kubectl).unwrap();
    let executable = std::fs::Permissions::from_mode(0o755);
    fs_err::set_permissions(&program, executable).unwrap();
    fs_err::create_dir(folder.path().join("demo")).unwrap();
    let record = format!(
        "KUBECONFIG=/somewhere/kubeconfig\nCHANDLER_KUBECTL={}\n",
        program.display()
    );
    fs_err::write(folder.path().join("demo/own"), record).unwrap();
    let output = make("demo-down")
        .env_remove("KUBECONFIG")
        .env("CHANDLER_STATE", folder.path())
        .output();
    (said(&output.unwrap()), folder)
}

#[test]
fn who_waits_for_the_demo_is_told_what_for() {
    // Time goes by as the condition says.
    let script = ". deploy/demo/common.sh; n=0; sleep() { :; }
        slow() { SECONDS=$((SECONDS + 20)); n=$((n + 1)); [ $n = \"$wanted\" ]; }
        await 'a slow ship' slow; echo arrived";
    let waits = |wanted: &str| {
        let output = Command::new("bash")
            .args(["-euc", script])
            .current_dir(repository())
            .env("CARGO_BUILD_TARGET", "any")
            .env_remove("KUBECONFIG")
            .env("wanted", wanted)
            .output();
        said(&output.unwrap())
    };
    assert_eq!(waits("2"), "arrived\n");
    let words = waits("7");
    let told = words.matches("not yet, after").count();
    assert!(told == 3 && words.contains("a slow ship"), "{words}");
    assert!(words.ends_with("arrived\n"), "{words}");
    let words = waits("never");
    assert!(words.contains("error: a slow ship: not within"), "{words}");
    assert!(!words.contains("arrived"), "{words}");
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
