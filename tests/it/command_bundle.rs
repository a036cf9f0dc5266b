//! `chandler bundle` as a shell sees it.

use serde_json::Value;

use crate::bundle::fixture;
use crate::command_line::Shell;

#[test]
fn a_new_bundle_has_nothing_but_an_image_to_be_pinned() {
    let shell = Shell::new();
    shell.done("bundle init gopher-operator");
    let said = shell.run("bundle lint gopher-operator");
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(said.out.lines().count(), 1, "{}", said.out);
    assert!(
        said.out.starts_with("warning [image-not-pinned] "),
        "{}",
        said.out
    );
    assert!(said.err.contains("0 errors, 1 warning"), "{}", said.err);
}

#[test]
fn a_folder_with_something_in_it_is_not_overwritten() {
    let shell = Shell::new();
    shell.done("bundle init gopher --output-dir here");
    let before = shell.read("here/metadata/annotations.yaml");
    let said = shell.fails(3, "bundle init other --output-dir here");
    assert!(said.contains("here is there already"), "{said}");
    assert_eq!(shell.read("here/metadata/annotations.yaml"), before);
    shell.fails(2, "bundle init Gopher");
    shell.fails(2, "bundle init gopher --version one");
    assert!(!shell.path("Gopher").exists() && !shell.path("gopher").exists());
}

#[test]
fn an_error_ends_with_1_and_is_the_same_for_people_and_programs() {
    let shell = Shell::new();
    shell.done("bundle init gopher --output-dir b");
    let csv = "b/manifests/gopher.clusterserviceversion.yaml";
    let broken = shell.read(csv);
    let broken = broken.replace("  version: 0.1.0", "  version: banana");
    shell.write(csv, &broken);

    let said = shell.fails(1, "bundle lint b");
    assert!(said.contains("error: b has "), "{said}");
    let lines = shell.run("bundle lint b").out;
    assert!(lines.contains("error [version] "), "{lines}");

    let said = shell.run("bundle lint b -o json");
    assert_eq!(said.code, Some(1));
    let report: Value = serde_json::from_str(&said.out).unwrap();
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings.len(), lines.lines().count());
    assert_eq!(findings[0]["severity"], "error");
    assert!(report["errors"].as_u64().unwrap() >= 1);
    let yaml = shell.run("bundle lint b -o yaml").out;
    let same: Vec<Value> = chandler::yaml::values("output", &yaml).unwrap();
    assert_eq!(same, [report]);
}

#[test]
fn what_is_no_bundle_is_an_error_and_what_is_not_there_is_a_failure() {
    let shell = Shell::new();
    shell.write("empty/README.md", "nothing");
    let said = shell.run("bundle lint empty");
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert!(said.out.contains("error [bundle] empty: "), "{}", said.out);
    let said = shell.fails(3, "bundle lint nowhere");
    assert!(
        said.contains("nowhere") && said.contains("hint: "),
        "{said}"
    );
    let said = shell.fails(1, "bundle push empty oci:layout");
    assert!(said.contains("empty is no bundle"), "{said}");
    assert!(!shell.path("layout").exists());
}

#[test]
fn the_version_before_is_compared_whether_it_is_a_folder_or_an_image() {
    let shell = Shell::new();
    shell.done("bundle init gopher --version 1.0.0 --output-dir one");
    shell.done("bundle init gopher --version 1.1.0 --output-dir two");
    let crd = "two/manifests/gopher.example.com_gophers.yaml";
    let narrower = shell.read(crd).replace("minimum: 0", "minimum: 3");
    shell.write(crd, &narrower);
    assert_eq!(shell.run("bundle lint two").code, Some(0));

    let folder = shell.run("bundle lint two --previous one");
    shell.done("bundle push one oci:layout:one");
    let image = shell.run("bundle lint two --previous oci:layout:one");
    assert_eq!(folder.out, image.out);
    assert_eq!(
        (folder.code, image.code),
        (Some(1), Some(1)),
        "{}",
        folder.out
    );
    assert!(folder.out.contains("minimum"), "{}", folder.out);
    let said = shell.fails(3, "bundle lint two --previous ./nowhere");
    assert!(said.contains("./nowhere is not a folder"), "{said}");
}

#[test]
fn a_bundle_goes_through_a_layout_without_a_change() {
    let shell = Shell::new();
    let plain = fixture("plain");
    let plain = plain.display();
    let first = shell.done(&format!("bundle push {plain} oci:layout:v1"));
    let again = shell.done(&format!("bundle push {plain} oci:other"));
    let digest = |said: &str| said.trim().rsplit_once('@').unwrap().1.to_owned();
    assert_eq!(digest(&first), digest(&again));
    assert!(first.starts_with("oci:layout@sha256:"), "{first}");

    let said = shell.done("bundle pull oci:layout:v1 pulled -o json");
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["digest"], digest(&first));
    for file in said["files"].as_array().unwrap() {
        let file = file.as_str().unwrap();
        let original = fs_err::read(fixture("plain").join(file)).unwrap();
        assert_eq!(
            fs_err::read(shell.path("pulled").join(file)).unwrap(),
            original
        );
    }
    let third = shell.done("bundle push pulled oci:layout:v2");
    assert_eq!(digest(&first), digest(&third));

    let said = shell.fails(3, "bundle pull oci:layout:v1 pulled");
    assert!(said.contains("pulled is there already"), "{said}");
    let said = shell.fails(3, "bundle pull oci:layout:v9 elsewhere");
    assert!(said.contains("v9") && said.contains("hint: "), "{said}");
    assert!(!shell.path("elsewhere").exists());
    let said = shell.fails(2, &format!("bundle push {plain} {}", first.trim()));
    assert!(said.contains("name a tag"), "{said}");
}
