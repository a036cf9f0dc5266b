//! From a document to a type, so that what does not fit is told with its line and its path.

use std::sync::Arc;

use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::mismatch::{Mismatch, Step};
use super::node::{Data, Entry, Node, whole};
use super::scalar::float_text;

/// What becomes of a number or a boolean where a string is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strings {
    Strict,
    Coerce,
}

/// Hands a node to serde.
pub(super) struct Decoder {
    node: Node,
    strings: Strings,
}

impl Decoder {
    pub(super) fn new(node: Node, strings: Strings) -> Self {
        let mut node = node;
        while let Data::Shared(shared) = node.data {
            node = Arc::unwrap_or_clone(shared);
        }
        Self { node, strings }
    }

    fn coerced(self) -> Self {
        let text = match self.node.data {
            Data::Bool(bool) => bool.to_string(),
            Data::Int(int) => int.to_string(),
            Data::Uint(int) => int.to_string(),
            Data::Float(float) => float_text(float),
            _ => return self,
        };
        Self {
            node: Node {
                data: Data::Text(text),
                ..self.node
            },
            ..self
        }
    }
}

impl<'de> Deserializer<'de> for Decoder {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        let at = self.node.at;
        match self.node.data {
            Data::Null => visitor.visit_unit(),
            Data::Bool(bool) => visitor.visit_bool(bool),
            Data::Int(int) => match u64::try_from(int) {
                Ok(int) => visitor.visit_u64(int),
                Err(_) => visitor.visit_i64(int),
            },
            Data::Uint(int) => visitor.visit_u64(int),
            Data::Float(float) => match whole(float) {
                Some(int) => visitor.visit_i64(int),
                None => visitor.visit_f64(float),
            },
            Data::Text(text) => visitor.visit_string(text),
            Data::Sequence(nodes) => visit_sequence(nodes, self.strings, visitor),
            Data::Mapping(entries) => visit_mapping(entries, self.strings, visitor),
            Data::Shared(node) => {
                return Self::new(Arc::unwrap_or_clone(node), self.strings)
                    .deserialize_any(visitor);
            }
        }
        .map_err(|mismatch: Mismatch| mismatch.at(at))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        let at = self.node.at;
        if self.node.is_null() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
        .map_err(|mismatch: Mismatch| mismatch.at(at))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        let at = self.node.at;
        visitor
            .visit_newtype_struct(self)
            .map_err(|mismatch: Mismatch| mismatch.at(at))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        let at = self.node.at;
        let strings = self.strings;
        let decoder = if strings == Strings::Coerce {
            self.coerced()
        } else {
            self
        };
        let variant = match decoder.node.data {
            Data::Text(name) => Ok(Variant {
                name,
                content: None,
                strings,
            }),
            Data::Mapping(entries) => {
                let mut entries = entries.into_iter();
                match (entries.next(), entries.next()) {
                    (Some(Entry { key, value }), None) => Ok(Variant {
                        name: key,
                        content: Some(value),
                        strings,
                    }),
                    _ => Err(Mismatch::new("expected a mapping with one key")),
                }
            }
            data => Err(de::Error::invalid_type(
                unexpected(&data),
                &"a string or a mapping",
            )),
        };
        variant
            .and_then(|variant| visitor.visit_enum(variant))
            .map_err(|mismatch: Mismatch| mismatch.at(at))
    }

    /// Serde would also take a list for a struct, as if its fields had numbers.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        if let Data::Sequence(_) = self.node.data {
            let mismatch: Mismatch = de::Error::invalid_type(Unexpected::Seq, &visitor);
            return Err(mismatch.at(self.node.at));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self.strings {
            Strings::Strict => self.deserialize_any(visitor),
            Strings::Coerce => self.coerced().deserialize_any(visitor),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        self.deserialize_string(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct
        seq tuple tuple_struct map identifier
    }
}

fn unexpected(data: &Data) -> Unexpected<'_> {
    match data {
        Data::Null => Unexpected::Unit,
        Data::Bool(bool) => Unexpected::Bool(*bool),
        Data::Int(int) => Unexpected::Signed(*int),
        Data::Uint(int) => Unexpected::Unsigned(*int),
        Data::Float(float) => Unexpected::Float(*float),
        Data::Text(text) => Unexpected::Str(text),
        Data::Sequence(_) => Unexpected::Seq,
        Data::Mapping(_) => Unexpected::Map,
        Data::Shared(node) => unexpected(&node.data),
    }
}

fn visit_sequence<'de, V: Visitor<'de>>(
    nodes: Vec<Node>,
    strings: Strings,
    visitor: V,
) -> Result<V::Value, Mismatch> {
    let len = nodes.len();
    let mut elements = Elements {
        nodes: nodes.into_iter(),
        index: 0,
        strings,
    };
    let value = visitor.visit_seq(&mut elements)?;
    match elements.nodes.len() {
        0 => Ok(value),
        rest => Err(de::Error::invalid_length(
            len,
            &&*format!("{} elements", len - rest),
        )),
    }
}

fn visit_mapping<'de, V: Visitor<'de>>(
    entries: Vec<Entry>,
    strings: Strings,
    visitor: V,
) -> Result<V::Value, Mismatch> {
    visitor.visit_map(Entries {
        rest: entries.into_iter(),
        value: None,
        strings,
    })
}

struct Elements {
    nodes: std::vec::IntoIter<Node>,
    index: usize,
    strings: Strings,
}

impl<'de> SeqAccess<'de> for Elements {
    type Error = Mismatch;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Mismatch> {
        let Some(node) = self.nodes.next() else {
            return Ok(None);
        };
        let index = self.index;
        self.index += 1;
        seed.deserialize(Decoder::new(node, self.strings))
            .map(Some)
            .map_err(|mismatch| mismatch.under(Step::Index(index)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.nodes.len())
    }
}

struct Entries {
    rest: std::vec::IntoIter<Entry>,
    value: Option<(String, Node)>,
    strings: Strings,
}

impl<'de> MapAccess<'de> for Entries {
    type Error = Mismatch;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Mismatch> {
        let Some(Entry { key, value }) = self.rest.next() else {
            return Ok(None);
        };
        let at = value.at;
        self.value = Some((key.clone(), value));
        let key: de::value::StringDeserializer<Mismatch> = key.into_deserializer();
        seed.deserialize(key)
            .map(Some)
            .map_err(|mismatch| mismatch.at(at))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Mismatch> {
        let (key, node) = self
            .value
            .take()
            .ok_or_else(|| Mismatch::new("a value before its key"))?;
        seed.deserialize(Decoder::new(node, self.strings))
            .map_err(|mismatch| mismatch.under(Step::Key(key)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Variant {
    name: String,
    content: Option<Node>,
    strings: Strings,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = Mismatch;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Mismatch> {
        let name: de::value::StrDeserializer<'_, Mismatch> = self.name.as_str().into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl Variant {
    /// Hands the content on.
    fn content<T>(self, read: impl FnOnce(Decoder) -> Result<T, Mismatch>) -> Result<T, Mismatch> {
        let Some(node) = self.content else {
            return Err(Mismatch::new("expected a mapping, found a string"));
        };
        read(Decoder::new(node, self.strings))
            .map_err(|mismatch| mismatch.under(Step::Key(self.name)))
    }
}

impl<'de> VariantAccess<'de> for Variant {
    type Error = Mismatch;

    fn unit_variant(self) -> Result<(), Mismatch> {
        match self.content {
            None => Ok(()),
            Some(node) if node.is_null() => Ok(()),
            Some(node) => Err(Mismatch::new("expected only a name, found a value").at(node.at)),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Mismatch> {
        self.content(|decoder| seed.deserialize(decoder))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Mismatch> {
        self.content(|decoder| decoder.deserialize_any(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        self.content(|decoder| decoder.deserialize_struct("", fields, visitor))
    }
}
