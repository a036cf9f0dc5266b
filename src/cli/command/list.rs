//! `chandler list`

use kube::ResourceExt as _;
use serde::Serialize;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::subscription::Subscription;
use crate::cli::args::operate::List as Args;
use crate::cli::args::output::Output;
use crate::cli::cluster::Cluster;
use crate::cli::failure::Failure;
use crate::cli::printer::{self, visible};
use crate::cli::session::wait;
use crate::cli::standing::Standing;
use crate::cli::upgrade::Upgrade;

/// One operator.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    namespace: String,
    package: String,
    /// Empty for a ClusterServiceVersion that nobody asks for any more.
    subscription: String,
    version: String,
    #[serde(rename = "clusterServiceVersion")]
    csv: String,
    channel: String,
    catalog: String,
    health: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    upgrade: Option<Upgrade>,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let (subscriptions, csvs) = wait(async {
        let connected = Cluster::connect(args.kubeconfig.as_deref(), args.context.as_deref());
        let (cluster, _) = connected.await?;
        cluster.operators(args.namespace.as_deref()).await
    })?;
    let rows = rows(&subscriptions, &csvs);
    match args.output {
        Output::Text if rows.is_empty() => printer::data("no operators\n"),
        Output::Text if printer::on_terminal() => printer::data(&table(&rows)),
        Output::Text => printer::data(&rows.iter().map(line).collect::<String>()),
        structured => printer::structured(&rows, structured),
    }
}

fn rows(subscriptions: &[Subscription], csvs: &[ClusterServiceVersion]) -> Vec<Row> {
    let find = |namespace: &str, name: &str| {
        let mut csvs = csvs.iter();
        csvs.find(|csv| csv.namespace().as_deref() == Some(namespace) && csv.name_any() == name)
    };
    let mut rows = Vec::new();
    let mut running = Vec::new();
    for subscription in subscriptions {
        let namespace = subscription.namespace();
        let here = csvs.iter().filter(|csv| csv.namespace() == namespace);
        let standing = Standing::among(subscription, &here.collect::<Vec<_>>());
        let csv = find(&standing.namespace, &standing.running_csv);
        running.push((standing.namespace.clone(), standing.running_csv.clone()));
        rows.push(Row {
            health: standing.word().to_owned(),
            version: csv.map(|csv| csv.spec.version.clone()).unwrap_or_default(),
            upgrade: standing.upgrade,
            csv: standing.running_csv,
            namespace: standing.namespace,
            package: standing.package,
            subscription: standing.name,
            channel: standing.channel,
            catalog: standing.catalog,
        });
    }
    let is_asked_for = |csv: &ClusterServiceVersion| {
        let namespace = csv.namespace();
        let place = (namespace.clone().unwrap_or_default(), csv.name_any());
        let runs = running.contains(&place);
        let mut subscriptions = subscriptions.iter();
        runs || subscriptions.any(|it| {
            let status = it.status.clone().unwrap_or_default();
            let names = [status.installed_csv, status.current_csv];
            it.namespace() == namespace && names.contains(&csv.name_any())
        })
    };
    for csv in csvs.iter().filter(|csv| !is_asked_for(csv)) {
        rows.push(Row {
            namespace: csv.namespace().unwrap_or_default(),
            package: String::new(),
            subscription: String::new(),
            version: csv.spec.version.clone(),
            csv: csv.name_any(),
            channel: String::new(),
            catalog: String::new(),
            health: orphan(csv),
            upgrade: None,
        });
    }
    rows.sort_by(|a, b| {
        (&a.namespace, &a.package, &a.csv).cmp(&(&b.namespace, &b.package, &b.csv))
    });
    rows
}

/// How an operator is that has no Subscription.
fn orphan(csv: &ClusterServiceVersion) -> String {
    let status = csv.status.clone().unwrap_or_default();
    if csv.is_obsolete() {
        return "being replaced".to_owned();
    }
    format!("{}, without a Subscription", status.phase)
}

fn table(rows: &[Row]) -> String {
    let header = [
        "NAMESPACE",
        "PACKAGE",
        "VERSION",
        "CHANNEL",
        "HEALTH",
        "UPGRADE",
    ];
    let mut table = printer::table(header);
    for row in rows {
        let package = if row.package.is_empty() {
            &row.csv
        } else {
            &row.package
        };
        let upgrade = row.upgrade.as_ref().map(Upgrade::line).unwrap_or_default();
        let cells = [
            &row.namespace,
            package,
            &row.version,
            &row.channel,
            &row.health,
            &upgrade,
        ];
        table.add_row(cells.map(|cell| visible(cell).into_owned()));
    }
    format!("{table}\n")
}

fn line(row: &Row) -> String {
    let upgrade = row.upgrade.as_ref().map(Upgrade::line).unwrap_or_default();
    let fields = [
        &row.namespace,
        &row.package,
        &row.version,
        &row.csv,
        &row.channel,
        &row.health,
        &upgrade,
    ];
    let fields: Vec<String> = fields.map(|it| visible(it).into_owned()).to_vec();
    fields.join("\t") + "\n"
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn subscription(name: &str, status: &Value) -> Subscription {
        serde_json::from_value(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": name, "namespace": "port"},
            "spec": {"name": name, "source": "hub", "sourceNamespace": "olm", "channel": "stable"},
            "status": status,
        }))
        .unwrap()
    }

    fn csv(name: &str, phase: &str) -> ClusterServiceVersion {
        serde_json::from_value(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "metadata": {"name": name, "namespace": "port"},
            "spec": {"displayName": "", "install": {}, "version": "1.0.0"},
            "status": {"phase": phase},
        }))
        .unwrap()
    }

    #[test]
    fn an_operator_is_listed_with_its_version_and_one_that_nobody_asks_for_as_such() {
        let gopher = subscription(
            "gopher",
            &json!({
                "installedCSV": "gopher.v1", "currentCSV": "gopher.v1", "state": "AtLatestKnown",
                "conditions": [{"type": "Healthy", "status": "True"}],
            }),
        );
        let csvs = [csv("gopher.v1", "Succeeded"), csv("mole.v1", "Succeeded")];
        let lines: String = rows(&[gopher], &csvs).iter().map(line).collect();
        assert_eq!(
            lines,
            "port\t\t1.0.0\tmole.v1\t\tSucceeded, without a Subscription\t\n\
             port\tgopher\t1.0.0\tgopher.v1\tstable\thealthy\t\n"
        );
    }

    #[test]
    fn while_an_upgrade_is_held_the_version_that_runs_is_listed_with_what_holds_it() {
        let gopher = subscription(
            "gopher",
            &json!({"installedCSV": "gopher.v2", "currentCSV": "gopher.v2", "state": "AtLatestKnown"}),
        );
        let mut older = csv("gopher.v1", "Replacing");
        older.status.as_mut().unwrap().conditions =
            serde_json::from_value(json!([{"phase": "Succeeded"}])).unwrap();
        let mut newer = csv("gopher.v2", "Pending");
        newer.spec.version = "2.0.0".to_owned();
        newer.spec.replaces = "gopher.v1".to_owned();
        newer.status.as_mut().unwrap().message = "busy".to_owned();
        let lines: String = rows(&[gopher], &[older, newer]).iter().map(line).collect();
        assert_eq!(
            lines,
            "port\tgopher\t1.0.0\tgopher.v1\tstable\tinstalling\tgopher.v2: Pending: busy\n"
        );
    }
}
