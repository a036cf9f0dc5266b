//! In which form an answer is wanted.
//!
//! JSON and YAML are offered, whole, as a table, or as metadata alone. Protobuf is not: clients that
//! would rather have it name JSON as well.

/// How the bytes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Yaml,
}

impl Format {
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
        }
    }
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Objects as they are.
    Objects,
    /// What `kubectl get` prints, in one of the versions of that API.
    Table(&'static str),
    /// Names and labels.
    Metadata(&'static str),
    /// All of discovery in one document, in one of the versions of that API.
    AggregatedDiscovery(&'static str),
}

/// What a client takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) format: Format,
    pub(super) shape: Shape,
}

impl Form {
    const PLAIN: Self = Self {
        format: Format::Json,
        shape: Shape::Objects,
    };
}

/// What is offered to whoever takes none of it.
pub(super) const OFFERED: &str = "application/json, application/yaml";

/// The form that a client likes best of those that are offered. Without a wish it is JSON.
pub(super) fn negotiate(accept: &str, is_offered: impl Fn(Shape) -> bool) -> Option<Form> {
    if accept.trim().is_empty() {
        return Some(Form::PLAIN);
    }
    let mut ranges: Vec<(u32, Form)> = accept.split(',').filter_map(range).collect();
    // Stable: what is named first goes first.
    ranges.sort_by_key(|(quality, _)| std::cmp::Reverse(*quality));
    let taken = ranges.into_iter().filter(|(quality, _)| *quality > 0);
    taken
        .map(|(_, form)| form)
        .find(|form| is_offered(form.shape))
}

/// One media range with its quality in thousandths; nothing if it is something else.
fn range(text: &str) -> Option<(u32, Form)> {
    let mut parts = text.split(';').map(str::trim);
    let format = match parts.next()? {
        "application/json" | "application/*" | "*/*" => Format::Json,
        "application/yaml" => Format::Yaml,
        _ => return None,
    };
    let (mut group, mut version, mut kind, mut quality) = ("", "", "", 1000);
    for (key, value) in parts.filter_map(|part| part.split_once('=')) {
        match key.trim() {
            "g" => group = value.trim(),
            "v" => version = value.trim(),
            "as" => kind = value.trim(),
            "q" => quality = thousandths(value.trim()),
            _ => {}
        }
    }
    let version = match version {
        "v1" => "v1",
        "v1beta1" => "v1beta1",
        "v2" => "v2",
        "v2beta1" => "v2beta1",
        _ => "",
    };
    let shape = match (group, version, kind) {
        (_, _, "") => Shape::Objects,
        ("meta.k8s.io", "v1" | "v1beta1", "Table") => Shape::Table(version),
        (
            "meta.k8s.io",
            "v1" | "v1beta1",
            "PartialObjectMetadata" | "PartialObjectMetadataList",
        ) => Shape::Metadata(version),
        ("apidiscovery.k8s.io", "v2" | "v2beta1", "APIGroupDiscoveryList") => {
            Shape::AggregatedDiscovery(version)
        }
        _ => return None,
    };
    Some((quality, Form { format, shape }))
}

fn thousandths(text: &str) -> u32 {
    let value: f64 = text.parse().unwrap_or(0.0);
    // Between nothing and a thousand: neither sign nor size gets lost.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it was brought into bounds"
    )]
    let value = (value.clamp(0.0, 1.0) * 1000.0) as u32;
    value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn of_objects(accept: &str) -> Option<Form> {
        negotiate(accept, |shape| {
            !matches!(shape, Shape::AggregatedDiscovery(_))
        })
    }

    const TABLE: Form = Form {
        format: Format::Json,
        shape: Shape::Table("v1"),
    };

    #[test]
    fn kubectl_get_has_a_table() {
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(of_objects(kubectl), Some(TABLE));
    }

    #[test]
    fn clients_that_prefer_protobuf_have_json() {
        let go = "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/vnd.kubernetes.protobuf,application/json";
        assert_eq!(of_objects(go), Some(Form::PLAIN));
        assert_eq!(of_objects("application/vnd.kubernetes.protobuf"), None);
    }

    #[rstest]
    #[case("", Form::PLAIN)]
    #[case("*/*", Form::PLAIN)]
    #[case("text/html, application/*;q=0.5", Form::PLAIN)]
    #[case("application/json;q=0.1, application/yaml", Form { format: Format::Yaml, shape: Shape::Objects })]
    #[case(
        "application/json;as=Unknown;g=meta.k8s.io;v=v1, application/json",
        Form::PLAIN
    )]
    #[case(
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList, application/json;q=0.9",
        Form::PLAIN
    )]
    fn the_best_that_is_offered_is_chosen(#[case] accept: &str, #[case] form: Form) {
        assert_eq!(of_objects(accept), Some(form));
    }

    #[rstest]
    #[case("text/html")]
    #[case("application/json;q=0")]
    #[case("application/json;as=Table;v=v7;g=meta.k8s.io")]
    fn what_is_not_offered_is_not_given(#[case] accept: &str) {
        assert_eq!(of_objects(accept), None);
    }

    proptest! {
        #[test]
        fn no_wish_makes_it_panic(accept in ".{0,60}") {
            let _ = of_objects(&accept);
        }
    }
}
