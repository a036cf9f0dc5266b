use super::*;

/// A version that was made on this day of January.
fn csv(day: u32, name: &str, replaces: &str, phase: &str) -> ClusterServiceVersion {
    serde_json::from_value(json!({
        "metadata": {
            "name": name, "uid": format!("{name}-uid"), "namespace": "ns",
            "creationTimestamp": format!("2026-01-{day:02}T00:00:00Z"),
        },
        "spec": {"replaces": replaces},
        "status": {"phase": phase},
    }))
    .unwrap()
}

fn deleted(mut csv: ClusterServiceVersion) -> ClusterServiceVersion {
    csv.metadata.deletion_timestamp = csv.metadata.creation_timestamp.clone();
    csv
}

/// What a plan of the tenth of January does that brings a version which is to replace another.
fn done(csvs: &[ClusterServiceVersion], name: &str, replaces: &str) -> String {
    done_where(csvs, name, replaces, false)
}

fn done_where(
    csvs: &[ClusterServiceVersion],
    name: &str,
    replaces: &str,
    fails_forward: bool,
) -> String {
    let asked = json!({"metadata": {"name": name}, "spec": {"replaces": replaces}});
    let plan: InstallPlan = serde_json::from_value(json!({
        "metadata": {"name": "install-a", "creationTimestamp": "2026-01-10T00:00:00Z"},
        "spec": {"approval": "Automatic", "approved": true, "clusterServiceVersionNames": [name]},
    }))
    .unwrap();
    let names = |csvs: Vec<&ClusterServiceVersion>| {
        let names: Vec<String> = csvs.into_iter().map(kube::ResourceExt::name_any).collect();
        names.join(" ")
    };
    match place(&Lineage::new(csvs), &asked, &plan, fails_forward) {
        Place::Free => "goes on".to_owned(),
        Place::Leaves(older) => format!("waits for {}", names(older)),
        Place::Taken(newer) => format!("deletes {}", names(newer)),
    }
}

#[test]
fn only_what_was_to_replace_a_version_gives_its_place_back() {
    let csvs = [
        csv(1, "v1", "", "Replacing"),
        csv(2, "v2", "v1", "Failed"),
        csv(3, "v3", "v2", "Pending"),
    ];
    assert_eq!(done(&csvs, "v1", "v3"), "deletes v2 v3");
    assert_eq!(done(&csvs, "v2", "v3"), "deletes v3");
    // A plan that is carried out again.
    assert_eq!(done(&csvs, "v3", "v2"), "goes on");
    assert_eq!(done(&csvs, "v1", ""), "goes on");
    // One of that name that nobody has heard of yet.
    assert_eq!(done(&csvs, "another", "v3"), "goes on");
}

#[test]
fn a_version_that_has_taken_over_is_not_deleted_by_a_plan_that_goes_back() {
    let older = || csv(1, "v1", "", "Replacing");
    for phase in ["Pending", "InstallReady", "Installing", "Failed"] {
        let csvs = [older(), csv(2, "v2", "v1", phase)];
        assert_eq!(done(&csvs, "v1", "v2"), "deletes v2", "{phase}");
    }
    let runs = [older(), csv(2, "v2", "v1", "Succeeded")];
    assert_eq!(done(&runs, "v1", "v2"), "waits for v1");
    // It ran, and is being replaced itself.
    let mut ran = csv(2, "v2", "v1", "Replacing");
    let history = json!([{"phase": "Succeeded"}]);
    ran.status.get_or_insert_default().conditions = serde_json::from_value(history).unwrap();
    let csvs = [older(), ran, csv(3, "v3", "v2", "Failed")];
    assert_eq!(done(&csvs, "v1", "v3"), "waits for v1");
    assert_eq!(done(&csvs, "v2", "v3"), "deletes v3");
    // Beside one that does not run.
    let csvs = [
        older(),
        csv(2, "v2", "v1", "Failed"),
        csv(3, "v3", "v1", "Pending"),
        csv(4, "v4", "v3", "Succeeded"),
    ];
    assert_eq!(done(&csvs, "v1", "v4"), "waits for v1");
}

#[test]
fn with_fail_forward_the_last_version_says_whether_one_was_replaced() {
    let with = |last: &str| {
        let mut ran = csv(2, "v2", "v1", "Replacing");
        let history = json!([{"phase": "Succeeded"}]);
        ran.status.get_or_insert_default().conditions = serde_json::from_value(history).unwrap();
        let csvs = [csv(1, "v1", "", "Replacing"), ran, csv(3, "v3", "v2", last)];
        done_where(&csvs, "v1", "v3", true)
    };
    assert_eq!(with("Failed"), "deletes v2 v3");
    assert_eq!(with("Succeeded"), "waits for v1");
}

#[test]
fn a_plan_writes_nothing_for_a_version_that_is_on_its_way_out() {
    let next = || csv(2, "v2", "v1", "Failed");
    let going = [deleted(csv(1, "v1", "", "Replacing")), next()];
    assert_eq!(done(&going, "v1", "v2"), "waits for v1");
    let about_to = [csv(1, "v1", "", "Deleting"), next()];
    assert_eq!(done(&about_to, "v1", "v2"), "waits for v1");
    // Whatever the plan is for.
    let alone = [deleted(csv(1, "v1", "", "Succeeded"))];
    assert_eq!(done(&alone, "v1", ""), "waits for v1");
    // It goes only after the one before it.
    let stuck = [
        deleted(csv(1, "v0", "", "Replacing")),
        csv(2, "v1", "v0", "Replacing"),
        csv(3, "v2", "v1", "Succeeded"),
    ];
    assert_eq!(done(&stuck, "v1", "v2"), "waits for v1 v0");
}

#[test]
fn a_version_that_was_deleted_has_not_taken_over() {
    let csvs = [
        csv(1, "v1", "", "Replacing"),
        deleted(csv(2, "v2", "v1", "Succeeded")),
    ];
    assert_eq!(done(&csvs, "v1", "v2"), "deletes v2");
}

#[test]
fn going_back_by_two_versions_waits_for_both_also_if_the_last_one_goes_first() {
    let csvs = [csv(1, "v1", "", "Replacing"), csv(2, "v2", "v1", "Failed")];
    assert_eq!(done(&csvs, "v1", "v3"), "deletes v2");
    assert_eq!(done(&csvs[..1], "v1", "v3"), "goes on");
}

#[test]
fn what_the_plan_made_itself_keeps_those_that_came_after_it() {
    // What it replaced is gone, and somebody has made the next one.
    let csvs = [
        csv(10, "v1", "v3", "Replacing"),
        csv(11, "v2", "v1", "Failed"),
    ];
    assert_eq!(done(&csvs, "v1", "v3"), "goes on");
}

#[test]
fn a_version_that_came_back_replaces_the_newer_one_in_the_usual_way() {
    let csvs = [
        csv(1, "v2", "v1", "Replacing"),
        csv(2, "v1", "v2", "Failed"),
    ];
    assert_eq!(done(&csvs, "v1", "v2"), "goes on");
    // And if that comes to nothing, the newer one is still there.
    assert_eq!(done(&csvs, "v2", "v1"), "deletes v1");
}
