//! Enums for strings whose set of values is known but not closed.
//!
//! Stored objects outlive releases, so a phase or state that this release does not know must still
//! decode, and must be written back as it came. Every such enum has the same shape: `Unset` for an
//! empty or absent value, one variant per known value, and `Other` for the rest.

/// Declares an open enum: `enum Name { Variant = "wire value", ... }`.
macro_rules! open_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $value:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            /// Not set: empty or absent.
            #[default]
            Unset,
            $($(#[$variant_meta])* $variant,)+
            /// A value unknown to this release, kept as it came.
            Other(String),
        }

        impl $name {
            /// The known values as they are written, in the order of the variants.
            pub const KNOWN: &'static [&'static str] = &[$($value),+];

            /// The value as it is written.
            pub fn as_str(&self) -> &str {
                match self {
                    Self::Unset => "",
                    $(Self::$variant => $value,)+
                    Self::Other(value) => value,
                }
            }
        }

        impl From<&str> for $name {
            fn from(value: &str) -> Self {
                match value {
                    "" => Self::Unset,
                    $($value => Self::$variant,)+
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                match value {
                    $name::Other(value) => value,
                    known => known.as_str().to_owned(),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(|value| Self::from(value.as_str()))
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string" })
            }
        }
    };
}
pub(super) use open_enum;

#[cfg(test)]
mod tests {
    open_enum! {
        /// A colour.
        pub enum Colour {
            /// Red.
            Red = "red",
            /// Blue.
            Blue = "blue",
        }
    }

    #[test]
    fn known_values_become_variants_and_are_written_as_they_were_read() {
        let colour: Colour = serde_json::from_str("\"red\"").unwrap();
        assert_eq!(colour, Colour::Red);
        assert_eq!(serde_json::to_string(&Colour::Blue).unwrap(), "\"blue\"");
        assert_eq!(Colour::KNOWN, ["red", "blue"]);
    }

    #[test]
    fn an_unknown_value_survives_a_round_trip() {
        let colour: Colour = serde_json::from_str("\"Mauve\"").unwrap();
        assert_eq!(colour, Colour::Other("Mauve".to_owned()));
        assert_eq!(serde_json::to_string(&colour).unwrap(), "\"Mauve\"");
        assert_eq!(String::from(colour), "Mauve");
    }

    #[test]
    fn the_empty_value_is_unset() {
        assert_eq!(Colour::from(""), Colour::default());
        assert_eq!(Colour::Unset.to_string(), "");
    }
}
