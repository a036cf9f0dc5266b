//! `chandler history`

mod installed;
mod lost;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use serde::Serialize;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::{InstallPlanConditionType, InstallPlanPhase};
use crate::api::install_plan::{Approval, InstallPlan};
use crate::api::labels;
use crate::api::subscription::Subscription;
use crate::cli::args::operate::History as Args;
use crate::cli::args::output::Output;
use crate::cli::cluster::Cluster;
use crate::cli::failure::Failure;
use crate::cli::printer::{self, visible};
use crate::cli::session::wait;
use crate::plan::retention;

use lost::Lost;

/// One InstallPlan, or what is installed without one.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    install_plan: String,
    generation: i64,
    /// When it was made.
    made: Option<Time>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<Time>,
    cluster_service_versions: Vec<String>,
    /// The Subscriptions that it is for.
    asked_by: Vec<String>,
    approval: String,
    outcome: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    /// Whether there may have been others right before it that nothing is left of.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    older_may_be_missing: bool,
}

/// What is told of a Subscription.
struct History {
    entries: Vec<Entry>,
    /// Whether nothing is left of some.
    is_partial: bool,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let history = wait(async {
        let (cluster, namespace) = Cluster::at(&args.place).await?;
        let subscription = cluster.subscription(&namespace, &args.name).await?;
        let plans = cluster.install_plans(&namespace).await?;
        let csvs = cluster.csvs(&namespace).await?;
        let history = history(&subscription, &plans, &csvs);
        Ok((history, plans.len()))
    })?;
    let (history, plans) = history;
    let entries = &history.entries;
    if history.is_partial {
        printer::say(&why_partial(entries, plans));
    }
    match args.output {
        Output::Text if entries.is_empty() => printer::data(nothing(history.is_partial)),
        Output::Text if printer::on_terminal() => printer::data(&table(entries)),
        Output::Text => printer::data(&entries.iter().map(line).collect::<String>()),
        structured => printer::structured(entries, structured),
    }
}

/// What may be missing, and why, by how many plans are left: none goes for its age unless there are many.
fn why_partial(entries: &[Entry], plans: usize) -> String {
    let is_older = entries
        .first()
        .is_none_or(|first| first.older_may_be_missing);
    let what = if is_older { "older entries" } else { "entries" };
    let why = if plans < retention::KEPT {
        "InstallPlans of the namespace are gone, which may have been for other operators".to_owned()
    } else {
        format!(
            "no more than the {} newest InstallPlans of a namespace are kept, and those that are in use",
            retention::KEPT
        )
    };
    format!("{what} may be missing: {why}")
}

fn nothing(is_partial: bool) -> &'static str {
    if is_partial {
        "nothing is left of what was installed for it\n"
    } else {
        "nothing was installed for it so far\n"
    }
}

/// What was installed, as far as anything tells of it.
fn history(
    subscription: &Subscription,
    plans: &[InstallPlan],
    csvs: &[ClusterServiceVersion],
) -> History {
    let mut entries = entries(subscription, plans);
    let lost = Lost::of(subscription, plans);
    let generations: Vec<i64> = entries.iter().map(|entry| entry.generation).collect();
    for (entry, gap) in entries.iter_mut().zip(lost.before_each(&generations)) {
        entry.older_may_be_missing = gap;
    }
    if let Some(mut untold) = installed::untold(subscription, csvs, &entries) {
        let later = entries
            .iter()
            .position(|entry| entry.made > untold.made)
            .unwrap_or(entries.len());
        // What is installed without a plan came out of the gap, of which the beginning may be missing still.
        untold.older_may_be_missing = match entries.get_mut(later) {
            Some(next) => std::mem::take(&mut next.older_may_be_missing),
            None => lost.any(),
        };
        entries.insert(later, untold);
    }
    History {
        entries,
        is_partial: lost.any(),
    }
}

/// The plans of a Subscription, the oldest first. A few are kept, and older ones are gone.
fn entries(subscription: &Subscription, plans: &[InstallPlan]) -> Vec<Entry> {
    let uid = subscription.uid();
    let status = subscription.status.clone().unwrap_or_default();
    let named = status.install_plan_ref.and_then(|it| it.name);
    let made_by = subscription.annotations().get(labels::GENERATED_BY);
    let is_of = |plan: &&InstallPlan| {
        let mut owners = plan.owner_references().iter();
        let name = plan.name_any();
        owners.any(|owner| Some(&owner.uid) == uid.as_ref())
            || named.as_ref() == Some(&name)
            || made_by == Some(&name)
    };
    let mut entries: Vec<Entry> = plans.iter().filter(is_of).map(entry).collect();
    entries.sort_by(|a, b| (a.generation, &a.install_plan).cmp(&(b.generation, &b.install_plan)));
    entries
}

fn entry(plan: &InstallPlan) -> Entry {
    let status = plan.status.clone().unwrap_or_default();
    let is_over = matches!(
        status.phase,
        InstallPlanPhase::Complete | InstallPlanPhase::Failed
    );
    let installed = status.condition(&InstallPlanConditionType::Installed);
    Entry {
        install_plan: plan.name_any(),
        generation: plan.spec.generation,
        made: plan.creation_timestamp(),
        ended: installed
            .filter(|_| is_over)
            .and_then(|it| it.last_transition_time.clone()),
        cluster_service_versions: plan.spec.cluster_service_version_names.clone(),
        asked_by: plan
            .owner_references()
            .iter()
            .map(|owner| owner.name.clone())
            .collect(),
        approval: approval(plan),
        outcome: outcome(&status.phase).to_owned(),
        message: told(plan),
        older_may_be_missing: false,
    }
}

/// How it was approved, and by whom, as far as the API server noted that.
fn approval(plan: &InstallPlan) -> String {
    if plan.spec.approval != Approval::Manual {
        return "automatic".to_owned();
    }
    if !plan.spec.approved {
        return "waits".to_owned();
    }
    let approved = |entry: &&k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry| {
        let fields = entry.fields_v1.as_ref();
        fields.is_some_and(|fields| fields.0.pointer("/f:spec/f:approved").is_some())
    };
    let mut entries = plan.managed_fields().iter();
    match entries
        .find(approved)
        .and_then(|entry| entry.manager.clone())
    {
        Some(manager) => format!("approved by {manager}"),
        None => "approved".to_owned(),
    }
}

fn outcome(phase: &InstallPlanPhase) -> &str {
    match phase {
        InstallPlanPhase::Complete => "done",
        InstallPlanPhase::Failed => "failed",
        InstallPlanPhase::Installing => "under way",
        InstallPlanPhase::RequiresApproval => "waits for approval",
        InstallPlanPhase::Unset | InstallPlanPhase::Planning => "not begun",
        InstallPlanPhase::Other(phase) => phase,
    }
}

/// What there is to know about a plan that is not done.
fn told(plan: &InstallPlan) -> String {
    let status = plan.status.clone().unwrap_or_default();
    if status.phase == InstallPlanPhase::Complete {
        return String::new();
    }
    let installed = status.condition(&InstallPlanConditionType::Installed);
    let condition = installed.map(|it| it.message.clone()).unwrap_or_default();
    if condition.is_empty() {
        status.message
    } else {
        condition
    }
}

/// Of a plan; what is installed without one has none.
fn generation(entry: &Entry) -> String {
    if entry.install_plan.is_empty() {
        return String::new();
    }
    entry.generation.to_string()
}

/// To the second.
fn time(time: Option<&Time>) -> String {
    time.map(|time| time.0.strftime("%Y-%m-%d %H:%M:%SZ").to_string())
        .unwrap_or_default()
}

fn table(entries: &[Entry]) -> String {
    let header = ["", "MADE", "INSTALLS", "FOR", "APPROVAL", "OUTCOME", "PLAN"];
    let mut table = printer::table(header);
    for entry in entries {
        let outcome = match entry.message.as_str() {
            "" => entry.outcome.clone(),
            message => format!("{}: {message}", entry.outcome),
        };
        let cells = [
            generation(entry),
            time(entry.made.as_ref()),
            entry.cluster_service_versions.join("\n"),
            entry.asked_by.join("\n"),
            entry.approval.clone(),
            outcome,
            entry.install_plan.clone(),
        ];
        let shown = |cell: String| {
            let lines: Vec<_> = cell
                .lines()
                .map(|line| visible(line).into_owned())
                .collect();
            lines.join("\n")
        };
        table.add_row(cells.map(shown));
    }
    format!("{table}\n")
}

fn line(entry: &Entry) -> String {
    let fields = [
        generation(entry),
        time(entry.made.as_ref()),
        entry.cluster_service_versions.join(","),
        entry.asked_by.join(","),
        entry.approval.clone(),
        entry.outcome.clone(),
        entry.install_plan.clone(),
        entry.message.clone(),
    ];
    let fields: Vec<String> = fields.iter().map(|it| visible(it).into_owned()).collect();
    fields.join("\t") + "\n"
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn subscription() -> Subscription {
        serde_json::from_value(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": "gopher", "namespace": "port", "uid": "1"},
            "spec": {"name": "gopher", "source": "hub", "sourceNamespace": "olm"},
        }))
        .unwrap()
    }

    fn plan(generation: i64, owner: &str, approval: &str, status: &Value) -> InstallPlan {
        serde_json::from_value(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "InstallPlan",
            "metadata": {
                "name": format!("install-{generation}"), "namespace": "port",
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Subscription", "name": "gopher", "uid": owner},
                ],
                "managedFields": [{
                    "manager": "kubectl-patch", "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:spec": {"f:approved": {}}},
                }],
            },
            "spec": {
                "approval": approval, "approved": true, "generation": generation,
                "clusterServiceVersionNames": [format!("gopher.v{generation}")],
            },
            "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn plans_are_told_in_their_order_with_who_approved_them_and_what_came_of_them() {
        let failed = json!({
            "phase": "Failed", "catalogSources": [],
            "conditions": [{"type": "Installed", "status": "False", "message": "no room"}],
        });
        let done = json!({"phase": "Complete", "catalogSources": []});
        let plans = [
            plan(2, "1", "Manual", &failed),
            plan(1, "1", "Automatic", &done),
            plan(3, "2", "Automatic", &done),
        ];
        let lines: String = entries(&subscription(), &plans).iter().map(line).collect();
        assert_eq!(
            lines,
            "1\t2026-01-01 00:00:00Z\tgopher.v1\tgopher\tautomatic\tdone\tinstall-1\t\n\
             2\t2026-01-01 00:00:00Z\tgopher.v2\tgopher\tapproved by kubectl-patch\tfailed\tinstall-2\tno room\n"
        );
    }

    #[test]
    fn where_plans_are_gone_that_is_told_with_what_is_installed() {
        let mut gopher = subscription();
        gopher.status.get_or_insert_default().installed_csv = "gopher.v7".to_owned();
        let csv = serde_json::from_value(json!({
            "metadata": {"name": "gopher.v7", "creationTimestamp": "2025-12-31T00:00:00Z"},
            "spec": {"displayName": "", "install": {}},
            "status": {"phase": "Succeeded"},
        }))
        .unwrap();
        let waits = json!({"phase": "RequiresApproval", "catalogSources": []});
        let told = history(&gopher, &[plan(8, "1", "Manual", &waits)], &[csv]);
        assert!(told.is_partial);
        let lines: String = told.entries.iter().map(line).collect();
        assert_eq!(
            lines,
            "\t2025-12-31 00:00:00Z\tgopher.v7\tgopher\t\tdone\t\tno InstallPlan that is left tells of it; \
             by its ClusterServiceVersion it is Succeeded\n\
             8\t2026-01-01 00:00:00Z\tgopher.v8\tgopher\tapproved by kubectl-patch\twaits for approval\tinstall-8\t\n"
        );
        let told = serde_json::to_value(&told.entries).unwrap();
        assert_eq!(told[0]["olderMayBeMissing"], true);
        assert_eq!(told[1].get("olderMayBeMissing"), None);
    }

    #[test]
    fn a_plan_that_went_with_another_operator_is_missed_where_it_was() {
        let done = json!({"phase": "Complete", "catalogSources": []});
        let plans = [1, 3, 4].map(|generation| plan(generation, "1", "Automatic", &done));
        let told = history(&subscription(), &plans, &[]);
        let marks: Vec<bool> = (told.entries.iter())
            .map(|entry| entry.older_may_be_missing)
            .collect();
        assert_eq!(marks, [false, true, false]);
        assert!(told.is_partial);
        let said = why_partial(&told.entries, plans.len());
        assert!(said.starts_with("entries may be missing"), "{said}");
    }

    #[test]
    fn age_is_only_blamed_where_so_many_plans_are_left_that_some_go_for_it() {
        assert!(!why_partial(&[], retention::KEPT - 1).contains("newest"));
        assert!(why_partial(&[], retention::KEPT).contains("the 5 newest InstallPlans"));
    }

    #[test]
    fn who_never_had_anything_lost_nothing() {
        let told = history(&subscription(), &[], &[]);
        assert!(told.entries.is_empty() && !told.is_partial);
        assert_eq!(
            nothing(told.is_partial),
            "nothing was installed for it so far\n"
        );
    }
}
