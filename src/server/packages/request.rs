//! What a request is about, as Kubernetes reads it: from its method, path and query alone.

use std::borrow::Cow;

use http::{Method, Uri};
use percent_encoding::percent_decode_str;

use super::{GROUP, RESOURCE, VERSION};

/// A request, as far as authorization and answers go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    /// `get`, `list` and so on.
    pub(super) verb: &'static str,
    pub(super) target: Target,
    pub(super) query: Query,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// Something below `/apis/GROUP/VERSION`, whether it exists or not.
    Resource(Resource),
    /// Any other path.
    Path(String),
}

/// Something below `/apis/GROUP/VERSION`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Resource {
    /// API group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Namespace, if one is named.
    pub namespace: Option<String>,
    /// Plural name of the kind.
    pub resource: String,
    /// Name of the object, if one is named.
    pub name: Option<String>,
    /// What of the object, if not all of it.
    pub subresource: Option<String>,
}

/// What the query says, as far as it means something here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Query {
    pub(super) label_selector: String,
    pub(super) field_selector: String,
    pub(super) watch: bool,
    /// What a row of a table carries: `None`, `Metadata` or `Object`.
    pub(super) include_object: String,
}

impl Request {
    /// Reads a request.
    pub(super) fn read(method: &Method, uri: &Uri) -> Self {
        let query = Query::read(uri.query().unwrap_or_default());
        let target = Target::read(uri.path());
        let verb = verb(method, &target, &query);
        Self {
            verb,
            target,
            query,
        }
    }
}

impl Target {
    fn read(path: &str) -> Self {
        let decoded: Vec<Cow<'_, str>> = path
            .split('/')
            .filter(|part| !part.is_empty())
            .map(|part| percent_decode_str(part).decode_utf8_lossy())
            .collect();
        let parts: Vec<&str> = decoded.iter().map(AsRef::as_ref).collect();
        let ["apis", group, version, rest @ ..] = parts.as_slice() else {
            return Self::Path(path.to_owned());
        };
        let (namespace, rest) = match rest {
            [] => return Self::Path(path.to_owned()),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => {
                (Some((*namespace).to_owned()), rest)
            }
            rest => (None, rest),
        };
        let part = |at: usize| rest.get(at).map(|part| (*part).to_owned());
        // Anything deeper is no API of anybody, and part of the last name for authorization.
        let subresource = rest.get(2..).filter(|rest| !rest.is_empty());
        Self::Resource(Resource {
            group: (*group).to_owned(),
            version: (*version).to_owned(),
            namespace,
            resource: part(0).unwrap_or_default(),
            name: part(1),
            subresource: subresource.map(|rest| rest.join("/")),
        })
    }
}

impl Resource {
    /// Whether it is of the kind that is served.
    pub(super) fn is_served(&self) -> bool {
        self.group == GROUP && self.version == VERSION && self.resource == RESOURCE
    }
}

impl Query {
    fn read(query: &str) -> Self {
        let mut read = Self::default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            match key.as_ref() {
                "labelSelector" => read.label_selector = value.into_owned(),
                "fieldSelector" => read.field_selector = value.into_owned(),
                // As Go reads a flag: there at all means yes.
                "watch" => read.watch = !matches!(value.as_ref(), "false" | "0"),
                "includeObject" => read.include_object = value.into_owned(),
                _ => {}
            }
        }
        read
    }
}

fn verb(method: &Method, target: &Target, query: &Query) -> &'static str {
    let is_named = matches!(target, Target::Resource(Resource { name: Some(_), .. }));
    let is_resource = matches!(target, Target::Resource(_));
    match method.as_str() {
        "POST" if is_resource => "create",
        "PUT" if is_resource => "update",
        "DELETE" if is_resource && !is_named => "deletecollection",
        "GET" | "HEAD" if is_resource && !is_named && query.watch => "watch",
        "GET" | "HEAD" if is_resource && !is_named => "list",
        "GET" => "get",
        "HEAD" if is_resource => "get",
        "HEAD" => "head",
        "POST" => "post",
        "PUT" => "put",
        "PATCH" => "patch",
        "DELETE" => "delete",
        "OPTIONS" => "options",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(method: &str, uri: &str) -> Request {
        Request::read(&method.parse().unwrap(), &uri.parse().unwrap())
    }

    fn resource(uri: &str) -> Resource {
        match read("GET", uri).target {
            Target::Resource(resource) => resource,
            Target::Path(path) => panic!("{path} is no resource"),
        }
    }

    const PACKAGES: &str = "/apis/packages.operators.coreos.com/v1";

    #[test]
    fn a_path_names_namespace_resource_object_and_what_of_it() {
        let icon = resource(&format!(
            "{PACKAGES}/namespaces/ns/packagemanifests/gopher/icon"
        ));
        assert!(icon.is_served());
        assert_eq!(icon.namespace.as_deref(), Some("ns"));
        assert_eq!(icon.name.as_deref(), Some("gopher"));
        assert_eq!(icon.subresource.as_deref(), Some("icon"));
        let all = resource(&format!("{PACKAGES}/packagemanifests/"));
        assert!(all.is_served());
        assert_eq!(
            (all.namespace, all.name, all.subresource),
            (None, None, None)
        );
        let deep = resource(&format!("{PACKAGES}/packagemanifests/a/b/c"));
        assert_eq!(deep.subresource.as_deref(), Some("b/c"));
    }

    #[test]
    fn what_is_escaped_in_a_path_is_one_name() {
        let odd = resource(&format!("{PACKAGES}/packagemanifests/a%2Fb"));
        assert_eq!(odd.name.as_deref(), Some("a/b"));
        assert_eq!(odd.subresource, None);
    }

    #[test]
    fn paths_outside_of_the_group_are_no_resources() {
        for path in [
            "/",
            "/apis",
            "/apis/x",
            "/apis/x/v1",
            "/openapi/v2",
            "/healthz",
        ] {
            assert_eq!(read("GET", path).target, Target::Path(path.to_owned()));
        }
        assert!(!resource("/apis/apps/v1/packagemanifests").is_served());
        assert!(!resource(&format!("{PACKAGES}/namespaces/ns")).is_served());
    }

    #[test]
    fn the_verb_follows_from_method_and_path() {
        for (method, path, verb) in [
            ("GET", "packagemanifests", "list"),
            ("GET", "packagemanifests?watch=true", "watch"),
            ("GET", "packagemanifests?watch=false", "list"),
            ("GET", "packagemanifests/a?watch=true", "get"),
            ("GET", "packagemanifests/a/icon", "get"),
            ("POST", "packagemanifests", "create"),
            ("PUT", "packagemanifests/a", "update"),
            ("PATCH", "packagemanifests/a", "patch"),
            ("DELETE", "packagemanifests/a", "delete"),
            ("DELETE", "packagemanifests", "deletecollection"),
            ("BREW", "packagemanifests", "unknown"),
        ] {
            let request = read(method, &format!("{PACKAGES}/{path}"));
            assert_eq!(request.verb, verb, "{method} {path}");
        }
        assert_eq!(read("GET", "/apis").verb, "get");
        assert_eq!(read("POST", "/apis").verb, "post");
    }

    #[test]
    fn the_query_is_unescaped_and_what_is_unknown_is_tolerated() {
        let request = read(
            "GET",
            &format!("{PACKAGES}/packagemanifests?limit=500&continue=x&labelSelector=a%3Db%2Cc&x"),
        );
        assert_eq!(request.query.label_selector, "a=b,c");
    }
}
