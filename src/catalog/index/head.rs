//! What a blob is, told from its outermost keys alone.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

/// The outermost keys of a blob.
#[derive(Debug, Default)]
pub(super) struct Head<'a> {
    schema: Cow<'a, str>,
    pub(super) package: Cow<'a, str>,
    name: Cow<'a, str>,
    /// Whether there is a key that we do not know as it is written, or one that comes twice.
    odd: bool,
}

impl<'a> Head<'a> {
    /// Reads a blob; none if it is no JSON object.
    pub(super) fn read(text: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    /// Whether this is a bundle without anything odd in its outermost keys. Keys may be written in
    /// any case, and whoever reads this blob with exact keys must not miss one.
    pub(super) fn is_plain_bundle(&self) -> bool {
        self.schema == "olm.bundle"
            && !self.package.is_empty()
            && !self.name.is_empty()
            && !self.odd
    }
}

/// The keys of a bundle, as opm writes them.
const KEYS: [&str; 6] = [
    "schema",
    "package",
    "name",
    "image",
    "properties",
    "relatedImages",
];

impl<'de: 'a, 'a> Deserialize<'de> for Head<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;

        impl<'de> Visitor<'de> for Keys {
            type Value = Head<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a blob")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Head<'de>, A::Error> {
                let mut head = Head::default();
                let mut seen = [false; KEYS.len()];
                while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                    match KEYS.iter().position(|known| *known == key) {
                        Some(at) => head.odd |= std::mem::replace(&mut seen[at], true),
                        None => head.odd = true,
                    }
                    let text = match key.as_ref() {
                        "schema" => &mut head.schema,
                        "package" => &mut head.package,
                        "name" => &mut head.name,
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    *text = map.next_value::<Text<'de>>()?.0;
                }
                Ok(head)
            }
        }

        /// Borrowed where it can be, which `Cow` alone does not do inside of a map.
        #[derive(Deserialize)]
        struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

        deserializer.deserialize_map(Keys)
    }
}

#[cfg(test)]
mod tests {
    use super::Head;

    fn is_plain(text: &str) -> bool {
        Head::read(text.as_bytes()).is_some_and(|head| head.is_plain_bundle())
    }

    #[test]
    fn a_bundle_as_opm_writes_it_is_plain() {
        assert!(is_plain(
            r#"{"schema":"olm.bundle","name":"a","package":"p","image":"i","properties":[],"relatedImages":[]}"#
        ));
    }

    #[test]
    fn anything_that_exact_keys_would_miss_is_not() {
        for text in [
            r#"{"schema":"olm.bundle","name":"a","package":"p","Properties":[]}"#,
            r#"{"schema":"olm.bundle","name":"a","package":"p","image":"i","image":"j"}"#,
            r#"{"Schema":"olm.bundle","name":"a","package":"p"}"#,
            r#"{"schema":"olm.bundle","name":"a"}"#,
            r#"{"schema":"olm.channel","name":"a","package":"p"}"#,
            r#"{"schema":"olm.bundle","name":1,"package":"p"}"#,
            "[]",
        ] {
            assert!(!is_plain(text), "{text}");
        }
    }
}
