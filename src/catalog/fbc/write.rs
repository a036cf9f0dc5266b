//! Writing a catalog as `opm render` does.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter};
use serde_json::{Map, Value, json};

use super::blob::{Channel, Entry, Meta, Package};
use super::catalog::Catalog;
use crate::bundle::Property;
use crate::yaml;

/// Writes the catalog as a stream of JSON blobs.
pub fn write_json(catalog: Catalog, out: &mut dyn Write) -> io::Result<()> {
    for meta in catalog.into_blobs() {
        out.write_all(meta_to_json(&meta)?.as_bytes())?;
    }
    Ok(())
}

/// Writes the catalog as a stream of YAML documents, keys in the order of the alphabet.
pub fn write_yaml(catalog: Catalog, out: &mut dyn Write) -> io::Result<()> {
    for meta in catalog.into_blobs() {
        let blob = sorted(meta_to_value(&meta));
        let text = yaml::to_string(&blob).map_err(io::Error::other)?;
        out.write_all(b"---\n")?;
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// A blob as indented JSON with a newline at its end.
pub fn meta_to_json(meta: &Meta) -> io::Result<String> {
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, GoFormatter::default());
    meta_to_value(meta).serialize(&mut serializer)?;
    text.push(b'\n');
    String::from_utf8(text).map_err(io::Error::other)
}

/// A blob as a JSON value, its fields in the order in which opm writes them.
pub fn meta_to_value(meta: &Meta) -> Value {
    let mut map = Map::new();
    map.insert("schema".to_owned(), meta.schema().into());
    let mut put = |key: &str, value: Value| {
        map.insert(key.to_owned(), value);
    };
    match meta {
        Meta::Package(Package {
            name,
            default_channel,
            icon,
            description,
            properties: list,
        }) => {
            put("name", name.as_str().into());
            put("defaultChannel", default_channel.as_str().into());
            if let Some(icon) = icon {
                put(
                    "icon",
                    json!({"base64data": icon.base64data, "mediatype": icon.mediatype}),
                );
            }
            put_text(&mut put, "description", description);
            put_list(&mut put, "properties", properties(list));
        }
        Meta::Channel(Channel {
            package,
            name,
            entries,
            properties: list,
        }) => {
            put("name", name.as_str().into());
            put("package", package.as_str().into());
            put("entries", entries.iter().map(entry).collect());
            put_list(&mut put, "properties", properties(list));
        }
        Meta::Bundle(bundle) => {
            put_text(&mut put, "name", &bundle.name);
            put_text(&mut put, "package", &bundle.package);
            put("image", bundle.image.as_str().into());
            put_list(&mut put, "properties", properties(&bundle.properties));
            let images = bundle.related_images.iter();
            let images = images.map(|image| json!({"name": image.name, "image": image.image}));
            put_list(&mut put, "relatedImages", images.collect());
        }
        Meta::Deprecations(deprecations) => {
            put("package", deprecations.package.as_str().into());
            let entries = deprecations.entries.iter().map(|entry| {
                let mut reference = Map::new();
                reference.insert("schema".to_owned(), entry.reference.schema.as_str().into());
                if !entry.reference.name.is_empty() {
                    reference.insert("name".to_owned(), entry.reference.name.as_str().into());
                }
                json!({"reference": reference, "message": entry.message})
            });
            put("entries", entries.collect());
        }
        Meta::Other(other) => return sorted(other.blob.clone()),
    }
    Value::Object(map)
}

fn put_text(put: &mut dyn FnMut(&str, Value), key: &str, text: &str) {
    if !text.is_empty() {
        put(key, text.into());
    }
}

fn put_list(put: &mut dyn FnMut(&str, Value), key: &str, list: Vec<Value>) {
    if !list.is_empty() {
        put(key, list.into());
    }
}

fn entry(entry: &Entry) -> Value {
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| {
        map.insert(key.to_owned(), value);
    };
    put("name", entry.name.as_str().into());
    put_text(&mut put, "replaces", &entry.replaces);
    let skips = entry.skips.iter().map(|skip| skip.as_str().into());
    put_list(&mut put, "skips", skips.collect());
    put_text(&mut put, "skipRange", &entry.skip_range);
    Value::Object(map)
}

fn properties(properties: &[Property]) -> Vec<Value> {
    properties
        .iter()
        .map(|property| json!({"type": property.kind, "value": sorted(property.value.clone())}))
        .collect()
}

/// With the keys of every object in the order of the alphabet: where opm knows no type, it reads
/// into a Go map, and that is how Go writes maps.
fn sorted(value: Value) -> Value {
    match value {
        Value::Array(values) => values.into_iter().map(sorted).collect(),
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> = map.into_iter().collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            let entries = entries.into_iter();
            Value::Object(entries.map(|(key, value)| (key, sorted(value))).collect())
        }
        other => other,
    }
}

/// Four blanks of indentation, and numbers and strings as Go writes them.
struct GoFormatter(PrettyFormatter<'static>);

impl Default for GoFormatter {
    fn default() -> Self {
        Self(PrettyFormatter::with_indent(b"    "))
    }
}

/// Passes methods on to the formatter inside.
macro_rules! pass_on {
    ($($method:ident($($argument:ident: $type:ty),*);)*) => {
        $(fn $method<W: ?Sized + Write>(&mut self, out: &mut W, $($argument: $type),*) -> io::Result<()> {
            self.0.$method(out, $($argument),*)
        })*
    };
}

impl Formatter for GoFormatter {
    pass_on! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        begin_object_value();
        end_object_value();
    }

    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        let size = value.abs();
        if size != 0.0 && !(1e-6..1e21).contains(&size) {
            let text = format!("{value:e}");
            let text = if size < 1.0 {
                text
            } else {
                text.replace('e', "e+")
            };
            return out.write_all(text.as_bytes());
        }
        write!(out, "{value}")
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        // JSON allows these two line ends in strings, JavaScript once did not.
        if !fragment.contains(['\u{2028}', '\u{2029}']) {
            return out.write_all(fragment.as_bytes());
        }
        let text = fragment
            .replace('\u{2028}', "\\u2028")
            .replace('\u{2029}', "\\u2029");
        out.write_all(text.as_bytes())
    }
}
