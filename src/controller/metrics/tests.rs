use serde_json::json;

use super::*;

fn subscription(namespace: &str, installed: &str) -> Subscription {
    serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
        "metadata": {"name": "ship", "namespace": namespace},
        "spec": {
            "name": "ship", "channel": "stable", "source": "hub", "sourceNamespace": "olm",
            "installPlanApproval": "Manual",
        },
        "status": {"installedCSV": installed, "lastUpdated": "2026-01-01T00:00:00Z"},
    }))
    .unwrap()
}

fn syncs(metrics: &Metrics) -> Vec<String> {
    let text = metrics.encode(&Census::default());
    let lines = text.lines().map(str::to_owned);
    lines
        .filter(|line| line.starts_with("subscription_sync_total"))
        .collect()
}

#[test]
fn every_metric_of_olm_about_catalogs_subscriptions_and_plans_is_told() {
    let metrics = Metrics::new();
    metrics.resolved(true, Duration::from_secs(1));
    metrics.synced("port", &[subscription("port", "ship.v1")]);
    let catalog = Object {
        namespace: "olm".into(),
        name: "hub".into(),
    };
    let snapshots = &metrics.catalog_source_snapshots;
    snapshots.get_or_create(&catalog).inc();
    let text = metrics.encode(&Census {
        subscriptions: 1,
        install_plans: 2,
        catalogs: vec![CatalogState {
            object: catalog,
            is_ready: true,
            digest: None,
        }],
        csvs: Vec::new(),
    });
    for line in [
        "install_plan_count 2",
        "subscription_count 1",
        "catalog_source_count 1",
        "catalogsource_ready{namespace=\"olm\",name=\"hub\"} 1",
        "catalog_source_snapshots_total{namespace=\"olm\",name=\"hub\"} 1",
        "subscription_sync_total{name=\"ship\",installed=\"ship.v1\",channel=\"stable\",package=\"ship\",approval=\"Manual\"} 1",
        "olm_resolution_duration_seconds{outcome=\"succeeded\",quantile=\"0.95\"} 1.0",
        "olm_resolution_duration_seconds_count{outcome=\"succeeded\"} 1",
        "installplan_warnings_total 0",
    ] {
        assert!(
            text.lines().any(|it| it == line),
            "{line} is not in\n{text}"
        );
    }
    assert!(text.ends_with("\n# EOF\n"), "{text}");
    assert_eq!(text.matches("# EOF").count(), 1);
}

fn csv(name: &str, phase: CsvPhase, reason: CsvReason) -> CsvState {
    CsvState {
        object: Object {
            namespace: "port".into(),
            name: name.into(),
        },
        version: "1.0.0".into(),
        phase,
        reason,
    }
}

/// The lines about CSVs, without comments.
fn about_csvs(metrics: &Metrics, csvs: Vec<CsvState>) -> Vec<String> {
    let text = metrics.encode(&Census {
        csvs,
        ..Census::default()
    });
    let lines = text.lines().filter(|line| line.starts_with("csv_"));
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn every_metric_of_olm_about_csvs_is_told_under_its_name() {
    let metrics = Metrics::new();
    metrics.csv_upgrades.inc();
    let csvs = vec![
        csv("ship.v1", CsvPhase::Succeeded, CsvReason::InstallSucceeded),
        csv("boat.v1", CsvPhase::Failed, CsvReason::NoOperatorGroup),
        csv("new.v1", CsvPhase::Unset, CsvReason::default()),
    ];
    let boat = "namespace=\"port\",name=\"boat.v1\",version=\"1.0.0\"";
    let ship = boat.replace("boat", "ship");
    let expected = [
        format!("csv_abnormal{{{boat},phase=\"Failed\",reason=\"NoOperatorGroup\"}} 1"),
        "csv_count 3".to_owned(),
        format!("csv_succeeded{{{boat}}} 0"),
        format!("csv_succeeded{{{ship}}} 1"),
        "csv_upgrade_count 1".to_owned(),
    ];
    assert_eq!(about_csvs(&metrics, csvs), expected);
    // What is gone is told no longer.
    let expected = ["csv_count 0", "csv_upgrade_count 1"];
    assert_eq!(about_csvs(&metrics, Vec::new()), expected);
}

#[test]
fn a_subscription_has_one_counter_and_none_when_it_is_gone() {
    let metrics = Metrics::new();
    metrics.synced("port", &[subscription("port", "")]);
    metrics.synced("port", &[subscription("port", "ship.v1")]);
    metrics.synced("port", &[subscription("port", "ship.v1")]);
    let [line] = syncs(&metrics).try_into().unwrap();
    assert!(
        line.contains("installed=\"ship.v1\"") && line.ends_with("} 2"),
        "{line}"
    );
    metrics.synced("port", &[]);
    assert_eq!(syncs(&metrics), [""; 0]);
}

#[test]
fn subscriptions_of_one_name_in_two_namespaces_share_a_counter() {
    let metrics = Metrics::new();
    metrics.synced("port", &[subscription("port", "ship.v1")]);
    metrics.synced("dock", &[subscription("dock", "ship.v1")]);
    metrics.synced("dock", &[]);
    let [line] = syncs(&metrics).try_into().unwrap();
    assert!(line.ends_with("} 2"), "{line}");
}
