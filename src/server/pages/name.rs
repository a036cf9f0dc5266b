//! The package that the address of a page names.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use super::failure::Failure;
use crate::server::hub::Error;

/// The name of a package in an address.
pub(super) struct Name(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(name)) => Ok(Self(name)),
            Err(rejection) => {
                let error = Error::bad_request(rejection.body_text());
                Err(error.hint("look for the operator in the list").into())
            }
        }
    }
}
