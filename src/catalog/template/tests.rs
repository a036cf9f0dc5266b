//! Templates and what becomes of them.

use std::convert::Infallible;
use std::fmt::Write as _;

use rstest::rstest;
use serde_json::json;

use super::*;
use crate::bundle::Property;
use crate::catalog::fbc::{Entry, Loaded, PackageBlobs};

/// `registry.example.com/buoy:1.2.3` is the bundle buoy.v1.2.3.
#[allow(clippy::unnecessary_wraps, reason = "as `expand` wants it")]
fn render(image: &str) -> Result<Rendered, Infallible> {
    let version = image.rsplit_once(':').map_or("0.0.0", |(_, tag)| tag);
    let version = version.replace('_', "+");
    Ok(Rendered {
        bundle: Bundle {
            name: format!("buoy.v{version}"),
            package: "buoy".to_owned(),
            image: image.to_owned(),
            properties: vec![Property {
                kind: "olm.package".to_owned(),
                value: json!({"packageName": "buoy", "version": version}),
            }],
            ..Bundle::default()
        },
        description: format!("Floats since {version}."),
        icon: None,
    })
}

fn semver(head: &str, lists: &[(&str, &[&str])]) -> String {
    let mut text = format!("Schema: olm.semver\n{head}");
    for (list, versions) in lists {
        writeln!(text, "{list}:\n  Bundles:").unwrap();
        for version in *versions {
            writeln!(text, "  - Image: registry.example.com/buoy:{version}").unwrap();
        }
    }
    text
}

fn expand(text: &str) -> Result<PackageBlobs, Error> {
    let template = Template::parse("template", text)?;
    let catalog = template.expand(render)?;
    let checked = Loaded {
        catalog: catalog.clone(),
        errors: Vec::new(),
    }
    .check();
    assert!(checked.broken.is_empty(), "{:?}", checked.broken);
    Ok(catalog.packages["buoy"].clone())
}

fn edges(blobs: &PackageBlobs, channel: &str) -> Vec<String> {
    let line = |entry: &Entry| {
        let short = |name: &str| name.trim_start_matches("buoy.v").to_owned();
        let skips: Vec<String> = entry.skips.iter().map(|skip| short(skip)).collect();
        format!(
            "{}<{}|{}",
            short(&entry.name),
            short(&entry.replaces),
            skips.join(" ")
        )
    };
    let channel = blobs.channel(channel).unwrap();
    channel.entries.iter().map(line).collect()
}

fn names(blobs: &PackageBlobs) -> Vec<&str> {
    let mut names: Vec<&str> = blobs
        .channels
        .iter()
        .map(|channel| &*channel.name)
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn the_last_patch_replaces_that_of_the_minor_version_before_and_skips_the_rest() {
    let versions = ["1.0.1", "1.10.0", "1.0.0", "1.2.0", "1.2.1", "2.0.0"];
    let blobs = expand(&semver(
        "GenerateMajorChannels: true\n",
        &[("Stable", &versions)],
    ))
    .unwrap();
    assert_eq!(names(&blobs), ["stable-v1", "stable-v2"]);
    let expected = [
        "1.0.0<|",
        "1.0.1<|1.0.0",
        "1.2.0<|",
        "1.2.1<1.0.1|1.0.0 1.2.0",
        "1.10.0<1.2.1|1.0.0 1.0.1 1.2.0",
    ];
    assert_eq!(edges(&blobs, "stable-v1"), expected);
    assert_eq!(edges(&blobs, "stable-v2"), ["2.0.0<|"]);
    let package = blobs.definition().unwrap();
    assert_eq!(package.default_channel, "stable-v2");
    assert_eq!(package.description, "Floats since 2.0.0.");
}

#[test]
fn minor_channels_lead_from_one_to_the_next() {
    let versions = ["0.1.0", "0.1.1", "0.2.0-rc.1", "0.2.0"];
    let blobs = expand(&semver("", &[("Candidate", &versions)])).unwrap();
    assert_eq!(names(&blobs), ["candidate-v0.1", "candidate-v0.2"]);
    assert_eq!(edges(&blobs, "candidate-v0.1"), ["0.1.0<|", "0.1.1<|0.1.0"]);
    let expected = ["0.2.0-rc.1<|", "0.2.0<0.1.1|0.1.0 0.2.0-rc.1"];
    assert_eq!(edges(&blobs, "candidate-v0.2"), expected);
    assert_eq!(
        blobs.definition().unwrap().default_channel,
        "candidate-v0.2"
    );
}

#[rstest]
#[case("", "fast-v1.1")]
#[case("GenerateMajorChannels: true\n", "fast-v1")]
#[case(
    "GenerateMajorChannels: true\nGenerateMinorChannels: true\n",
    "fast-v1.1"
)]
#[case(
    "GenerateMajorChannels: true\nGenerateMinorChannels: true\nDefaultChannelTypePreference: major\n",
    "fast-v1.1"
)]
fn the_default_channel_is_the_most_stable_then_the_newest(
    #[case] head: &str,
    #[case] expected: &str,
) {
    let lists: [(&str, &[&str]); 2] = [
        ("Candidate", &["1.0.0", "3.0.0"]),
        ("Fast", &["1.0.0", "1.1.0"]),
    ];
    let blobs = expand(&semver(head, &lists)).unwrap();
    assert_eq!(blobs.definition().unwrap().default_channel, expected);
}

#[test]
fn the_preferred_type_decides_between_channels_that_begin_with_the_same_version() {
    let head = "GenerateMajorChannels: true\nGenerateMinorChannels: true\n";
    let lists: [(&str, &[&str]); 1] = [("Stable", &["1.0.0", "1.0.1"])];
    let minor = expand(&semver(head, &lists)).unwrap();
    assert_eq!(minor.definition().unwrap().default_channel, "stable-v1.0");
    let head = format!("{head}defaultChannelTypePreference: major\n");
    let major = expand(&semver(&head, &lists)).unwrap();
    assert_eq!(major.definition().unwrap().default_channel, "stable-v1");
}

#[rstest]
#[case(semver("", &[]), "names no bundles")]
#[case(semver("", &[("Stable", &["1.0.0", "1.0.0_b"])]), "differ at most in build metadata")]
#[case(semver("", &[("Stable", &["1.0.0", "1.0.0"])]), "twice in stable")]
#[case(semver("Colour: red\n", &[]), "\"Colour\" is not known")]
#[case(semver("GenerateMajorChannels: \"yes\"\n", &[]), "expected true or false")]
#[case(semver("DefaultChannelTypePreference: major\n", &[]), "there are no such channels")]
#[case(semver("DefaultChannelTypePreference: patch\n", &[]), "expected minor or major")]
#[case(
    "schema: olm.semver\nstable: {bundles: [{name: x}]}\n",
    "stable.bundles[0]: the field \"name\""
)]
#[case(
    "schema: olm.template.basic\nentries: [5]\n",
    "entries[0]: expected a blob"
)]
#[case("schema: olm.template.basic\nentries: [{name: x}]\n", "no `schema`")]
#[case(
    "schema: olm.template.basic\nentries: [{schema: olm.bundle, image: a, package: b}]\n",
    "nothing else"
)]
#[case("schema: olm.template.substitutes\n", "are not known")]
#[case("entries: []\n", "expected a `schema`")]
#[case("- a\n", "expected a template")]
#[case("# nothing\n", "found nothing")]
#[case("a: [\n", "template:")]
fn what_is_wrong_with_a_template_is_told(#[case] text: impl AsRef<str>, #[case] expected: &str) {
    let error = expand(text.as_ref()).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_template_is_for_one_package() {
    let text = semver("", &[("Stable", &["1.0.0", "1.1.0"])]);
    let template = Template::parse("template", &text).unwrap();
    let error = template
        .expand(|image| {
            let mut rendered = render(image)?;
            if image.ends_with("1.1.0") {
                rendered.bundle.properties[0].value["packageName"] = "raft".into();
            }
            Ok::<_, Infallible>(rendered)
        })
        .unwrap_err();
    assert!(
        error.to_string().contains("a template is for one package"),
        "{error}"
    );
}

const BASIC: &str = "entries:
- schema: olm.package
  name: buoy
  defaultChannel: alpha
- schema: olm.channel
  package: buoy
  name: alpha
  entries: [{name: buoy.v1.0.0, replaces: buoy.v0.9.0}, {name: buoy.v0.9.0}]
- {schema: olm.bundle, image: 'registry.example.com/buoy:1.0.0'}
- {schema: olm.bundle, name: remark, image: 'registry.example.com/buoy:0.9.0'}
schema: olm.template.basic
";

#[test]
fn a_basic_template_gets_its_bundles_filled_in() {
    let template = Template::parse("template", BASIC).unwrap();
    let images = [
        "registry.example.com/buoy:1.0.0",
        "registry.example.com/buoy:0.9.0",
    ];
    assert_eq!(template.images(), images);
    let blobs = expand(BASIC).unwrap();
    assert_eq!(blobs.bundles.len(), 2);
    assert_eq!(edges(&blobs, "alpha"), ["1.0.0<0.9.0|", "0.9.0<|"]);
}

#[test]
fn a_plain_catalog_with_images_for_bundles_is_a_template_too() {
    let text = "---
schema: olm.package
name: buoy
defaultChannel: alpha
---
schema: olm.channel
package: buoy
name: alpha
entries: [{name: buoy.v1.0.0, skips: [buoy.v0.9.0]}, {name: buoy.v0.9.0}]
---
schema: olm.bundle
image: registry.example.com/buoy:1.0.0
---
schema: olm.bundle
package: buoy
name: buoy.v0.9.0
image: registry.example.com/buoy:0.9.0
properties: [{type: olm.package, value: {packageName: buoy, version: 0.9.0}}]
";
    let template = Template::parse("template", text).unwrap();
    assert_eq!(template.images(), ["registry.example.com/buoy:1.0.0"]);
    assert_eq!(expand(text).unwrap().bundles.len(), 2);
}

#[test]
fn an_image_that_cannot_be_had_is_named() {
    let template = Template::parse("template", BASIC).unwrap();
    let error = template.expand(|_| Err("no such image")).unwrap_err();
    let expected = "bundle image \"registry.example.com/buoy:1.0.0\": no such image";
    assert_eq!(error.to_string(), expected);
}
