//! Why an object could not be written, and whether it makes sense to try again.

use std::fmt;

use kube::core::Status;
use serde_json::Value;
use thiserror::Error as ThisError;

use super::Account;
use super::request::Refusal;
use crate::api::gvk::GroupVersionKind;
use crate::plan::steady::steady;

/// The object that something was done to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Target {
    /// Its kind.
    pub gvk: GroupVersionKind,
    /// Its namespace; empty if it has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Target {
    /// What an object is called.
    pub(super) fn of(object: &Value) -> Result<Self, Error> {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str);
        let word = |path| text(path).unwrap_or_default().to_owned();
        let api_version = word("/apiVersion");
        let (group, version) = api_version
            .split_once('/')
            .unwrap_or(("", api_version.as_str()));
        let target = Self {
            gvk: GroupVersionKind::new(group, version, word("/kind")),
            namespace: word("/metadata/namespace"),
            name: word("/metadata/name"),
        };
        let missing = [
            ("apiVersion", target.gvk.version.is_empty()),
            ("kind", target.gvk.kind.is_empty()),
            ("metadata.name", target.name.is_empty()),
        ];
        match missing.iter().find(|(_, is_missing)| *is_missing) {
            Some((field, _)) => Err(Error::Invalid {
                message: format!("the manifest has no {field}"),
                target: Box::new(target),
            }),
            None => Ok(target),
        }
    }

    pub(super) fn namespace(&self) -> Option<&str> {
        Some(self.namespace.as_str()).filter(|namespace| !namespace.is_empty())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace() {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.gvk.kind, self.name),
            None => write!(f, "{} {}", self.gvk.kind, self.name),
        }
    }
}

/// Why an object could not be written.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum Error {
    /// Who writes it may not.
    #[error("error applying {target}: {message}; {advice}")]
    Forbidden {
        /// The object.
        target: Box<Target>,
        /// The account it was written as; none if it was we ourselves.
        account: Option<Account>,
        /// What the API server said.
        message: String,
        /// What to do about it.
        advice: String,
    },
    /// There is no room for it in the namespace.
    #[error(
        "error applying {target}: {message}; raise the ResourceQuota or make room, and it goes on by itself"
    )]
    Quota {
        /// The object.
        target: Box<Target>,
        /// What the API server said.
        message: String,
    },
    /// The API server will never take it.
    #[error("error applying {target}: {message}")]
    Invalid {
        /// The object.
        target: Box<Target>,
        /// What the API server said.
        message: String,
    },
    /// Somebody else wrote it at the same time.
    #[error("error applying {target}: {message}")]
    Conflict {
        /// The object.
        target: Box<Target>,
        /// What the API server said.
        message: String,
    },
    /// Its namespace does not exist, or is on its way out.
    #[error("error applying {target}: {message}; create namespace {}", target.namespace)]
    NoNamespace {
        /// The object.
        target: Box<Target>,
        /// What the API server said.
        message: String,
    },
    /// The cluster does not have its kind.
    #[error(
        "api-server resource not found installing {} {}: GroupVersionKind {}, Kind={} not found on the cluster. This API may have been deprecated and removed, see https://kubernetes.io/docs/reference/using-api/deprecation-guide/ for more information. If it belongs to an optional component, install that first",
        target.gvk.kind,
        target.name,
        target.gvk.api_version(),
        target.gvk.kind
    )]
    NoSuchKind {
        /// The object.
        target: Box<Target>,
    },
    /// The API server, or something it asks, did not answer as it should.
    #[error("error applying {target}: {message}")]
    Unavailable {
        /// The object.
        target: Box<Target>,
        /// What it said, if anything.
        message: String,
    },
    /// The CRD would harm objects that are there.
    #[error("{message}")]
    CrdUnsafe {
        /// The CRD.
        target: Box<Target>,
        /// What is wrong, in OLM's words and then in ours.
        message: String,
    },
}

impl Error {
    /// Whether trying again cannot help as long as the object and the cluster's API are what they are.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Invalid { .. } | Self::NoSuchKind { .. } | Self::CrdUnsafe { .. } => true,
            Self::Forbidden { .. }
            | Self::Quota { .. }
            | Self::Conflict { .. }
            | Self::NoNamespace { .. }
            | Self::Unavailable { .. } => false,
        }
    }

    /// The object it is about.
    pub fn target(&self) -> &Target {
        match self {
            Self::Forbidden { target, .. }
            | Self::Quota { target, .. }
            | Self::Invalid { target, .. }
            | Self::Conflict { target, .. }
            | Self::NoNamespace { target, .. }
            | Self::NoSuchKind { target }
            | Self::Unavailable { target, .. }
            | Self::CrdUnsafe { target, .. } => target,
        }
    }

    /// What a refusal means.
    pub(super) fn from_refusal(
        refusal: Refusal,
        target: &Target,
        account: Option<&Account>,
    ) -> Self {
        let target = Box::new(target.clone());
        match refusal {
            Refusal::Silence(message) => Self::Unavailable {
                message: steady(&message),
                target,
            },
            Refusal::Status(status) => Self::from_status(&status, target, account),
        }
    }

    fn from_status(status: &Status, target: Box<Target>, account: Option<&Account>) -> Self {
        let about_namespace = is_about_namespace(status);
        let about_another = is_about_another_object(status);
        let message = if status.message.is_empty() {
            format!("the API server answered with code {}", status.code)
        } else {
            steady(&status.message)
        };
        match status.code {
            // A namespace on its way out forbids everything new.
            403 | 404 if about_namespace => Self::NoNamespace { target, message },
            403 if message.contains("exceeded quota") => Self::Quota { target, message },
            403 => Self::forbidden(target, message, account),
            // Who denies it may change their mind, or what they look at may change.
            400..=499 if is_denied(&message) => Self::forbidden(target, message, account),
            404 if about_another => Self::Unavailable {
                target,
                message: format!("{message}; it goes on by itself once that is there"),
            },
            404 => Self::NoSuchKind { target },
            409 => Self::Conflict { target, message },
            400 | 405 | 406 | 413 | 415 | 422 => Self::Invalid { target, message },
            // An object that does not fit its kind's schema is answered as if the server were at fault.
            500 if message.starts_with("failed to create typed patch object") => {
                Self::Invalid { target, message }
            }
            _ => Self::Unavailable { target, message },
        }
    }

    fn forbidden(target: Box<Target>, message: String, account: Option<&Account>) -> Self {
        Self::Forbidden {
            advice: advice(&message, account),
            account: account.cloned(),
            target,
            message,
        }
    }
}

/// Whether a webhook or a policy of the cluster said no, with whatever code they chose for that.
fn is_denied(message: &str) -> bool {
    message.contains("denied the request")
        || (message.contains("ValidatingAdmissionPolicy ") && message.contains("denied request"))
}

fn is_about_namespace(status: &Status) -> bool {
    let Some(details) = &status.details else {
        return false;
    };
    let is_missing = status.code == 404 && details.kind == "namespaces";
    let is_terminating = details
        .causes
        .iter()
        .any(|cause| cause.reason == "NamespaceTerminating");
    is_missing || is_terminating
}

/// An object that is written is made if it is not there. So one that is missing is another, to which it refers, such as
/// the Role of a RoleBinding; a kind that is missing has no name.
fn is_about_another_object(status: &Status) -> bool {
    let details = status.details.as_ref();
    status.code == 404 && details.is_some_and(|it| !it.name.is_empty())
}

/// What to grant to whom, out of the API server's words:
/// `… cannot patch resource "roles" in API group "rbac.authorization.k8s.io" in the namespace "ns"`.
fn advice(message: &str, account: Option<&Account>) -> String {
    let who = match account {
        Some(account) => format!("ServiceAccount {account}"),
        None => "Chandler's own ServiceAccount".to_owned(),
    };
    if message.contains("attempting to grant RBAC permissions not currently held") {
        return format!(
            "give {who} the permissions that it is to pass on to the operator, or the verbs escalate and bind, and it goes on by itself"
        );
    }
    let quoted = |before: &str| {
        let (_, rest) = message.split_once(before)?;
        rest.split('"').next()
    };
    let verb = message
        .split_once(" cannot ")
        .and_then(|(_, rest)| rest.split_once(" resource "))
        .map(|(verb, _)| verb);
    let (Some(verb), Some(resource)) = (verb, quoted(" resource \"")) else {
        return format!(
            "if a policy of the cluster is in the way, change it or the object; if it is rights, give them to {who}; then it goes on by itself"
        );
    };
    let group = quoted("in API group \"").unwrap_or_default();
    let place = match quoted("in the namespace \"") {
        Some(namespace) => format!("in namespace {namespace}"),
        None => "at the cluster scope".to_owned(),
    };
    // Server-side apply is a patch, which OLM did without.
    let more = match verb {
        "patch" => " (objects are written by server-side apply, which needs create and patch)",
        _ => "",
    };
    format!(
        "grant {who} the verb {verb} on {resource} of API group \"{group}\" {place}{more}, and it goes on by itself"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn role() -> Target {
        let target = Target::of(&json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "r", "namespace": "ns"},
        }));
        target.unwrap()
    }

    fn refused(code: u16, message: &str) -> Error {
        let status = Status::failure(message, "").with_code(code);
        Error::from_status(&status, Box::new(role()), None)
    }

    #[test]
    fn the_same_refusal_is_the_same_error() {
        let broken = |port: u16| {
            let message =
                format!("failed calling webhook: read tcp 192.0.2.1:{port}->192.0.2.2:443: reset");
            let silence = Refusal::Silence(message.clone());
            (
                refused(500, &message),
                Error::from_refusal(silence, &role(), None),
            )
        };
        assert_eq!(broken(50001), broken(50002));
    }

    #[rstest]
    #[case(400, true)]
    #[case(422, true)]
    #[case(403, false)]
    #[case(409, false)]
    #[case(429, false)]
    #[case(500, false)]
    #[case(503, false)]
    #[case(504, false)]
    #[case(401, false)]
    fn only_what_can_never_work_is_permanent(#[case] code: u16, #[case] is_permanent: bool) {
        assert_eq!(refused(code, "no").is_permanent(), is_permanent);
    }

    #[rstest]
    #[case(
        400,
        "admission webhook \"policy.example.com\" denied the request: no latest tags"
    )]
    #[case(
        422,
        "roles \"r\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"
    )]
    fn what_a_policy_denies_is_tried_again_as_what_is_forbidden(
        #[case] code: u16,
        #[case] message: &str,
    ) {
        let error = refused(code, message);
        assert!(matches!(error, Error::Forbidden { .. }), "{error}");
        assert!(!error.is_permanent());
        let text = error.to_string();
        assert!(
            text.contains(message) && text.contains("policy of the cluster"),
            "{text}"
        );
    }

    #[test]
    fn an_object_that_does_not_fit_its_schema_is_not_the_servers_fault() {
        let error = refused(
            500,
            "failed to create typed patch object (ns/r; v1): errors",
        );
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
    }

    #[test]
    fn a_quota_is_told_from_missing_rights() {
        let error = refused(
            403,
            "pods \"x\" is forbidden: exceeded quota: q, requested: pods=1",
        );
        assert!(matches!(error, Error::Quota { .. }), "{error}");
        assert!(!error.is_permanent());
    }

    #[test]
    fn a_forbidden_write_says_what_to_grant_to_whom() {
        let message = "roles.rbac.authorization.k8s.io \"r\" is forbidden: User \"system:serviceaccount:ns:sa\" cannot patch resource \"roles\" in API group \"rbac.authorization.k8s.io\" in the namespace \"ns\"";
        let account = Account {
            namespace: "ns".to_owned(),
            name: "sa".to_owned(),
        };
        let status = Status::failure(message, "Forbidden").with_code(403);
        let error = Error::from_status(&status, Box::new(role()), Some(&account)).to_string();
        assert_eq!(
            error,
            format!(
                "error applying Role ns/r: {message}; grant ServiceAccount ns/sa the verb patch on roles of API group \"rbac.authorization.k8s.io\" in namespace ns (objects are written by server-side apply, which needs create and patch), and it goes on by itself"
            )
        );
    }

    #[test]
    fn a_role_that_is_not_there_yet_is_told_from_a_missing_kind() {
        let message = "roles.rbac.authorization.k8s.io \"r\" not found";
        let status = serde_json::from_value(json!({
            "code": 404, "message": message, "reason": "NotFound",
            "details": {"name": "r", "group": "rbac.authorization.k8s.io", "kind": "roles"},
        }));
        let error = Error::from_status(&status.unwrap(), Box::new(role()), None);
        assert!(!error.is_permanent(), "{error}");
        assert!(error.to_string().contains(message), "{error}");
        let no_kind = json!({"code": 404, "message": "404 page not found", "details": {}});
        let error = serde_json::from_value(no_kind).unwrap();
        let error = Error::from_status(&error, Box::new(role()), None);
        assert!(matches!(error, Error::NoSuchKind { .. }), "{error}");
    }

    #[test]
    fn a_namespace_that_is_missing_or_going_is_told_from_a_missing_kind() {
        for status in [
            json!({
                "code": 404, "message": "namespaces \"ns\" not found", "reason": "NotFound",
                "details": {"name": "ns", "kind": "namespaces"},
            }),
            json!({
                "code": 403, "message": "it is being terminated", "reason": "Forbidden",
                "details": {"kind": "roles", "causes": [{"reason": "NamespaceTerminating"}]},
            }),
        ] {
            let status: Status = serde_json::from_value(status).unwrap();
            let error = Error::from_status(&status, Box::new(role()), None);
            assert!(matches!(error, Error::NoNamespace { .. }), "{error}");
        }
    }

    #[test]
    fn a_missing_kind_is_told_in_the_words_of_olm() {
        let error = Error::NoSuchKind {
            target: Box::new(role()),
        };
        let olm = "api-server resource not found installing Role r: GroupVersionKind rbac.authorization.k8s.io/v1, Kind=Role not found on the cluster. This API may have been deprecated and removed, see https://kubernetes.io/docs/reference/using-api/deprecation-guide/ for more information.";
        assert!(error.to_string().starts_with(olm), "{error}");
    }

    #[test]
    fn a_manifest_without_a_name_is_refused() {
        let error = Target::of(&json!({"apiVersion": "v1", "kind": "Pod"})).unwrap_err();
        assert!(error.is_permanent() && error.to_string().contains("metadata.name"));
    }
}
