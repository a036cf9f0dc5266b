//! What visitors of the page have done: as the commands do it, with the visitors' own rights.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use serde_json::Value;

use super::cluster::Cluster;
use super::failure::Failure;
use super::operations::approve::approve_plan;
use super::operations::install::{Order, Serves, prepare};
use super::operations::uninstall::{self, Uninstall};
use crate::server::hub::Approval;
use crate::server::hub::views::InstallModeName;
use crate::server::writes::{
    Approved, Extent, InstallOrder, Installing, ObjectName, Place, Refusal, RefusalKind,
    RemovalWish, Removing, Token, Visitor, Writer,
};
use crate::yaml;

/// Visitors of a cluster. Of ours only its address is used.
pub(super) struct Visitors(pub(super) Cluster);

impl Writer for Visitors {
    fn visitor<'w>(&'w self, token: &'w Token) -> BoxFuture<'w, Result<Visitor, Refusal>> {
        let found = async {
            let user = self.0.for_token(token.reveal())?.who_we_are().await?;
            Ok(Visitor {
                name: user.username.unwrap_or_default(),
                groups: user.groups.unwrap_or_default(),
            })
        };
        found
            .map(|found| found.map_err(|failure| refusal(&failure)))
            .boxed()
    }

    fn install<'w>(
        &'w self,
        token: &'w Token,
        order: InstallOrder,
        extent: Extent,
    ) -> BoxFuture<'w, Result<Installing, Refusal>> {
        let done = async move {
            let cluster = self.0.for_token(token.reveal())?;
            let prepared = prepare(&cluster, &wanted(&order)).await?;
            let object = |kind: &str, name: &str| ObjectName {
                kind: kind.to_owned(),
                namespace: match kind {
                    "Namespace" => String::new(),
                    _ => order.namespace.clone(),
                },
                name: name.to_owned(),
            };
            if extent == Extent::Done {
                prepared.make(&cluster).await?;
            }
            Ok(Installing {
                makes: prepared
                    .made()
                    .map(|(kind, name)| object(kind, name))
                    .collect(),
                keeps: prepared
                    .present
                    .iter()
                    .map(|(kind, name)| object(kind, name))
                    .collect(),
                yaml: documents(&prepared.missing)?,
                subscription: prepared.subscription,
                namespace: order.namespace.clone(),
            })
        };
        done.map(|done| done.map_err(|failure| refusal(&failure)))
            .boxed()
    }

    fn approve<'w>(
        &'w self,
        token: &'w Token,
        namespace: &'w str,
        install_plan: &'w str,
    ) -> BoxFuture<'w, Result<Approved, Refusal>> {
        let done = async move {
            let cluster = self.0.for_token(token.reveal())?;
            let plan = approve_plan(&cluster, namespace, install_plan).await?;
            Ok(Approved {
                install_plan: plan.name_any(),
                cluster_service_versions: plan.spec.cluster_service_version_names,
            })
        };
        done.map(|done| done.map_err(|failure| refusal(&failure)))
            .boxed()
    }

    fn uninstall<'w>(
        &'w self,
        token: &'w Token,
        place: Place,
        wish: RemovalWish,
        extent: Extent,
    ) -> BoxFuture<'w, Result<Removing, Refusal>> {
        let done = async move {
            let cluster = self.0.for_token(token.reveal())?;
            let asked = uninstall::Extent {
                everything: wish.everything,
                dependencies: wish.prune_dependencies,
                crds: wish.delete_crds,
            };
            let Place {
                namespace,
                subscription,
            } = place;
            let removal = Uninstall::prepare(&cluster, &namespace, &subscription, &asked).await?;
            if extent == Extent::Done {
                removal.begin(&cluster).await?;
            }
            Ok(removal.preview.view())
        };
        done.map(|done| done.map_err(|failure| refusal(&failure)))
            .boxed()
    }
}

fn wanted(order: &InstallOrder) -> Order {
    Order {
        package: order.package.clone(),
        namespace: order.namespace.clone(),
        channel: Some(order.channel.clone()),
        catalog: Some(order.catalog.clone()),
        version: order.version.clone(),
        approval: order.approval.map(|approval| {
            let word = match approval {
                Approval::Automatic => "Automatic",
                Approval::Manual => "Manual",
            };
            word.to_owned()
        }),
        serves: match order.install_mode {
            InstallModeName::AllNamespaces => Serves::All,
            InstallModeName::OwnNamespace => Serves::Own,
            InstallModeName::SingleNamespace | InstallModeName::MultiNamespace => Serves::Chosen,
        },
        create_namespace: true,
    }
}

fn documents(objects: &[Value]) -> Result<String, Failure> {
    let mut texts = Vec::new();
    for object in objects {
        texts.push(yaml::to_string(object).map_err(Failure::outside)?);
    }
    Ok(texts.join("---\n"))
}

/// A failure for somebody who sees no command.
fn refusal(failure: &Failure) -> Refusal {
    let kind = match failure.api_code() {
        Some(401) => RefusalKind::Unauthorized,
        Some(403) => RefusalKind::Forbidden,
        Some(404) => RefusalKind::NotFound,
        Some(409) => RefusalKind::Conflict,
        Some(400 | 422) => RefusalKind::BadRequest,
        None if failure.is_no() => RefusalKind::Conflict,
        None if failure.is_usage() => RefusalKind::BadRequest,
        Some(_) | None => RefusalKind::Unavailable,
    };
    let hint = match kind {
        RefusalKind::Unauthorized => {
            "sign in with a token that this cluster knows and that has not expired"
        }
        _ => failure.next_step(),
    };
    Refusal {
        kind,
        message: failure.words(),
        hint: hint.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(401, RefusalKind::Unauthorized)]
    #[case(403, RefusalKind::Forbidden)]
    #[case(409, RefusalKind::Conflict)]
    #[case(422, RefusalKind::BadRequest)]
    #[case(500, RefusalKind::Unavailable)]
    fn what_the_api_server_refuses_is_told_in_its_words(
        #[case] code: u16,
        #[case] kind: RefusalKind,
    ) {
        let status = kube::core::Status::failure("no way", "Reason").with_code(code);
        let error = Err::<(), _>(kube::Error::Api(Box::new(status)))
            .context("the Subscription cannot be made")
            .unwrap_err();
        let refusal = refusal(&Failure::outside(error));
        assert_eq!(refusal.kind, kind);
        assert_eq!(refusal.message, "the Subscription cannot be made: no way");
    }

    #[test]
    fn what_does_not_fit_what_is_there_is_a_conflict() {
        let failure = Failure::no(anyhow::anyhow!("it is there already")).hint("change it");
        let refusal = refusal(&failure);
        assert_eq!(refusal.kind, RefusalKind::Conflict);
        assert_eq!(refusal.hint, "change it");
    }
}
