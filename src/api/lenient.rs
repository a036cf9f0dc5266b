//! Reads JSON as forgivingly as the Go types of OLM do.
//!
//! Objects written for OLM hold `null` where a list belongs and leave out fields that the schema
//! requires. Go reads both as the zero value; serde, left alone, refuses the whole object, and one
//! refused object would stop a watch. Every field of this module therefore uses these helpers.
use serde::{Deserialize, Deserializer};

/// Reads `null` as the default value. Together with `#[serde(default)]` a field may also be absent.
pub(super) fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Whether a value is the default one, which is left out when an object is written.
pub(super) fn empty<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Lets an object come without its `spec`, or with a `spec` of `null`.
///
/// For kinds whose `spec` is optional. `kube` declares the field without a default, so the type
/// itself has to accept being absent: serde offers a missing field to its type as "no option".
/// The type derives its usual code under `#[serde(remote = "Self")]`.
macro_rules! absent_is_default {
    ($spec:ty) => {
        impl serde::Serialize for $spec {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                <$spec>::serialize(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $spec {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct MaybeAbsent;

                impl<'de> serde::de::Visitor<'de> for MaybeAbsent {
                    type Value = $spec;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("a spec or nothing")
                    }

                    fn visit_none<E: serde::de::Error>(self) -> Result<$spec, E> {
                        Ok(<$spec>::default())
                    }

                    fn visit_unit<E: serde::de::Error>(self) -> Result<$spec, E> {
                        Ok(<$spec>::default())
                    }

                    fn visit_some<D: serde::Deserializer<'de>>(
                        self,
                        deserializer: D,
                    ) -> Result<$spec, D::Error> {
                        <$spec>::deserialize(deserializer)
                    }
                }

                deserializer.deserialize_option(MaybeAbsent)
            }
        }
    };
}
pub(super) use absent_is_default;
