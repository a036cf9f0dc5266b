//! Every ClusterServiceVersion can be read, and what is written back says the same.

use std::collections::BTreeMap;

use chandler::api::cluster_service_version::ClusterServiceVersion;
use serde_json::Value;

use crate::support::csv::{Csv, each_real, fixtures, lost};

fn read_and_write(csv: &Csv) -> Result<Value, String> {
    let typed: ClusterServiceVersion = serde_json::from_value(csv.object.clone())
        .map_err(|error| format!("{}: {error}", csv.path))?;
    serde_json::to_value(&typed).map_err(|error| format!("{}: {error}", csv.path))
}

#[test]
fn our_fixtures_keep_everything_but_the_fields_that_nobody_knows() {
    for csv in fixtures().unwrap() {
        let written = read_and_write(&csv).unwrap();
        let lost: Vec<String> = lost(&csv.object["spec"], &written["spec"])
            .into_keys()
            .collect();
        let unknown: &[&str] = if csv.path.contains("odd") {
            &[
                ".customresourcedefinitions.owned[].specDescriptors[].x-descriptios",
                ".miniKubeVersion",
            ]
        } else {
            &[]
        };
        assert_eq!(lost, unknown, "{}", csv.path);
    }
}

#[test]
fn every_real_csv_of_all_versions_decodes() {
    let test = "every_real_csv_of_all_versions_decodes";
    let (mut read, mut failures) = (0, Vec::new());
    let mut lost_paths: BTreeMap<String, String> = BTreeMap::new();
    let found = each_real(test, |csv| match read_and_write(&csv) {
        Ok(written) => {
            read += 1;
            for (path, change) in lost(&csv.object["spec"], &written["spec"]) {
                lost_paths
                    .entry(path)
                    .or_insert(format!("{} in {}", change, csv.path));
            }
        }
        Err(error) => failures.push(error),
    })
    .unwrap();
    if !found {
        return;
    }
    assert_eq!(failures, Vec::<String>::new());
    assert!(read > 1_000, "only {read} were found");
    let unexpected: BTreeMap<_, _> = lost_paths
        .iter()
        .filter(|(path, _)| !crate::support::csv::is_unknown_to_olm(path))
        .collect();
    assert!(unexpected.is_empty(), "lost: {unexpected:#?}");
}
