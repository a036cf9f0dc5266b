//! Who may do what: the API server in front is asked, and its answers are remembered for a moment.

use std::fmt;
use std::sync::Arc;

use super::authentication::User;
use super::brief::Brief;
use super::request::Resource;
use super::reviews::{Action, Object, Reviews, Verdict};
use super::status::Refusal;

/// Whoever is in it may do everything, and nobody has to be asked.
const MASTERS: &str = "system:masters";

/// Finds out who may do what.
pub(super) struct Authorizer {
    verdicts: Brief<(User, Action), Verdict>,
    reviews: Arc<dyn Reviews>,
}

impl fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorizer").finish_non_exhaustive()
    }
}

impl Authorizer {
    pub(super) fn new(reviews: Arc<dyn Reviews>) -> Self {
        Self {
            verdicts: Brief::default(),
            reviews,
        }
    }

    /// Refuses what somebody may not do.
    pub(super) async fn authorize(&self, user: &User, action: Action) -> Result<(), Refusal> {
        if user.groups.iter().any(|group| group == MASTERS) {
            return Ok(());
        }
        let key = (user.clone(), action);
        let verdict = if let Some(known) = self.verdicts.get(&key) {
            known
        } else {
            let asked = self.reviews.authorize(&key.0, &key.1).await;
            let verdict = asked.map_err(|problem| {
                tracing::warn!(problem, "it cannot be found out who may do what");
                Refusal::internal(format!("it cannot be found out who may do this: {problem}"))
            })?;
            self.verdicts.put(key.clone(), verdict.clone());
            verdict
        };
        if verdict.is_allowed {
            return Ok(());
        }
        Err(Refusal::forbidden(words(&key.0, &key.1, &verdict.reason)))
    }
}

/// As every API server says it.
fn words(user: &User, action: &Action, reason: &str) -> String {
    let (user, verb) = (&user.name, &action.verb);
    let (what, told) = match &action.object {
        Object::Path(path) => (String::new(), format!("cannot {verb} path \"{path}\"")),
        Object::Resource(it) => {
            let Resource {
                group, resource, ..
            } = it;
            let part = it.subresource.as_ref();
            let part = part.map_or(String::new(), |part| format!("/{part}"));
            let name = it.name.as_ref();
            let name = name.map_or(String::new(), |name| format!(" \"{name}\""));
            let place = match &it.namespace {
                Some(namespace) => format!("in the namespace \"{namespace}\""),
                None => "at the cluster scope".to_owned(),
            };
            (
                format!("{resource}.{group}{name} is forbidden: "),
                format!(
                    "cannot {verb} resource \"{resource}{part}\" in API group \"{group}\" {place}"
                ),
            )
        }
    };
    let reason = match reason {
        "" => String::new(),
        reason => format!(": {reason}"),
    };
    let what = if what.is_empty() {
        "forbidden: ".to_owned()
    } else {
        what
    };
    format!("{what}User \"{user}\" {told}{reason}")
}
