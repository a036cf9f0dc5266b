//! `chandler catalog` and `chandler graph` as a shell sees them.

use rstest::rstest;
use serde_json::Value;

use crate::command_line::Shell;
use crate::fbc::fixtures;

/// A catalog with one package in it, and bundles 1.0.0, 1.1.0 and 2.0.0 beside it.
fn shell() -> Shell {
    let shell = Shell::new();
    for version in ["1.0.0", "1.1.0", "2.0.0"] {
        shell.done(&format!(
            "bundle init gopher --version {version} --output-dir b/{version}"
        ));
    }
    shell.done("catalog init gopher --default-channel stable --output-dir cat");
    shell
}

fn add(version: &str, more: &str) -> String {
    format!("catalog add cat b/{version} --image example.com/gopher:v{version} {more}")
}

fn entries(shell: &Shell, channel: &str) -> Vec<String> {
    let rendered = shell.done("catalog render cat");
    let blobs = serde_json::Deserializer::from_str(&rendered).into_iter::<Value>();
    let blobs: Vec<Value> = blobs.map(Result::unwrap).collect();
    let channel = blobs
        .iter()
        .find(|blob| blob["schema"] == "olm.channel" && blob["name"] == channel)
        .unwrap();
    let entries = channel["entries"].as_array().unwrap();
    entries.iter().map(ToString::to_string).collect()
}

#[test]
fn a_package_is_begun_with_a_text_and_a_picture() {
    let shell = Shell::new();
    shell.write("README.md", "# Gopher\n\nDigs.\n");
    shell.write("icon.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
    let printed = shell.done("catalog init gopher -c stable -i icon.svg -d README.md -o json");
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed["description"], "# Gopher\n\nDigs.\n");
    assert_eq!(printed["icon"]["mediatype"], "image/svg+xml");
    let written = shell.done("catalog init gopher -c stable --output-dir cat");
    assert_eq!(written.trim(), "cat/gopher/catalog.yaml");
    let text = "---\ndefaultChannel: stable\nname: gopher\nschema: olm.package\n";
    assert_eq!(shell.read("cat/gopher/catalog.yaml"), text);
    shell.fails(3, "catalog init gopher -c beta --output-dir cat");
    shell.fails(2, "catalog init gopher -c stable -i README.md");
    assert_eq!(shell.read("cat/gopher/catalog.yaml"), text);
}

#[test]
fn each_newer_bundle_replaces_the_head_and_the_catalog_stays_sound() {
    let shell = shell();
    for version in ["1.0.0", "1.1.0", "2.0.0"] {
        shell.done(&add(version, "--channel stable"));
        shell.done("catalog lint cat");
    }
    assert_eq!(
        entries(&shell, "stable"),
        [
            r#"{"name":"gopher.v1.0.0"}"#,
            r#"{"name":"gopher.v1.1.0","replaces":"gopher.v1.0.0"}"#,
            r#"{"name":"gopher.v2.0.0","replaces":"gopher.v1.1.0"}"#,
        ]
    );
}

#[test]
fn the_same_bundle_again_changes_nothing() {
    let shell = shell();
    let line = add("1.0.0", "--channel stable");
    shell.done(&line);
    let before = shell.read("cat/gopher/catalog.yaml");
    let said = shell.run(&line);
    assert_eq!((said.code, said.out.as_str()), (Some(0), ""));
    assert!(said.err.contains("already there"), "{}", said.err);
    shell.done(&add("1.1.0", "--channel stable"));
    let after = shell.read("cat/gopher/catalog.yaml");
    // Not even when it is no longer the head.
    shell.done(&line);
    assert_eq!(shell.read("cat/gopher/catalog.yaml"), after);
    assert_ne!(before, after);
}

#[test]
fn a_bundle_can_skip_the_head_or_be_reached_from_a_range() {
    let shell = shell();
    shell.done(&add("1.0.0", "--channel stable"));
    shell.done(&add("1.1.0", "--channel stable"));
    let more = "--channel stable --skips gopher.v1.1.0 --skip-range <2.0.0";
    shell.done(&add("2.0.0", more));
    let expected = r#"{"name":"gopher.v2.0.0","replaces":"gopher.v1.0.0","skips":["gopher.v1.1.0"],"skipRange":"<2.0.0"}"#;
    assert_eq!(entries(&shell, "stable")[2], expected);
    shell.done("catalog lint cat");
}

#[rstest]
#[case::older(("1.0.0", "--channel stable"), "1.0.0 is not newer than 1.1.0")]
#[case::second_head(("2.0.0", "--channel stable --replaces gopher.v1.0.0"), "multiple")]
#[case::cycle(("1.0.0", "--channel stable --replaces gopher.v1.1.0 --skips gopher.v1.0.0"), "would be broken")]
#[case::range(("2.0.0", "--channel stable --skip-range banana"), "banana")]
#[case::image(("1.1.0 --image example.com/other:v1", "--channel stable"), "another one")]
#[case::edges(("1.1.0", "--channel stable --replaces gopher.v0.9.0"), "with other upgrades")]
fn what_would_break_the_package_is_refused_and_nothing_is_written(
    #[case] (bundle, more): (&str, &str),
    #[case] reason: &str,
) {
    let shell = shell();
    shell.done(&add("1.1.0", "--channel stable"));
    let before = shell.read("cat/gopher/catalog.yaml");
    let line = match bundle.split_once(' ') {
        None => add(bundle, more),
        Some((version, image)) => format!("catalog add cat b/{version} {image} {more}"),
    };
    let said = shell.fails(1, &line);
    let said_lower = said.to_lowercase();
    let found = said.contains(reason) || (reason == "multiple" && said_lower.contains("head"));
    assert!(found && said.contains("hint: "), "{said}");
    assert_eq!(shell.read("cat/gopher/catalog.yaml"), before);
}

#[test]
fn a_package_that_is_not_there_and_a_bundle_without_an_image_are_refused() {
    let shell = shell();
    shell.done("bundle init other --output-dir other");
    let said = shell.fails(1, "catalog add cat other --image a/b --channel stable");
    assert!(said.contains("no package `other`"), "{said}");
    assert!(said.contains("chandler catalog init other"), "{said}");
    let said = shell.fails(2, "catalog add cat b/1.0.0 --channel stable");
    assert!(said.contains("--image"), "{said}");
    // Its default channel would not exist.
    let said = shell.fails(1, &add("1.0.0", "--channel fast"));
    assert!(said.contains("default channel"), "{said}");
    shell.fails(
        3,
        "catalog add nowhere b/1.0.0 --image a/b --channel stable",
    );
}

#[test]
fn nothing_but_the_channel_and_the_new_bundle_changes_in_any_file() {
    let shell = shell();
    let yaml = "# by hand\nschema: olm.package\nname: gopher\ndefaultChannel: stable # yes\n---\n\
                # the channel\nSchema: olm.channel\npackage: gopher\nname: stable\nowner: me\n\
                entries: [{name: gopher.v0.1.0}]\n---\nschema: olm.bundle\npackage: gopher\n\
                name: gopher.v0.1.0 # old\nimage: a/b:1\n\
                properties: [{type: olm.package, value: {packageName: gopher, version: 0.1.0}}]";
    shell.write("cat/gopher/catalog.yaml", yaml);
    let other = "schema: olm.package\nname: other\n# broken, but not ours\n";
    shell.write("cat/other.yaml", other);
    shell.done(&add("1.0.0", "--channel stable"));
    assert_eq!(shell.read("cat/other.yaml"), other);
    let after = shell.read("cat/gopher/catalog.yaml");
    let (before_channel, rest) = yaml.split_once("Schema").unwrap();
    let (_, after_channel) = rest.split_once("---\n").unwrap();
    assert!(after.starts_with(before_channel), "{after}");
    assert!(
        after.contains(after_channel) && after.contains("owner: me"),
        "{after}"
    );
    assert!(after.contains("replaces: gopher.v0.1.0"), "{after}");

    // A stream of JSON stays one.
    let json = shell.done("catalog render cat/gopher/catalog.yaml");
    fs_err::remove_file(shell.path("cat/gopher/catalog.yaml")).unwrap();
    shell.write("cat/gopher/catalog.json", &json);
    shell.done(&add("1.1.0", "--channel stable"));
    let after = shell.read("cat/gopher/catalog.json");
    let values = serde_json::Deserializer::from_str(&after).into_iter::<Value>();
    assert_eq!(values.map(Result::unwrap).count(), 5);
}

#[test]
fn a_catalog_is_rendered_as_opm_renders_it() {
    let shell = Shell::new();
    let sound = fixtures().join("sound");
    let expected = fs_err::read_to_string(fixtures().join("sound.opm.json")).unwrap();
    let printed = shell.done(&format!("catalog render {}", sound.display()));
    assert_eq!(printed, expected);
    let expected = fs_err::read_to_string(fixtures().join("sound.opm.yaml")).unwrap();
    let printed = shell.done(&format!("catalog render {} -o yaml", sound.display()));
    let values = |text: &str| chandler::yaml::values("output", text).unwrap();
    assert_eq!(values(&printed), values(&expected));
}

#[test]
fn a_catalog_is_the_same_from_a_folder_a_layout_and_what_was_rendered() {
    let shell = Shell::new();
    let sound = fixtures().join("sound");
    let sound = sound.display();
    let rendered = shell.done(&format!("catalog render {sound}"));
    let one = shell.done(&format!("catalog push {sound} oci:layout:v1 --force"));
    let two = shell.done(&format!("catalog push {sound} oci:layout:v2 --force"));
    assert_eq!(one, two);
    for source in ["oci:layout:v1", one.trim(), "layout"] {
        assert_eq!(shell.done(&format!("catalog render {source}")), rendered);
    }
    shell.write("rendered.json", &rendered);
    assert_eq!(shell.done("catalog render rendered.json"), rendered);
    let said = shell.run(&format!("catalog diff {sound} oci:layout --exit-code"));
    assert_eq!(
        (said.code, said.out.as_str()),
        (Some(0), ""),
        "{}",
        said.err
    );
}

#[test]
fn bundles_and_templates_are_rendered_from_folders_and_layouts() {
    let shell = shell();
    let plain = crate::bundle::fixture("plain");
    let expected: Value =
        serde_json::from_slice(&fs_err::read(plain.join("rendered.json")).unwrap()).unwrap();
    shell.done(&format!("bundle push {} oci:plain:v1", plain.display()));
    let printed = shell.done("catalog render oci:plain:v1");
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed["image"], "oci:plain:v1");
    assert_eq!(printed["name"], expected["name"]);

    for version in ["1.0.0", "1.1.0", "2.0.0"] {
        shell.done(&format!("bundle push b/{version} oci:bundles:v{version}"));
    }
    shell.write(
        "semver.yaml",
        "schema: olm.semver\ngenerateMajorChannels: true\nstable:\n  bundles:\n  - image: oci:bundles:v1.0.0\n  \
         - image: oci:bundles:v1.1.0\n  - image: oci:bundles:v2.0.0\n",
    );
    let printed = shell.done("catalog render semver.yaml");
    assert!(
        printed.contains("\"defaultChannel\": \"stable-v2\""),
        "{printed}"
    );
    assert!(
        printed.contains("\"replaces\": \"gopher.v1.0.0\""),
        "{printed}"
    );
    shell.write(
        "basic.yaml",
        "schema: olm.template.basic\nentries:\n- {schema: olm.package, name: gopher, defaultChannel: s}\n\
         - {schema: olm.channel, package: gopher, name: s, entries: [{name: gopher.v1.0.0}]}\n\
         - {schema: olm.bundle, image: 'oci:bundles:v1.0.0'}\n",
    );
    let printed = shell.done("catalog render basic.yaml");
    assert!(printed.contains("\"packageName\": \"gopher\""), "{printed}");
    let tree = shell.run("catalog render b --image example.com/{package}:{version}");
    assert!(
        tree.out.contains("\"image\": \"example.com/gopher:2.0.0\""),
        "{}",
        tree.err
    );
}

#[test]
fn what_cannot_be_read_is_not_rendered_and_lint_tells_all_of_it() {
    let shell = shell();
    shell.done(&add("1.0.0", "--channel stable"));
    shell.write(
        "cat/broken.yaml",
        "schema: olm.channel\npackage: x\nentries: {}\n",
    );
    shell.write("cat/worse.yaml", "{ not: [closed\n");
    let said = shell.fails(1, "catalog render cat");
    assert!(said.contains("chandler catalog lint"), "{said}");
    assert_eq!(shell.run("catalog render cat").out, "");
    let said = shell.fails(1, "catalog push cat oci:layout");
    assert!(said.contains("`x`") && said.contains("--force"), "{said}");
    assert!(!shell.path("layout").exists());

    let said = shell.run("catalog lint cat -o json");
    assert_eq!(said.code, Some(1));
    let report: Value = serde_json::from_str(&said.out).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let all = report.to_string();
    assert!(findings.len() >= 2, "{all}");
    assert!(
        all.contains("worse.yaml") && all.contains("package `x`"),
        "{all}"
    );
    assert!(!all.contains("package `gopher`"), "{all}");
}

#[test]
fn what_is_no_catalog_says_what_it_is_instead() {
    let shell = shell();
    let said = shell.fails(1, "catalog lint b/1.0.0");
    assert!(said.contains("chandler bundle lint b/1.0.0"), "{said}");
    fs_err::create_dir(shell.path("empty")).unwrap();
    let said = shell.fails(1, "catalog lint empty");
    assert!(said.contains("empty holds no catalog"), "{said}");
    shell.fails(1, "catalog push empty oci:layout");
    let said = shell.fails(1, "catalog push b oci:layout");
    assert!(said.contains("b holds bundles"), "{said}");
    shell.fails(3, "catalog lint ./nowhere");
    let said = shell.fails(3, "catalog render oci:nowhere");
    assert!(said.contains("no OCI layout"), "{said}");
}

#[test]
fn a_difference_is_told_in_words_and_for_programs() {
    let shell = shell();
    shell.done(&add("1.0.0", "--channel stable"));
    shell.done("catalog push cat oci:layout:old");
    shell.done(&add("1.1.0", "--channel stable"));
    let said = shell.done("catalog diff oci:layout:old cat");
    assert!(
        said.contains("package gopher: channel stable: head: gopher.v1.0.0 → gopher.v1.1.0\n"),
        "{said}"
    );
    let said = shell.run("catalog diff oci:layout:old cat -o json --exit-code");
    assert_eq!(said.code, Some(1));
    let said: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(said["gopher"]["change"], "changed");
    assert_eq!(said["gopher"]["bundles"]["added"][0], "gopher.v1.1.0");
}

#[test]
fn the_graph_of_a_package_is_drawn() {
    let shell = shell();
    shell.done(&add("1.0.0", "--channel stable"));
    shell.done(&add("1.1.0", "--channel stable --channel fast"));
    let dot = shell.done("graph gopher --catalog cat");
    assert!(dot.starts_with("digraph \"gopher\" {"), "{dot}");
    let mermaid = shell.done("graph gopher --catalog cat -o mermaid --channel fast");
    assert!(
        mermaid.contains("fast") && !mermaid.contains("stable"),
        "{mermaid}"
    );
    let json = shell.done("graph gopher --catalog cat -o json");
    serde_json::from_str::<Value>(&json).unwrap();
    let said = shell.fails(1, "graph gophers --catalog cat");
    assert!(said.contains("hint: there are `gopher`"), "{said}");
    let said = shell.fails(1, "graph gopher --catalog cat --channel slow");
    assert!(
        said.contains("`fast`") && said.contains("`stable`"),
        "{said}"
    );
}
