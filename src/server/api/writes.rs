//! What visitors change in the cluster, each with a token of their own.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRef, FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use tokio::sync::OwnedSemaphorePermit;
use utoipa::ToSchema;

use super::error::{ApiError, Code, Problems, WriteProblems};
use super::limits::Turns;
use super::request::{ApiPath, Asked, read};
use super::visitor;
use crate::resolver::Component;
use crate::server::hub::views::{InstallManifests, InstallModeName};
use crate::server::hub::{Approval, Hub, InstallQuery, ResolveQuery, Wish, blocking};
use crate::server::writes::{
    Approved, Extent, InstallOrder, Installing, Place, Refusal, RefusalKind, RemovalWish, Removing,
    Token, Visitor, Writer, Writes,
};

/// A visitor who may ask.
pub(super) struct Admitted {
    writer: Arc<dyn Writer>,
    token: Token,
    turns: Turns,
}

impl Admitted {
    /// Waits for the visitor's turn, which begins when all was said that is to be said.
    async fn turn(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        self.turns.writing().await
    }
}

impl<S> FromRequestParts<S> for Admitted
where
    S: Send + Sync,
    Writes: FromRef<S>,
    Turns: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let allowed = Writes::from_ref(state);
        let Some(writer) = allowed.writer else {
            let error = ApiError::new(Code::Forbidden, "nothing can be changed by this page");
            return Err(error.hint(
                "`chandler run --allow-writes` lets visitors use tokens of their own; \
                 `chandler install`, `approve` and `uninstall` work without",
            ));
        };
        let token = visitor::token(parts, allowed.transport)?;
        Ok(Self {
            writer,
            token,
            turns: Turns::from_ref(state),
        })
    }
}

/// Who you are to the cluster
#[utoipa::path(
    get, path = "/api/v1/visitor", operation_id = "get_visitor", tag = "writes",
    security(("token" = [])),
    responses((status = 200, body = Visitor), Problems, WriteProblems),
)]
pub(super) async fn get_visitor(admitted: Admitted, asked: Asked) -> Result<Response, ApiError> {
    asked.only(&[])?;
    let _turn = admitted.turn().await?;
    let visitor = admitted.writer.visitor(&admitted.token).await?;
    Ok(unkept(visitor))
}

/// What is to be installed. What is not said is decided as in the manifests.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct InstallRequest {
    /// The package.
    #[schema(min_length = 1, max_length = 253)]
    package: String,
    /// The catalog [default: the first that has it].
    #[serde(default)]
    catalog: Option<String>,
    /// The channel to follow [default: the default channel, or one with the version].
    #[serde(default)]
    channel: Option<String>,
    /// The version, which is held for ever unless it is the newest [default: the newest].
    #[serde(default)]
    version: Option<String>,
    /// The namespace, which is made if it is missing [default: what the publisher suggests].
    #[serde(default)]
    namespace: Option<String>,
    /// Whom the operator serves, if the namespace has no OperatorGroup [default: all, if it can].
    #[serde(default)]
    install_mode: Option<InstallModeName>,
    /// Who approves [default: nobody has to].
    #[serde(default)]
    approval: Option<Approval>,
    /// Only say what would happen.
    #[serde(default)]
    dry_run: bool,
}

/// What is made, and what becomes of it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct InstallAnswer {
    /// Whether nothing was done.
    dry_run: bool,
    /// The version that is installed first; may be empty.
    version: String,
    /// What is made.
    #[serde(flatten)]
    installing: Installing,
    /// What the resolver does with it, as `/api/v1/resolve` answers; empty once it is made.
    components: Vec<Component>,
}

/// Install a package
#[utoipa::path(
    post, path = "/api/v1/installations", operation_id = "install_package", tag = "writes",
    request_body = InstallRequest, security(("token" = [])),
    responses((status = 200, body = InstallAnswer), Problems, WriteProblems),
)]
pub(super) async fn install_package(
    State(hub): State<Arc<Hub>>,
    State(turns): State<Turns>,
    admitted: Admitted,
    asked: Asked,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    asked.only(&[])?;
    let request: InstallRequest = read(&asked.headers, body, "send {\"package\": \"NAME\"}")?;
    let _turn = admitted.turn().await?;
    let is_preview = request.dry_run;
    let approval = request.approval;
    let decided = {
        let hub = hub.clone();
        blocking(move || decide(&hub, request)).await?
    };
    let order = order(&decided, approval)?;
    let wish = Wish {
        package: order.package.clone(),
        channel: Some(order.channel.clone()),
        catalog: Some(order.catalog.clone()),
        version: order.version.clone(),
    };
    let query = ResolveQuery {
        subscriptions: vec![wish],
        namespace: Some(order.namespace.clone()),
        kube_version: None,
    };
    let Admitted { writer, token, .. } = &admitted;
    let installing = writer.install(token, order, extent(is_preview)).await?;
    let components = if is_preview {
        let turn = turns.resolving().await?;
        let resolve = move || {
            let _turn = turn;
            hub.resolve(&query)
        };
        blocking(resolve).await?
    } else {
        tracing::info!(
            namespace = installing.namespace,
            subscription = installing.subscription,
            "a visitor installs an operator"
        );
        Vec::new()
    };
    Ok(unkept(InstallAnswer {
        dry_run: is_preview,
        version: decided.version,
        installing,
        components,
    }))
}

fn decide(
    hub: &Hub,
    request: InstallRequest,
) -> Result<InstallManifests, crate::server::hub::Error> {
    let query = InstallQuery {
        channel: request.channel,
        version: request.version,
        namespace: request.namespace,
        install_mode: request.install_mode,
        approval: request.approval,
    };
    hub.install(&request.package, request.catalog.as_deref(), &query)
}

fn order(decided: &InstallManifests, approval: Option<Approval>) -> Result<InstallOrder, ApiError> {
    if decided.version.is_empty() && !decided.is_newest {
        let message = format!("`{}` has no version that could be held", decided.bundle);
        return Err(ApiError::new(Code::BadRequest, message));
    }
    Ok(InstallOrder {
        package: decided.package.clone(),
        catalog: decided.catalog.clone(),
        channel: decided.channel.clone(),
        version: (!decided.is_newest).then(|| decided.version.clone()),
        namespace: decided.namespace.clone(),
        install_mode: decided.install_mode,
        approval,
    })
}

/// Which plan may go ahead.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ApprovalRequest {
    /// The InstallPlan, so that nobody approves another one than they saw.
    #[schema(min_length = 1, max_length = 253)]
    install_plan: String,
}

/// Let an InstallPlan go ahead
#[utoipa::path(
    post, path = "/api/v1/installations/{namespace}/{subscription}/approve",
    operation_id = "approve_install_plan", tag = "writes",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("subscription" = String, Path, description = "The Subscription that waits for it"),
    ),
    request_body = ApprovalRequest, security(("token" = [])),
    responses((status = 200, body = Approved), Problems, WriteProblems),
)]
pub(super) async fn approve_install_plan(
    ApiPath((namespace, subscription)): ApiPath<(String, String)>,
    admitted: Admitted,
    asked: Asked,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    asked.only(&[])?;
    let hint = "send {\"installPlan\": \"NAME\"}";
    let request: ApprovalRequest = read(&asked.headers, body, hint)?;
    let _turn = admitted.turn().await?;
    let place = place(namespace, subscription)?;
    let plan = name(&request.install_plan)?;
    let Admitted { writer, token, .. } = &admitted;
    let approved = writer.approve(token, &place.namespace, plan).await?;
    tracing::info!(
        namespace = place.namespace,
        plan,
        "a visitor approves an InstallPlan"
    );
    Ok(unkept(approved))
}

/// Remove an operator
#[utoipa::path(
    post, path = "/api/v1/installations/{namespace}/{subscription}/uninstall",
    operation_id = "uninstall_operator", tag = "writes",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("subscription" = String, Path, description = "The Subscription"),
    ),
    request_body = RemovalWish, security(("token" = [])),
    responses((status = 200, body = Removing), Problems, WriteProblems),
)]
pub(super) async fn uninstall_operator(
    ApiPath((namespace, subscription)): ApiPath<(String, String)>,
    admitted: Admitted,
    asked: Asked,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    asked.only(&[])?;
    let wish: RemovalWish = read(&asked.headers, body, "send {\"dryRun\": true}")?;
    let _turn = admitted.turn().await?;
    for crd in &wish.delete_crds {
        name(crd)?;
    }
    let is_preview = wish.dry_run;
    let place = place(namespace, subscription)?;
    let Admitted { writer, token, .. } = &admitted;
    let removing = writer.uninstall(token, place, wish, extent(is_preview));
    let removing = removing.await?;
    if !is_preview {
        tracing::info!(
            namespace = removing.namespace,
            subscription = removing.subscription,
            "a visitor removes an operator"
        );
    }
    Ok(unkept(removing))
}

fn extent(is_preview: bool) -> Extent {
    if is_preview {
        Extent::Preview
    } else {
        Extent::Done
    }
}

fn place(namespace: String, subscription: String) -> Result<Place, ApiError> {
    name(&namespace)?;
    name(&subscription)?;
    Ok(Place {
        namespace,
        subscription,
    })
}

/// Refuses what cannot be the name of an object: it becomes a part of an address of the API server.
fn name(text: &str) -> Result<&str, ApiError> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_name = (1..=253).contains(&text.len())
        && text.chars().all(is_plain)
        && text.starts_with(ends)
        && text.ends_with(ends);
    if is_name {
        return Ok(text);
    }
    let message = format!("`{text}` cannot be the name of an object");
    Err(ApiError::new(Code::BadRequest, message))
}

/// An answer that nobody keeps.
fn unkept(answer: impl Serialize) -> Response {
    let mut response = Json(answer).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal.kind {
            RefusalKind::Unauthorized => Code::Unauthorized,
            RefusalKind::Forbidden => Code::Forbidden,
            RefusalKind::NotFound => Code::NotFound,
            RefusalKind::Conflict => Code::Conflict,
            RefusalKind::BadRequest => Code::BadRequest,
            RefusalKind::Unavailable => Code::Unavailable,
        };
        Self::new(code, refusal.message).hint(refusal.hint)
    }
}

#[cfg(test)]
mod tests {
    use super::name;
    use rstest::rstest;

    #[rstest]
    #[case("gopher", true)]
    #[case("gophers.example.com", true)]
    #[case("", false)]
    #[case("..", false)]
    #[case("a/b", false)]
    #[case("a?b", false)]
    #[case("Gopher", false)]
    #[case("-a", false)]
    fn a_name_leads_to_no_other_address(#[case] text: &str, #[case] is_name: bool) {
        assert_eq!(name(text).is_ok(), is_name);
    }
}
