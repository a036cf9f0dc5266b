//! Reading what nobody should write, and writing what can be read again.

use std::io::{self, Read};

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::frame::{Framer, Kind};
use super::*;
use crate::bundle::{Property, RelatedImage};

fn read_all(text: &str) -> (Vec<Blob>, Vec<Error>) {
    let mut errors = Vec::new();
    let blobs = read("catalog", text.as_bytes())
        .filter_map(|blob| blob.map_err(|error| errors.push(error)).ok())
        .collect();
    (blobs, errors)
}

fn names(blobs: &[Blob]) -> Vec<(&str, usize)> {
    let named = |blob: &Blob| blob.origin.line;
    blobs
        .iter()
        .map(|blob| (blob.meta.name(), named(blob)))
        .collect()
}

#[test]
fn json_and_yaml_mix_in_one_stream() {
    let text = "{\"schema\": \"a\", \"name\": \"one\"}{\"schema\": \"a\",\n \"name\": \"two\"}\n\
                ---\nschema: a\nname: three\n---\n{schema: a, name: four}\n--- # remark\n\
                schema: a\nname: five\n---\n---\n{\"schema\": \"a\", \"name\": \"six\"}\n";
    let (blobs, errors) = read_all(text);
    assert!(errors.is_empty(), "{errors:?}");
    let expected = [
        ("one", 1),
        ("two", 1),
        ("three", 4),
        ("four", 7),
        ("five", 9),
        ("six", 13),
    ];
    assert_eq!(names(&blobs), expected);
}

#[rstest]
#[case::indented_yaml("  schema: a\n  name: one\n", 1)]
#[case::byte_order_mark("\u{feff}schema: a\nname: one\n", 1)]
#[case::byte_order_mark_before_json("\u{feff}{\"schema\": \"a\", \"name\": \"one\"}", 1)]
#[case::directive("%YAML 1.1\n---\nschema: a\nname: one\n", 3)]
#[case::carriage_returns("---\r\nschema: a\r\nname: one\r\n---\r\n", 2)]
#[case::tabs_in_json("{\t\"schema\": \"a\",\t\"name\": \"one\"}", 1)]
#[case::braces_in_strings("{\"schema\": \"a\", \"name\": \"one\", \"text\": \"}{\\\"}\"}", 1)]
#[case::braces_in_yaml_strings("{schema: a, name: one, text: 'it}s {'}\n", 1)]
#[case::only_remarks_before("# remark\n---\n# another\nschema: a\nname: one\n", 4)]
#[case::a_marker_inside_of_a_word("schema: a\nname: one\ntext: |\n  x\n  --- y\n", 1)]
fn unusual_forms_are_read(#[case] text: &str, #[case] line: usize) {
    let (blobs, errors) = read_all(text);
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(names(&blobs), [("one", line)]);
}

#[rstest]
#[case::nothing("")]
#[case::blanks(" \n\n  \t\n")]
#[case::markers("---\n---\n")]
#[case::a_remark("# nothing\n")]
fn an_empty_file_holds_nothing(#[case] text: &str) {
    let (blobs, errors) = read_all(text);
    assert!(blobs.is_empty() && errors.is_empty(), "{errors:?}");
}

#[rstest]
#[case::bad_json("{\"schema\": \"a\", \"package\": \"p\", \"x\" 5}\n", "p")]
#[case::torn_json(
    "{\n    \"schema\": \"a\",\n    \"package\": \"p\",\n    \"x\": [\n",
    "p"
)]
#[case::torn_string(
    "{\n    \"schema\": \"a\",\n    \"package\": \"p\",\n    \"x\": \"\n}\n",
    "p"
)]
#[case::bad_yaml("---\nschema: a\npackage: p\nx: [\n", "p")]
#[case::wrong_type("---\nschema: olm.bundle\npackage: p\nname: b\nimage: [1]\n", "p")]
#[case::wrong_name("---\nschema: olm.bundle\npackage: p\nname: 1.5\n", "p")]
#[case::a_package("---\nschema: olm.package\nname: p\ndefaultChannel: 5\n", "p")]
fn a_broken_blob_is_told_with_its_package_and_hides_no_other(
    #[case] broken: &str,
    #[case] package: &str,
) {
    let text = format!(
        "{{\"schema\": \"a\", \"name\": \"before\"}}\n{broken}---\nschema: a\nname: after\n"
    );
    let (blobs, errors) = read_all(&text);
    let found: Vec<&str> = blobs.iter().map(|blob| blob.meta.name()).collect();
    assert_eq!(found, ["before", "after"], "{errors:?}");
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].package(), Some(package), "{errors:?}");
    assert!(errors[0].to_string().starts_with("catalog:"), "{errors:?}");
}

#[test]
fn many_torn_blobs_are_told_one_by_one() {
    let torn = "{\n  \"schema\": \"a\",\n  \"x\": \"{\n".repeat(50);
    let (blobs, errors) = read_all(&format!("{torn}{{\"schema\": \"a\"}}\n"));
    assert_eq!((blobs.len(), errors.len()), (1, 50));
}

#[rstest]
#[case(
    "[1]",
    "catalog:1: expected a blob, which is an object with a `schema`, found a list"
)]
#[case("\n\nname: x\n", "catalog:3: the blob has no `schema`")]
#[case(
    "schema: a\nname: 5\n",
    "catalog:1: name: expected a string, found a number"
)]
#[case(
    "schema: a\nSchema: a\n",
    "the keys \"Schema\" and \"schema\" are the same but for their case"
)]
#[case(
    "---\nschema: olm.channel\npackage: p\nname: c\nentries:\n- name: x\n- replaces: 1.5\n",
    "catalog:2: olm.channel \"c\" of package \"p\": entries[1].replaces: expected a string, found a \
     number: write it as \"1.5\""
)]
#[case(
    "schema: olm.bundle\nname: b\nproperties: [{type: x}]\n",
    "olm.bundle \"b\": properties[0]: the property has no `value`"
)]
#[case("{\n\"schema\": \"a\",\n\"b\" 5}", "catalog:3: column")]
fn errors_say_where_and_what_was_expected(#[case] text: &str, #[case] expected: &str) {
    let (_, errors) = read_all(text);
    assert!(errors[0].to_string().contains(expected), "{}", errors[0]);
}

#[test]
fn keys_are_found_without_regard_to_case_in_lists_too() {
    let (blobs, errors) = read_all(
        "Schema: olm.channel\nPackage: p\nNAME: c\nEntries:\n- Name: x\n  SKIPRANGE: <1.0.0\n  \
         Skips: [w, null]\n",
    );
    assert!(errors.is_empty(), "{errors:?}");
    let Meta::Channel(channel) = &blobs[0].meta else {
        panic!("{blobs:?}")
    };
    assert_eq!(
        (channel.package.as_str(), channel.name.as_str()),
        ("p", "c")
    );
    let expected = Entry {
        name: "x".to_owned(),
        skip_range: "<1.0.0".to_owned(),
        skips: vec!["w".to_owned(), String::new()],
        ..Entry::default()
    };
    assert_eq!(channel.entries, [expected]);
}

#[test]
fn a_blob_without_end_is_given_up_and_the_next_one_is_found() {
    let text = format!("{{\"x\": [{}\n{{\"schema\": \"a\"}}\n", "1,".repeat(50_000));
    let mut framer = Framer::with_limit(text.as_bytes(), 10_000);
    let first = framer.frame().unwrap().unwrap();
    assert_eq!(first.kind, Kind::TooLarge);
    framer.go_on_to_boundary().unwrap();
    let second = framer.frame().unwrap().unwrap();
    assert_eq!((second.kind, second.line), (Kind::Json, 2));
    assert_eq!(framer.text(second), b"{\"schema\": \"a\"}");
}

/// Gives its text in pieces of any size, and then fails if told so.
struct Pieces<'a> {
    text: &'a [u8],
    size: usize,
    fails: bool,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.size.min(self.text.len()).min(buffer.len());
        if count == 0 && self.fails {
            return Err(io::Error::other("the disk is gone"));
        }
        let (now, later) = self.text.split_at(count);
        buffer[..count].copy_from_slice(now);
        self.text = later;
        Ok(count)
    }
}

#[test]
fn a_file_that_cannot_be_read_on_gives_what_came_before() {
    let pieces = Pieces {
        text: b"{\"schema\": \"a\"}",
        size: 3,
        fails: true,
    };
    let read: Vec<Result<Blob, Error>> = read("disk", pieces).collect();
    assert!(matches!(read.as_slice(), [Ok(_), Err(Error::Io { .. })]) || read.len() == 1);
    assert!(read.last().unwrap().is_err());
}

#[test]
fn go_would_write_the_same_numbers_and_line_ends() {
    let blob =
        json!({"schema": "a", "n": [1.0, 0.5, 1e21, 1e-7, -0.25, 100], "t": "\u{2028}<&>\u{7f}"});
    let meta = decode(blob).unwrap();
    let text = meta_to_json(&meta).unwrap();
    let numbers: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("        "))
        .map(|line| line.trim().trim_end_matches(','))
        .collect();
    assert_eq!(numbers, ["1", "0.5", "1e+21", "1e-7", "-0.25", "100"]);
    assert!(text.contains("\"\\u2028<&>\u{7f}\""), "{text}");
}

prop_compose! {
    fn text()(text in prop_oneof![
        "[a-z0-9.-]{1,12}", Just(String::new()), Just("yes".to_owned()), Just("1.0".to_owned()),
        "\\PC{0,12}", Just("a\n\tb\n".to_owned()), Just("---\n{".to_owned()),
    ]) -> String { text }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,4}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn properties() -> impl Strategy<Value = Vec<Property>> {
    let property = (text(), value()).prop_map(|(kind, value)| Property { kind, value });
    prop::collection::vec(property, 0..3)
}

fn meta() -> impl Strategy<Value = Meta> {
    let icon = (text(), text()).prop_map(|(base64data, mediatype)| Icon {
        base64data,
        mediatype,
    });
    let package = (text(), text(), prop::option::of(icon), text(), properties()).prop_map(
        |(name, default_channel, icon, description, properties)| {
            Meta::Package(Package {
                name,
                default_channel,
                icon,
                description,
                properties,
            })
        },
    );
    let entry = (text(), text(), prop::collection::vec(text(), 0..3), text()).prop_map(
        |(name, replaces, skips, skip_range)| Entry {
            name,
            replaces,
            skips,
            skip_range,
        },
    );
    let channel = (
        text(),
        text(),
        prop::collection::vec(entry, 0..3),
        properties(),
    )
        .prop_map(|(package, name, entries, properties)| {
            Meta::Channel(Channel {
                package,
                name,
                entries,
                properties,
            })
        });
    let image = (text(), text()).prop_map(|(name, image)| RelatedImage { name, image });
    let images = prop::collection::vec(image, 0..3);
    let bundle = (text(), text(), text(), properties(), images).prop_map(
        |(name, package, image, properties, related_images)| {
            Meta::Bundle(Bundle {
                name,
                package,
                image,
                properties,
                related_images,
            })
        },
    );
    let deprecation = (text(), text(), text()).prop_map(|(schema, name, message)| Deprecation {
        reference: DeprecatedReference { schema, name },
        message,
    });
    let deprecations = (text(), prop::collection::vec(deprecation, 0..3))
        .prop_map(|(package, entries)| Meta::Deprecations(Deprecations { package, entries }));
    let other =
        ("[a-z]{1,5}/[a-z]", text(), text(), value()).prop_map(|(schema, package, name, value)| {
            let mut blob = json!({"schema": schema, "value": value});
            for (key, text) in [("package", &package), ("name", &name)] {
                if !text.is_empty() {
                    blob[key] = Value::from(text.as_str());
                }
            }
            Meta::Other(Other {
                schema,
                package,
                name,
                blob,
            })
        });
    prop_oneof![package, channel, bundle, deprecations, other]
}

fn sorted(catalog: Catalog) -> Catalog {
    catalog.into_blobs().collect()
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        size in 1_usize..9,
    ) {
        let pieces = Pieces { text: &bytes, size, fails: false };
        for blob in read("arbitrary", pieces) {
            if let Err(error) = blob {
                let _ = error.to_string();
            }
        }
    }

    #[test]
    fn arbitrary_texts_of_a_catalogs_signs_never_panic(
        text in "([{}\\[\\]\",:\\\\ \n-]|---\n|schema: a\n|\"schema\": \"a\"){0,60}",
    ) {
        let (blobs, errors) = read_all(&text);
        let loaded = Loaded { catalog: blobs.into_iter().map(|blob| blob.meta).collect(), errors };
        let _ = loaded.check();
    }

    #[test]
    fn what_is_written_as_json_is_read_again(
        metas in prop::collection::vec(meta(), 0..6),
        size in 1_usize..200,
    ) {
        let catalog = sorted(metas.into_iter().collect());
        let mut out = Vec::new();
        write_json(catalog.clone(), &mut out).unwrap();
        let pieces = Pieces { text: &out, size, fails: false };
        let again: Result<Vec<Blob>, Error> = read("written", pieces).collect();
        let again: Catalog = again.unwrap().into_iter().map(|blob| blob.meta).collect();
        prop_assert_eq!(again, catalog);
    }

    #[test]
    fn what_is_written_as_yaml_is_read_again(metas in prop::collection::vec(meta(), 0..6)) {
        let catalog = sorted(metas.into_iter().collect());
        let mut out = Vec::new();
        write_yaml(catalog.clone(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let again: Result<Vec<Blob>, Error> = read("written", text.as_bytes()).collect();
        let again: Catalog = again.unwrap().into_iter().map(|blob| blob.meta).collect();
        prop_assert_eq!(again, catalog, "{}", text);
    }

    #[test]
    fn validation_takes_anything(metas in prop::collection::vec(meta(), 0..8)) {
        let catalog: Catalog = metas.into_iter().collect();
        let _ = Loaded { catalog, errors: Vec::new() }.check();
    }
}
