//! What a request asks: parts of its address and its query, with failures in our form.

use axum::extract::{FromRequestParts, Path, RawQuery};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::error::{ApiError, Code};

/// Parts of the address.
pub(super) struct ApiPath<T>(pub(super) T);

impl<S, T> FromRequestParts<S> for ApiPath<T>
where
    S: Send + Sync,
    T: DeserializeOwned + Send,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(parsed)) => Ok(Self(parsed)),
            Err(rejection) => Err(ApiError::new(Code::BadRequest, rejection.body_text())),
        }
    }
}

/// What a request says beside its address.
pub(super) struct Asked {
    query: Vec<(String, String)>,
    /// Its headers.
    pub(super) headers: HeaderMap,
    /// The query as it was written.
    pub(super) raw: String,
}

impl<S: Send + Sync> FromRequestParts<S> for Asked {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let RawQuery(query) = match RawQuery::from_request_parts(parts, state).await {
            Ok(query) => query,
            Err(never) => match never {},
        };
        let raw = query.unwrap_or_default();
        let pairs = form_urlencoded::parse(raw.as_bytes());
        Ok(Self {
            query: pairs.into_owned().collect(),
            headers: parts.headers.clone(),
            raw,
        })
    }
}

impl Asked {
    /// Refuses what is not known: a typing error must not look like an answer.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), ApiError> {
        let mut keys = self.query.iter().map(|(key, _)| key.as_str());
        let Some(unknown) = keys.find(|key| !known.contains(key)) else {
            return Ok(());
        };
        let hint = match known {
            [] => "there are none here".to_owned(),
            known => format!("there are {}", known.join(", ")),
        };
        Err(ApiError::new(Code::BadRequest, format!("`{unknown}` is no parameter")).hint(hint))
    }

    /// A parameter; nothing if it is empty.
    pub(super) fn one(&self, key: &str) -> Result<Option<&str>, ApiError> {
        let mut values = self.query.iter().filter(|(own, _)| own == key);
        let first = values.next();
        if values.next().is_some() {
            return Err(ApiError::new(
                Code::BadRequest,
                format!("`{key}` is given more than once"),
            ));
        }
        let value = first.map(|(_, value)| value.as_str());
        Ok(value.filter(|value| !value.is_empty()))
    }

    /// A parameter that has to be there.
    pub(super) fn needed(&self, key: &str) -> Result<&str, ApiError> {
        self.one(key)?
            .ok_or_else(|| ApiError::new(Code::BadRequest, format!("`{key}` is missing")))
    }

    /// The catalog that is asked for.
    pub(super) fn catalog(&self) -> Result<Option<String>, ApiError> {
        Ok(self.one("catalog")?.map(str::to_owned))
    }
}
