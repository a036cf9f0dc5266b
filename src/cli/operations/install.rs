//! A Subscription, and what has to be there for it.

mod agreement;

use anyhow::anyhow;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::api::catalog_source::CatalogSource;
use crate::api::operator_group::OperatorGroup;
use crate::api::subscription::Subscription;
use crate::cli::args::plan::GLOBAL_NAMESPACES;
use crate::cli::cluster::Cluster;
use crate::cli::failure::Failure;
use agreement::Differences;

/// What is to be installed, and how.
#[derive(Debug, Clone, Default)]
pub(in crate::cli) struct Order {
    /// The package.
    pub(in crate::cli) package: String,
    /// The namespace it goes to.
    pub(in crate::cli) namespace: String,
    /// The channel; the package's default channel otherwise.
    pub(in crate::cli) channel: Option<String>,
    /// The catalog, with its namespace before a `/` if that is another one; the only one otherwise.
    pub(in crate::cli) catalog: Option<String>,
    /// A version or a range that is held for ever.
    pub(in crate::cli) version: Option<String>,
    /// What goes ahead without being asked.
    pub(in crate::cli) approval: Option<String>,
    /// Whom an OperatorGroup serves that has to be made.
    pub(in crate::cli) serves: Serves,
    /// Whether to make the namespace if it is missing.
    pub(in crate::cli) create_namespace: bool,
}

/// Whom an operator serves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::cli) enum Serves {
    /// Its own namespace.
    #[default]
    Own,
    /// The whole cluster.
    All,
    /// Namespaces that somebody has to choose: no OperatorGroup is made for that.
    Chosen,
}

/// What it takes to carry an order out.
#[derive(Debug)]
pub(in crate::cli) struct Preparation {
    /// The name of the Subscription.
    pub(in crate::cli) subscription: String,
    /// What has to be made, in this order.
    pub(in crate::cli) missing: Vec<Value>,
    /// What is there already and stays as it is: kinds with names.
    pub(in crate::cli) present: Vec<(&'static str, String)>,
    namespace: String,
}

/// Looks what there is. A Subscription that says something else is left alone.
pub(in crate::cli) async fn prepare(
    cluster: &Cluster,
    order: &Order,
) -> Result<Preparation, Failure> {
    let namespace = order.namespace.as_str();
    let mut prepared = Preparation {
        subscription: order.package.clone(),
        missing: Vec::new(),
        present: Vec::new(),
        namespace: namespace.to_owned(),
    };
    let existing = cluster.find_subscription(namespace, &order.package).await?;
    let catalog = match (&order.catalog, &existing) {
        (Some(name), _) => Some(name.clone()),
        (None, Some(_)) => None,
        (None, None) => Some(only_catalog(cluster, namespace).await?),
    };
    if let Some(existing) = &existing {
        agree(existing, order, catalog.as_deref())?;
    }
    if order.create_namespace && existing.is_none() && cluster.lacks_namespace(namespace).await? {
        prepared.missing.push(json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace},
        }));
    }
    let groups = cluster.operator_groups(namespace).await?;
    if groups.is_empty() {
        prepared.missing.push(group(order)?);
    }
    let groups = groups.iter().map(|it| ("OperatorGroup", it.name_any()));
    prepared.present.extend(groups);
    match (existing, catalog) {
        (None, Some(catalog)) => prepared.missing.push(subscription(order, &catalog)),
        (Some(existing), _) => {
            prepared.subscription = existing.name_any();
            let name = existing.name_any();
            prepared.present.push(("Subscription", name));
        }
        // Whoever has no Subscription has chosen a catalog.
        (None, None) => {}
    }
    Ok(prepared)
}

impl Preparation {
    /// Makes what is missing.
    pub(in crate::cli) async fn make(&self, cluster: &Cluster) -> Result<(), Failure> {
        for object in &self.missing {
            cluster.create(&self.namespace, object.clone()).await?;
        }
        Ok(())
    }

    /// Each missing object as its kind and its name.
    pub(in crate::cli) fn made(&self) -> impl Iterator<Item = (&str, &str)> {
        self.missing.iter().map(|object| {
            let kind = object["kind"].as_str().unwrap_or_default();
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            (kind, name)
        })
    }
}

/// Refuses to go on with a Subscription that says something else.
fn agree(existing: &Subscription, order: &Order, catalog: Option<&str>) -> Result<(), Failure> {
    let differences = Differences::of(existing, order, catalog);
    if differences.told.is_empty() {
        return Ok(());
    }
    Err(Failure::no(anyhow!(
        "Subscription {} is there already, and says something else: {}",
        existing.name_any(),
        differences.told.join("; ")
    ))
    .hint(format!(
        "leave those arguments out, or change it: `{}`",
        differences.command(existing)
    )))
}

/// Whether Subscriptions of a namespace may name a catalog: its own ones, and the global ones unless
/// it keeps them out.
fn may_use(namespace: &str, excludes_global: bool, catalog: &CatalogSource) -> bool {
    let own = catalog.namespace().unwrap_or_default();
    own == namespace || (!excludes_global && GLOBAL_NAMESPACES.contains(&own.as_str()))
}

/// The catalog, if there is no choice.
async fn only_catalog(cluster: &Cluster, namespace: &str) -> Result<String, Failure> {
    let mut catalogs = cluster.catalogs().await?;
    let groups = cluster.operator_groups(namespace).await?;
    let excludes_global = groups.iter().any(OperatorGroup::excludes_global);
    let all = catalogs.len();
    catalogs.retain(|catalog| may_use(namespace, excludes_global, catalog));
    let name = |catalog: &CatalogSource| {
        format!(
            "{}/{}",
            catalog.namespace().unwrap_or_default(),
            catalog.name_any()
        )
    };
    match catalogs.as_slice() {
        [] if all > 0 => Err(Failure::no(anyhow!(
            "namespace {namespace} may use none of the cluster's {all} catalogs"
        ))
        .hint(format!(
            "make one in it or in a namespace whose catalogs are for all ({}); if Chandler runs with \
             others, name one: `--catalog NAMESPACE/NAME`",
            GLOBAL_NAMESPACES.join(", ")
        ))),
        [] => Err(
            Failure::no(anyhow!("there is no CatalogSource in the cluster"))
                .hint("make one that names a catalog image, then install from it"),
        ),
        [only] => Ok(name(only)),
        several => {
            let names: Vec<String> = several.iter().map(name).collect();
            Err(
                Failure::usage(anyhow!("there are several catalogs: {}", names.join(", "))).hint(
                    format!(
                        "choose one: `--catalog {}` (namespace {namespace})",
                        names[0]
                    ),
                ),
            )
        }
    }
}

fn group(order: &Order) -> Result<Value, Failure> {
    let namespace = &order.namespace;
    let spec = match order.serves {
        Serves::All => json!({}),
        Serves::Own => json!({"targetNamespaces": [namespace]}),
        Serves::Chosen => {
            return Err(Failure::no(anyhow!(
                "namespace {namespace} has no OperatorGroup that says which namespaces the operator serves"
            ))
            .hint("make one that names them, then install it"));
        }
    };
    Ok(json!({
        "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
        "metadata": {"name": namespace, "namespace": namespace}, "spec": spec,
    }))
}

fn subscription(order: &Order, catalog: &str) -> Value {
    let namespace = order.namespace.as_str();
    let (source_namespace, source) = catalog.split_once('/').unwrap_or((namespace, catalog));
    let mut spec = json!({
        "name": order.package, "source": source, "sourceNamespace": source_namespace,
    });
    if let Some(channel) = &order.channel {
        spec["channel"] = json!(channel);
    }
    if let Some(version) = &order.version {
        spec["version"] = json!(version);
    }
    if let Some(approval) = &order.approval {
        spec["policy"] = json!({"approval": approval});
    }
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
        "metadata": {"name": order.package, "namespace": namespace}, "spec": spec,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("port", false, true)]
    #[case("olm", false, true)]
    #[case("olm", true, false)]
    #[case("elsewhere", false, false)]
    fn a_namespace_may_use_its_own_catalogs_and_the_global_ones(
        #[case] catalog: &str,
        #[case] excludes_global: bool,
        #[case] may: bool,
    ) {
        let mut object = CatalogSource::default();
        object.metadata.namespace = Some(catalog.to_owned());
        assert_eq!(may_use("port", excludes_global, &object), may);
    }

    #[test]
    fn nobody_guesses_which_namespaces_an_operator_is_to_serve() {
        let order = |serves| Order {
            package: "gopher".to_owned(),
            namespace: "port".to_owned(),
            serves,
            ..Order::default()
        };
        assert_eq!(group(&order(Serves::All)).unwrap()["spec"], json!({}));
        assert_eq!(
            group(&order(Serves::Own)).unwrap()["spec"],
            json!({"targetNamespaces": ["port"]})
        );
        assert!(group(&order(Serves::Chosen)).is_err());
    }
}
