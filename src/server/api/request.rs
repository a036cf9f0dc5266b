//! What a request asks: parts of its address and its query, with failures in our form.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequestParts, Path, RawQuery};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
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
        let value = self.word(key)?;
        Ok(value.filter(|value| !value.is_empty()))
    }

    /// A parameter that is one of a few words. Nothing is none of them.
    pub(super) fn word(&self, key: &str) -> Result<Option<&str>, ApiError> {
        let mut values = self.query.iter().filter(|(own, _)| own == key);
        let first = values.next();
        if values.next().is_some() {
            return Err(ApiError::new(
                Code::BadRequest,
                format!("`{key}` is given more than once"),
            ));
        }
        Ok(first.map(|(_, value)| value.as_str()))
    }

    /// A parameter that has to be there.
    pub(super) fn needed(&self, key: &str) -> Result<&str, ApiError> {
        self.one(key)?
            .ok_or_else(|| ApiError::new(Code::BadRequest, format!("`{key}` is missing")))
    }

    /// The catalog that is asked for, where nothing else can be said.
    pub(super) fn only_catalog(&self) -> Result<Option<String>, ApiError> {
        self.only(&["catalog"])?;
        self.catalog()
    }

    /// The catalog that is asked for.
    pub(super) fn catalog(&self) -> Result<Option<String>, ApiError> {
        Ok(self.one("catalog")?.map(str::to_owned))
    }
}

/// Reads a body of JSON. A form of another site cannot send that type.
pub(super) fn read<T: DeserializeOwned>(
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
    hint: &str,
) -> Result<T, ApiError> {
    let body = body.map_err(|rejection| {
        let code = match rejection.status().as_u16() {
            413 => Code::TooLarge,
            _ => Code::BadRequest,
        };
        ApiError::new(code, rejection.body_text())
    })?;
    let kind = headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.split(';').next().map(str::trim) != Some("application/json") {
        return Err(ApiError::new(
            Code::UnsupportedMediaType,
            "the body has to be `application/json`",
        ));
    }
    serde_json::from_slice(&body).map_err(|error| {
        let message = format!("the body cannot be understood: {error}");
        ApiError::new(Code::BadRequest, message).hint(hint)
    })
}
