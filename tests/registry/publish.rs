//! What we publish, and what others make of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::cluster::repository;
use crate::support::data::{each_yaml_file, skipped};
use crate::support::registry::Registry;

/// A registry, and a folder to run commands in.
struct Shell {
    registry: Registry,
    folder: tempfile::TempDir,
}

impl Shell {
    fn new() -> Self {
        Self {
            registry: Registry::start().unwrap(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    fn image(&self, name: &str) -> String {
        format!("{}/{name}", self.registry.address)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_chandler"))
            .args(arguments)
            .current_dir(self.folder.path())
            .env("CHANDLER_CACHE_DIR", self.path("cache"))
            .env("HOME", self.folder.path())
            .env("DOCKER_CONFIG", self.folder.path())
            .output()
            .unwrap()
    }

    /// Runs a command that needs no registry, and gives what it printed.
    fn local(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that has to succeed, and gives what it printed.
    fn done(&self, arguments: &[&str]) -> String {
        self.local(&[arguments, &["--plain-http", &self.registry.address]].concat())
    }
}

/// `sha256:…` at the end of what was printed.
fn digest(printed: &str) -> String {
    printed.trim().rsplit_once('@').unwrap().1.to_owned()
}

/// The blobs of a stream, each as text with sorted keys, in no particular order.
fn blobs(stream: &str) -> Vec<String> {
    let values = serde_json::Deserializer::from_str(stream).into_iter::<Value>();
    let mut blobs: Vec<String> = values.map(|value| canonical(&value.unwrap())).collect();
    blobs.sort();
    blobs
}

fn canonical(value: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                let map: BTreeMap<&String, Value> = map
                    .iter()
                    .map(|(key, value)| (key, sorted(value)))
                    .collect();
                serde_json::to_value(map).unwrap()
            }
            Value::Array(list) => list.iter().map(sorted).collect(),
            other => other.clone(),
        }
    }
    sorted(value).to_string()
}

fn assert_same_blobs(what: &str, ours: &str, theirs: &str) -> usize {
    let (ours, theirs) = (blobs(ours), blobs(theirs));
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs, "{what}");
    }
    ours.len()
}

/// The program `opm`, or a line that says why there is none.
fn opm(test: &str) -> Option<PathBuf> {
    let tool = repository().join("deploy/local/cluster");
    let output = Command::new(tool).args(["tool", "opm"]).output();
    match output {
        Ok(output) if output.status.success() => Some(PathBuf::from(
            String::from_utf8(output.stdout).unwrap().trim(),
        )),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().last().unwrap_or_default();
            skipped(test, &format!("opm cannot be built: {last}"));
            None
        }
        Err(error) => {
            skipped(
                test,
                &format!("deploy/local/cluster cannot be run: {error}"),
            );
            None
        }
    }
}

fn opm_render(opm: &Path, arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    trust_every_image(folder.path());
    let output = Command::new(opm)
        .args(["render", "--use-http"])
        .args(arguments)
        .env("HOME", folder.path())
        .env("TMPDIR", folder.path())
        .current_dir(folder.path())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "opm render {arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// opm pulls nothing without a policy, which Debian's containers-common would bring.
fn trust_every_image(home: &Path) {
    let folder = home.join(".config/containers");
    fs_err::create_dir_all(&folder).unwrap();
    let policy = r#"{"default": [{"type": "insecureAcceptAnything"}]}"#;
    fs_err::write(folder.join("policy.json"), policy).unwrap();
}

/// Three versions of a bundle in folders `b/VERSION`, pushed, and in a catalog in `cat`.
fn published() -> Shell {
    let shell = Shell::new();
    shell.local(&[
        "catalog",
        "init",
        "gopher",
        "-c",
        "stable",
        "--output-dir",
        "cat",
    ]);
    for version in ["1.0.0", "1.1.0", "2.0.0"] {
        let folder = format!("b/{version}");
        shell.local(&[
            "bundle",
            "init",
            "gopher",
            "--version",
            version,
            "--output-dir",
            &folder,
        ]);
        let image = shell.image(&format!("gopher:v{version}"));
        let pushed = shell.done(&["bundle", "push", &folder, &image]);
        let pushed = pushed.trim();
        shell.done(&["catalog", "add", "cat", pushed, "--channel", "stable"]);
    }
    shell
}

#[test]
fn a_bundle_and_a_catalog_come_back_as_they_were() {
    let shell = published();
    let image = shell.image("gopher:v1.1.0");
    let pushed = shell.done(&["bundle", "push", "b/1.1.0", &image]);
    let pulled = shell.done(&["bundle", "pull", &image, "pulled", "-o", "json"]);
    let pulled: Value = serde_json::from_str(&pulled).unwrap();
    assert_eq!(pulled["digest"], digest(&pushed));
    let again = shell.done(&["bundle", "push", "pulled", &shell.image("again")]);
    assert_eq!(digest(&again), digest(&pushed));

    let catalog = shell.image("catalog:v1");
    let pushed = shell.done(&["catalog", "push", "cat", &catalog]);
    let layout = shell.done(&["catalog", "push", "cat", "oci:layout:v1"]);
    assert_eq!(digest(&pushed), digest(&layout));
    let folder = shell.done(&["catalog", "render", "cat"]);
    for source in [
        catalog.as_str(),
        pushed.trim(),
        "oci:layout:v1",
        layout.trim(),
    ] {
        assert_eq!(
            shell.done(&["catalog", "render", source]),
            folder,
            "{source}"
        );
        shell.done(&["catalog", "lint", source]);
    }
}

#[test]
fn opm_renders_what_we_pushed_as_we_do() {
    let test = "opm_renders_what_we_pushed_as_we_do";
    let Some(opm) = opm(test) else { return };
    let shell = published();
    let catalog = shell.image("catalog:v1");
    shell.done(&["catalog", "push", "cat", &catalog]);
    let ours = shell.done(&["catalog", "render", &catalog]);
    assert_eq!(
        assert_same_blobs("catalog", &ours, &opm_render(&opm, &[&catalog])),
        5
    );

    for version in ["1.0.0", "2.0.0"] {
        let image = shell.image(&format!("gopher:v{version}"));
        let ours = shell.done(&["catalog", "render", "--bundle-objects", &image]);
        assert_same_blobs(&image, &ours, &opm_render(&opm, &[&image]));
        let ours = shell.done(&["catalog", "render", &image]);
        assert_same_blobs(&image, &ours, &opm_render(&opm, &["--migrate", &image]));
    }
}

#[test]
fn skopeo_inspects_what_we_pushed() {
    if Command::new("skopeo").arg("--version").output().is_err() {
        return skipped("skopeo_inspects_what_we_pushed", "skopeo is not installed");
    }
    let shell = published();
    let catalog = shell.image("catalog:v1");
    let pushed = shell.done(&["catalog", "push", "cat", &catalog]);
    for (image, label, value) in [
        (
            catalog,
            "operators.operatorframework.io.index.configs.v1",
            "/configs",
        ),
        (
            shell.image("gopher:v1.0.0"),
            "operators.operatorframework.io.bundle.package.v1",
            "gopher",
        ),
    ] {
        let output = Command::new("skopeo")
            .args([
                "inspect",
                "--tls-verify=false",
                &format!("docker://{image}"),
            ])
            .output()
            .unwrap();
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(said["Labels"][label], value);
        if value == "/configs" {
            assert_eq!(said["Digest"], digest(&pushed));
        }
    }
}

/// Real files below `prod/`, written to a folder. None if they are not there.
fn real(test: &str, folder: &Path) -> Option<PathBuf> {
    let found = each_yaml_file(test, |file| {
        let Some((_, inside)) = file.path.split_once("/prod/") else {
            return;
        };
        let path = folder.join(inside);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, file.text).unwrap();
    });
    found.unwrap().then(|| folder.to_owned())
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs_err::read_dir(path).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.is_dir());
    paths.sort();
    paths
}

#[test]
fn opm_renders_every_real_catalog_that_we_pushed_as_we_do() {
    let test = "opm_renders_every_real_catalog_that_we_pushed_as_we_do";
    let shell = Shell::new();
    let Some(prod) = real(test, &shell.path("prod")) else {
        return;
    };
    let Some(opm) = opm(test) else { return };
    let mut counts = (0, 0);
    for version in folders(&prod.join("catalogs")) {
        for catalog in folders(&version) {
            let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
            let image = shell.image(&format!("{}:{}", name(&catalog), name(&version)));
            let folder = catalog.to_string_lossy();
            shell.done(&["catalog", "push", &folder, &image]);
            let ours = shell.done(&["catalog", "render", &image]);
            assert_eq!(ours, shell.done(&["catalog", "render", &folder]), "{image}");
            let theirs = opm_render(&opm, &[&image]);
            counts.1 += assert_same_blobs(&image, &ours, &theirs);
            assert!(
                ours == theirs,
                "{image}: the same blobs, but written otherwise"
            );
            counts.0 += 1;
        }
    }
    assert_eq!(counts.0, 29);
    assert!(counts.1 > 400, "only {} blobs", counts.1);
}

#[test]
fn opm_renders_every_real_bundle_that_we_pushed_as_we_do() {
    let test = "opm_renders_every_real_bundle_that_we_pushed_as_we_do";
    let shell = Shell::new();
    let Some(prod) = real(test, &shell.path("prod")) else {
        return;
    };
    let Some(opm) = opm(test) else { return };
    let mut images = Vec::new();
    let mut refused = Vec::new();
    for operator in folders(&prod.join("operators")) {
        for version in folders(&operator) {
            if !version.join("manifests").is_dir() {
                continue;
            }
            let image = shell.image(&format!("bundle-{}:v1", images.len()));
            let (folder, address) = (version.to_string_lossy(), &shell.registry.address);
            let pushed = shell.run(&["bundle", "push", &folder, &image, "--plain-http", address]);
            match pushed.status.code() {
                Some(0) => images.push(image),
                code => {
                    assert_eq!(code, Some(1), "{folder}");
                    refused.push(folder.into_owned());
                }
            }
        }
    }
    assert!(refused.is_empty(), "{refused:?}");
    assert_eq!(images.len(), 138);
    for (round, images) in images.chunks(20).enumerate() {
        let images: Vec<&str> = images.iter().map(String::as_str).collect();
        // Both forms, in turns: a bundle in one of them says nearly everything of the other.
        let (our_form, their_form) = match round % 2 {
            0 => (&["--bundle-objects"][..], &[][..]),
            _ => (&[][..], &["--migrate"][..]),
        };
        let ours = shell.done(&[&["catalog", "render"], our_form, &images[..]].concat());
        let theirs = opm_render(&opm, &[their_form, &images[..]].concat());
        assert_eq!(assert_same_blobs(test, &ours, &theirs), images.len());
    }
}

#[test]
fn semver_templates_reproduce_real_catalogs_by_way_of_a_mirror() {
    let test = "semver_templates_reproduce_real_catalogs_by_way_of_a_mirror";
    let shell = Shell::new();
    let Some(prod) = real(test, &shell.path("prod")) else {
        return;
    };
    for (package, version) in [
        ("konflux", "v4.20"),
        ("kairos-operator", "v4.16"),
        ("kairos-operator", "v4.22"),
        ("dotvirt-operator", "v4.22"),
    ] {
        let operator = prod.join("operators").join(package);
        let template = operator.join("catalog-templates/semver.yaml");
        let written = fs_err::read_to_string(&template).unwrap();
        let named = chandler::catalog::template::Template::parse("template", &written).unwrap();
        let mut source = String::new();
        for image in named.images() {
            let (repository, tag) = image.rsplit_once(':').unwrap();
            repository.clone_into(&mut source);
            let bundle = operator.join(tag.trim_start_matches('v'));
            assert!(bundle.is_dir(), "{image}: no bundle {}", bundle.display());
            let target = shell.image(&format!("mirror/{package}:{tag}"));
            shell.done(&["bundle", "push", &bundle.to_string_lossy(), &target]);
        }
        let mirror = format!("{source}={}!", shell.image(&format!("mirror/{package}")));
        let template = template.to_string_lossy();
        let ours = shell.done(&["catalog", "render", &template, "--mirror", &mirror]);
        let expected = prod.join(format!("catalogs/{version}/{package}"));
        let expected = shell.done(&["catalog", "render", &expected.to_string_lossy()]);
        let graph = |stream: &str| -> Vec<String> {
            let mut all = blobs(stream);
            all.retain(|blob| !blob.contains("\"schema\":\"olm.bundle\""));
            all
        };
        assert_eq!(graph(&ours), graph(&expected), "{package} {version}");
    }
}
