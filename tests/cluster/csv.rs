//! The API server takes real ClusterServiceVersions and gives back what it got.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::plan::{Placement, prepare};
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::case::{Case, on_cluster};
use crate::support::csv::{Csv, each_real, fixtures, is_unknown_to_olm, lost, package};

#[tokio::test]
async fn the_api_server_returns_the_spec_of_our_fixtures() {
    on_cluster(async |case| {
        let changed = round_trip(case, fixtures()?).await?;
        let expected = [
            ".customresourcedefinitions.owned[].specDescriptors[].x-descriptios",
            ".miniKubeVersion",
        ];
        assert_eq!(changed.into_keys().collect::<Vec<_>>(), expected);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn the_api_server_returns_the_spec_of_one_real_csv_per_package() {
    on_cluster(async |case| {
        let mut newest: BTreeMap<String, Csv> = BTreeMap::new();
        if !each_real(&case.name, |csv| {
            newest.insert(package(&csv.path), csv);
        })? {
            return Ok(());
        }
        ensure!(
            newest.len() > 70,
            "only {} packages were found",
            newest.len()
        );
        let changed = round_trip(case, newest.into_values().collect()).await?;
        let unexpected: BTreeMap<_, _> = changed
            .iter()
            .filter(|(path, _)| !is_unknown_to_olm(path))
            .collect();
        ensure!(unexpected.is_empty(), "{unexpected:#?}");
        Ok(())
    })
    .await;
}

/// Creates each of them, and collects what comes back otherwise than it was sent.
async fn round_trip(case: &Case, csvs: Vec<Csv>) -> anyhow::Result<BTreeMap<String, String>> {
    let namespace = case.namespace().await?;
    let resource = ApiResource::erase::<ClusterServiceVersion>(&());
    let untyped = Api::<DynamicObject>::namespaced_with(case.client.clone(), &namespace, &resource);
    let mut changed = BTreeMap::new();
    for csv in csvs {
        // As a plan writes it: fields that the schema requires and authors leave out are written. What
        // comes back is read past our types, lest they hide a loss.
        let placement = Placement {
            namespace: &namespace,
            csv: "",
            csv_uid: None,
            namespaced: true,
            package: None,
            converted_crds: &[],
        };
        let mut object = prepare(csv.object.clone(), placement)?.context("a CSV is written")?;
        let name = object["metadata"]["name"].clone();
        object["metadata"] = json!({ "name": name });
        let object: DynamicObject = serde_json::from_value(object)?;
        let name = object.name_any();
        untyped
            .create(&PostParams::default(), &object)
            .await
            .map_err(|error| anyhow::anyhow!("{}: {error}", csv.path))?;
        let returned: Value = untyped.get(&name).await?.data["spec"].take();
        for (path, change) in lost(&csv.object["spec"], &returned) {
            changed
                .entry(path)
                .or_insert(format!("{change} in {}", csv.path));
        }
        // And nothing may come back that nobody wrote, but for the defaults that OLM has too.
        for (path, change) in lost(&returned, &csv.object["spec"]) {
            if !OLM_DEFAULTS.contains(&path.as_str()) && !changed.contains_key(&path) {
                changed.insert(format!("added {path}"), format!("{change} in {}", csv.path));
            }
        }
    }
    Ok(changed)
}

/// Fields that the API server fills in, with OLM's schema as with ours.
const OLM_DEFAULTS: [&str; 1] = [".webhookdefinitions[].containerPort"];
