//! From JSON to a blob, as forgiving about keys and as strict about types as Go is.

use serde_json::{Map, Value};

use super::blob::{
    Bundle, Channel, DeprecatedReference, Deprecation, Deprecations, Entry, Icon, Meta, Other,
    Package,
};
use crate::bundle::{Property, RelatedImage};

/// Why a value is not a blob.
#[derive(Debug)]
pub(super) struct Fault {
    /// The package that the blob says it belongs to.
    pub(super) package: Option<String>,
    pub(super) problem: String,
}

/// Reads a blob. The error says what was expected.
pub fn decode(blob: Value) -> Result<Meta, String> {
    decode_fault(blob).map_err(|fault| fault.problem)
}

pub(super) fn decode_fault(blob: Value) -> Result<Meta, Fault> {
    let Value::Object(map) = blob else {
        let found = kind(&blob);
        return Err(Fault {
            package: None,
            problem: format!("expected a blob, which is an object with a `schema`, found {found}"),
        });
    };
    let package = owner(&map);
    heading(&map)
        .and_then(|heading| {
            let what = heading.words();
            typed(heading, map).map_err(|problem| format!("{what}: {problem}"))
        })
        .map_err(|problem| Fault { package, problem })
}

/// The package that a blob belongs to, whatever else is wrong with it.
fn owner(map: &Map<String, Value>) -> Option<String> {
    let text = |key: &str| {
        let same = map
            .iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(key));
        same.and_then(|(_, value)| value.as_str())
    };
    let key = if text("schema") == Some("olm.package") {
        "name"
    } else {
        "package"
    };
    text(key).filter(|name| !name.is_empty()).map(str::to_owned)
}

/// What every blob may have.
struct Heading {
    schema: String,
    package: String,
    name: String,
}

impl Heading {
    fn words(&self) -> String {
        match (self.name.as_str(), self.package.as_str()) {
            ("", "") => format!("a blob of {}", self.schema),
            ("", package) => format!("{} of package {package:?}", self.schema),
            (name, "") => format!("{} {name:?}", self.schema),
            (name, package) => format!("{} {name:?} of package {package:?}", self.schema),
        }
    }
}

fn heading(map: &Map<String, Value>) -> Result<Heading, String> {
    let mut heading = Heading {
        schema: String::new(),
        package: String::new(),
        name: String::new(),
    };
    let mut keys: Vec<(String, &str)> = Vec::with_capacity(map.len());
    for (key, value) in map {
        let folded = key.to_lowercase();
        let place = match folded.as_str() {
            "schema" => Some(&mut heading.schema),
            "package" => Some(&mut heading.package),
            "name" => Some(&mut heading.name),
            _ => None,
        };
        if let Some(place) = place {
            match value {
                Value::String(text) => text.clone_into(place),
                other => return Err(format!("{key}: expected a string, found {}", kind(other))),
            }
        }
        keys.push((folded, key));
    }
    keys.sort();
    for pair in keys.windows(2) {
        if let [(folded, first), (same, second)] = pair
            && folded == same
        {
            return Err(format!(
                "the keys {first:?} and {second:?} are the same but for their case: remove one"
            ));
        }
    }
    if heading.schema.is_empty() {
        return Err(
            "the blob has no `schema`: expected olm.package, olm.channel, olm.bundle, \
             olm.deprecations or one of your own"
                .to_owned(),
        );
    }
    Ok(heading)
}

fn typed(heading: Heading, map: Map<String, Value>) -> Result<Meta, String> {
    let Heading {
        schema,
        package,
        name,
    } = heading;
    let mut fields = Fields::new(map);
    Ok(match schema.as_str() {
        "olm.package" => Meta::Package(Package {
            name,
            default_channel: fields.text("defaultChannel")?,
            icon: fields.object("icon")?.map(icon).transpose()?,
            description: fields.text("description")?,
            properties: fields.list("properties", property)?,
        }),
        "olm.channel" => Meta::Channel(Channel {
            package,
            name,
            entries: fields.list("entries", entry)?,
            properties: fields.list("properties", property)?,
        }),
        "olm.bundle" => Meta::Bundle(Bundle {
            name,
            package,
            image: fields.text("image")?,
            properties: fields.list("properties", property)?,
            related_images: fields.list("relatedImages", related_image)?,
        }),
        "olm.deprecations" => Meta::Deprecations(Deprecations {
            package,
            entries: fields.list("entries", deprecation)?,
        }),
        _ => Meta::Other(Other {
            schema,
            package,
            name,
            blob: Value::Object(fields.map),
        }),
    })
}

fn icon(mut fields: Fields) -> Result<Icon, String> {
    Ok(Icon {
        base64data: fields.text("base64data")?,
        mediatype: fields.text("mediatype")?,
    })
}

fn property(mut fields: Fields) -> Result<Property, String> {
    Ok(Property {
        kind: fields.text("type")?,
        value: fields.take("value").ok_or("the property has no `value`")?,
    })
}

fn entry(mut fields: Fields) -> Result<Entry, String> {
    Ok(Entry {
        name: fields.text("name")?,
        replaces: fields.text("replaces")?,
        skips: fields.texts("skips")?,
        skip_range: fields.text("skipRange")?,
    })
}

fn related_image(mut fields: Fields) -> Result<RelatedImage, String> {
    Ok(RelatedImage {
        name: fields.text("name")?,
        image: fields.text("image")?,
    })
}

fn deprecation(mut fields: Fields) -> Result<Deprecation, String> {
    let reference = match fields.object("reference")? {
        None => DeprecatedReference::default(),
        Some(mut fields) => DeprecatedReference {
            schema: fields.text("schema")?,
            name: fields.text("name")?,
        },
    };
    Ok(Deprecation {
        reference,
        message: fields.text("message")?,
    })
}

/// The fields of an object, found without regard to case. Absent and null are the same, as in Go.
pub(crate) struct Fields {
    map: Map<String, Value>,
}

impl Fields {
    pub(crate) fn new(map: Map<String, Value>) -> Self {
        Self { map }
    }

    /// Takes a field out, null or not. Of keys that differ only in case the last in the alphabet is
    /// taken, which is what Go ends up with.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        let same = |other: &&String| other.eq_ignore_ascii_case(key);
        let found = self.map.keys().filter(same).max()?.clone();
        self.map.swap_remove(&found)
    }

    pub(crate) fn text(&mut self, key: &str) -> Result<String, String> {
        match self.take(key) {
            None | Some(Value::Null) => Ok(String::new()),
            Some(value) => text(value).map_err(|problem| at(key, &problem)),
        }
    }

    pub(crate) fn flag(&mut self, key: &str) -> Result<bool, String> {
        match self.take(key) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(format!(
                "{key}: expected true or false, found {}",
                kind(&other)
            )),
        }
    }

    fn texts(&mut self, key: &str) -> Result<Vec<String>, String> {
        self.items(key)?
            .into_iter()
            .enumerate()
            .map(|(index, item)| match item {
                Value::Null => Ok(String::new()),
                item => text(item).map_err(|problem| at(&format!("{key}[{index}]"), &problem)),
            })
            .collect()
    }

    pub(crate) fn object(&mut self, key: &str) -> Result<Option<Self>, String> {
        match self.take(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(map)) => Ok(Some(Self::new(map))),
            Some(other) => Err(format!("{key}: expected an object, found {}", kind(&other))),
        }
    }

    pub(crate) fn list<T>(
        &mut self,
        key: &str,
        read: impl Fn(Self) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        self.items(key)?
            .into_iter()
            .enumerate()
            .map(|(index, item)| {
                let here = format!("{key}[{index}]");
                match item {
                    Value::Null => read(Self::new(Map::new())),
                    Value::Object(map) => read(Self::new(map)),
                    other => Err(format!("expected an object, found {}", kind(&other))),
                }
                .map_err(|problem| at(&here, &problem))
            })
            .collect()
    }

    pub(crate) fn items(&mut self, key: &str) -> Result<Vec<Value>, String> {
        match self.take(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => Ok(items),
            Some(other) => Err(format!("{key}: expected a list, found {}", kind(&other))),
        }
    }

    /// The keys that nobody took.
    pub(crate) fn left(&self) -> impl Iterator<Item = &str> {
        self.map.keys().map(String::as_str)
    }
}

fn text(value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        other => {
            let quoted = match &other {
                Value::Number(_) | Value::Bool(_) => format!(": write it as \"{other}\""),
                _ => String::new(),
            };
            Err(format!("expected a string, found {}{quoted}", kind(&other)))
        }
    }
}

/// `entries[2]` before `name: expected …` becomes `entries[2].name: expected …`.
fn at(here: &str, problem: &str) -> String {
    let path_follows = problem
        .split_once(':')
        .is_some_and(|(path, _)| !path.contains(' '));
    if path_follows {
        format!("{here}.{problem}")
    } else {
        format!("{here}: {problem}")
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
