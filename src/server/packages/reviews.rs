//! What only the API server in front knows: whose a token is, and who may do what.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};

use super::authentication::User;
use super::request::Resource;

/// What somebody wants to do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Action {
    /// `get`, `list` and so on.
    pub verb: String,
    /// To what.
    pub object: Object,
}

/// What somebody wants to do something to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Object {
    /// Something below `/apis/GROUP/VERSION`.
    Resource(Resource),
    /// Any other path.
    Path(String),
}

/// Whether somebody may do something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it is allowed.
    pub is_allowed: bool,
    /// Why, if somebody says so.
    pub reason: String,
}

/// Asks the API server in front.
pub trait Reviews: Send + Sync + 'static {
    /// Whose a token is; nobody's if it is not good. The error is why that cannot be found out.
    fn authenticate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Option<User>, String>>;

    /// Whether somebody may do something. The error is why that cannot be found out.
    fn authorize<'a>(
        &'a self,
        user: &'a User,
        action: &'a Action,
    ) -> BoxFuture<'a, Result<Verdict, String>>;
}

impl Reviews for Client {
    fn authenticate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Option<User>, String>> {
        async move {
            let review = TokenReview {
                spec: TokenReviewSpec {
                    token: Some(token.to_owned()),
                    audiences: None,
                },
                ..TokenReview::default()
            };
            let api = Api::<TokenReview>::all(self.clone());
            let answer = api.create(&PostParams::default(), &review).await;
            let answer = answer.map_err(|error| error.to_string())?;
            let status = answer.status.unwrap_or_default();
            let is_good = status.authenticated == Some(true);
            Ok(status.user.filter(|_| is_good).map(user))
        }
        .boxed()
    }

    fn authorize<'a>(
        &'a self,
        user: &'a User,
        action: &'a Action,
    ) -> BoxFuture<'a, Result<Verdict, String>> {
        async move {
            let review = SubjectAccessReview {
                spec: question(user, action),
                ..SubjectAccessReview::default()
            };
            let api = Api::<SubjectAccessReview>::all(self.clone());
            let answer = api.create(&PostParams::default(), &review).await;
            let answer = answer.map_err(|error| error.to_string())?;
            let status = answer.status.unwrap_or_default();
            Ok(Verdict {
                is_allowed: status.allowed && status.denied != Some(true),
                reason: status.reason.unwrap_or_default(),
            })
        }
        .boxed()
    }
}

fn user(info: UserInfo) -> User {
    User {
        name: info.username.unwrap_or_default(),
        uid: info.uid.unwrap_or_default(),
        groups: info.groups.unwrap_or_default(),
        extra: info.extra.unwrap_or_default(),
    }
}

fn question(user: &User, action: &Action) -> SubjectAccessReviewSpec {
    let verb = Some(action.verb.clone());
    let (resource, path) = match &action.object {
        Object::Resource(it) => {
            let attributes = ResourceAttributes {
                group: Some(it.group.clone()),
                version: Some(it.version.clone()),
                namespace: it.namespace.clone(),
                resource: Some(it.resource.clone()),
                subresource: it.subresource.clone(),
                name: it.name.clone(),
                verb,
                ..ResourceAttributes::default()
            };
            (Some(attributes), None)
        }
        Object::Path(path) => {
            let attributes = NonResourceAttributes {
                path: Some(path.clone()),
                verb,
            };
            (None, Some(attributes))
        }
    };
    SubjectAccessReviewSpec {
        user: Some(user.name.clone()),
        uid: Some(user.uid.clone()).filter(|uid| !uid.is_empty()),
        groups: Some(user.groups.clone()),
        extra: Some(user.extra.clone()),
        resource_attributes: resource,
        non_resource_attributes: path,
    }
}
