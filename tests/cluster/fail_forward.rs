//! Upgrades past a version that failed: where the OperatorGroup allows it, as in OLM, and where what
//! comes next is ready for it.

use std::time::Duration;

use anyhow::ensure;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{CsvPhase, CsvReason, InstallPlanPhase, SubscriptionState};
use chandler::api::install_plan::InstallPlan;
use chandler::api::subscription::Subscription;
use kube::ResourceExt as _;
use serde_json::json;

use crate::support::case::{Case, on_cluster};
use crate::support::life::status;
use crate::support::scene::Scene;
use crate::support::wares::{Operator, stable};

const FAIL_FORWARD: &str = "TechPreviewUnsafeFailForward";

/// A version whose plan fails: the API server takes no object of such a name.
fn with_bad_plan(operator: Operator) -> Operator {
    operator.with(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "Not_A_Name"},
    }))
}

/// A version that is installed and never works: the API server takes no such Deployment.
fn with_bad_deployment(operator: Operator) -> Operator {
    let template = json!({"metadata": {"labels": {"app": "another"}}});
    operator.deployment_with(json!({"spec": {"template": template}}))
}

struct Story<'c> {
    scene: Scene<'c>,
    catalog: Vec<Operator>,
}

impl<'c> Story<'c> {
    /// An operator of which version 1.0.0 runs, from a catalog.
    async fn begin(case: &'c Case, strategy: &str) -> anyhow::Result<Self> {
        let scene = Scene::without_group(case).await?;
        let targets = [&scene.namespace];
        scene
            .group_with(json!({"targetNamespaces": targets, "upgradeStrategy": strategy}))
            .await?;
        let first = scene.operator("gopher", "1.0.0");
        scene
            .image_catalog("hub", &[stable([first.clone()])])
            .await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Succeeded).await?;
        Ok(Self {
            scene,
            catalog: vec![first],
        })
    }

    /// The catalog gets one more version.
    async fn adds(&mut self, operator: Operator) -> anyhow::Result<()> {
        self.catalog.push(operator);
        let content = [stable(self.catalog.iter().cloned())];
        self.scene.shop().push_catalog("hub", &content).await?;
        Ok(())
    }

    /// The next version, whose plan fails.
    async fn with_failed_plan(case: &'c Case) -> anyhow::Result<(Self, InstallPlan)> {
        let mut story = Self::begin(case, FAIL_FORWARD).await?;
        let second = story.scene.operator("gopher", "2.0.0").replaces("1.0.0");
        story.adds(with_bad_plan(second)).await?;
        let failed = story.fails("gopher.v2.0.0").await?;
        Ok((story, failed))
    }

    /// Waits until the plan for a version failed.
    async fn fails(&self, csv: &str) -> anyhow::Result<InstallPlan> {
        let what = format!("failed with {csv}");
        self.scene
            .until("gopher", &what, |it: &Subscription| {
                let status = it.status.clone().unwrap_or_default();
                status.state == SubscriptionState::UpgradeFailed && status.current_csv == csv
            })
            .await?;
        self.scene.plan_of("gopher", InstallPlanPhase::Failed).await
    }

    /// The next version, which is installed and fails.
    async fn with_failed_csv(case: &'c Case, strategy: &str) -> anyhow::Result<Self> {
        let mut story = Self::begin(case, strategy).await?;
        let second = story.scene.operator("gopher", "2.0.0").replaces("1.0.0");
        story.adds(with_bad_deployment(second)).await?;
        let scene = &story.scene;
        scene.in_phase("gopher.v2.0.0", CsvPhase::Failed).await?;
        scene.in_phase("gopher.v1.0.0", CsvPhase::Replacing).await?;
        Ok(story)
    }

    /// In the end there is this version alone, and the Subscription is content.
    async fn ends_with(&self, csv: &str) -> anyhow::Result<()> {
        self.scene.in_phase(csv, CsvPhase::Succeeded).await?;
        self.scene.at_latest("gopher", csv).await?;
        self.scene
            .case
            .eventually("the only one", async || {
                Ok(self.scene.csvs().await? == [csv])
            })
            .await
    }
}

#[tokio::test]
async fn a_failed_plan_is_overtaken_by_a_version_that_skips_it() {
    on_cluster(async |case| {
        let (mut story, failed) = Story::with_failed_plan(case).await?;
        let fixed = story.scene.operator("gopher", "3.0.0");
        story.adds(fixed.replaces("1.0.0").skips("2.0.0")).await?;
        story.ends_with("gopher.v3.0.0").await?;
        let plan = story
            .scene
            .plan_of("gopher", InstallPlanPhase::Complete)
            .await?;
        ensure!(plan.name_any() != failed.name_any());
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_failed_plan_is_overtaken_by_a_version_whose_range_spans_it() {
    on_cluster(async |case| {
        let (mut story, _) = Story::with_failed_plan(case).await?;
        let fixed = story.scene.operator("gopher", "3.0.0");
        let fixed = fixed.replaces("2.0.0").skip_range(">=1.0.0 <3.0.0");
        story.adds(fixed).await?;
        story.ends_with("gopher.v3.0.0").await
    })
    .await;
}

#[tokio::test]
async fn several_versions_whose_plans_failed_are_overtaken_together() {
    on_cluster(async |case| {
        let (mut story, _) = Story::with_failed_plan(case).await?;
        let worse = story.scene.operator("gopher", "2.1.0");
        let worse = with_bad_plan(worse.replaces("1.0.0").skips("2.0.0"));
        story.adds(worse).await?;
        story.fails("gopher.v2.1.0").await?;
        let fixed = story.scene.operator("gopher", "3.0.0");
        let fixed = fixed.replaces("1.0.0").skips("2.0.0").skips("2.1.0");
        story.adds(fixed).await?;
        story.ends_with("gopher.v3.0.0").await
    })
    .await;
}

#[tokio::test]
async fn a_failed_plan_stays_where_the_next_version_only_replaces_what_never_came() {
    on_cluster(async |case| {
        let (mut story, failed) = Story::with_failed_plan(case).await?;
        let fixed = story.scene.operator("gopher", "3.0.0");
        let snapshots = format!(
            "catalog_source_snapshots_total{{namespace=\"{}\",name=\"hub\"}}",
            story.scene.namespace
        );
        let before = story.scene.metric(&snapshots).unwrap_or_default();
        story.adds(fixed.replaces("2.0.0")).await?;
        let is_read = async || Ok(story.scene.metric(&snapshots) > Some(before));
        case.eventually("read again", is_read).await?;
        // Another Subscription that gets what it wants shows that the catalog was looked at.
        let mole = story.scene.operator("mole", "1.0.0");
        story
            .scene
            .config_map_catalog("other", &[stable([mole])])
            .await?;
        story.scene.subscribe("mole", "other", json!({})).await?;
        story.scene.at_latest("mole", "mole.v1.0.0").await?;
        let now = story.fails("gopher.v2.0.0").await?;
        ensure!(now.name_any() == failed.name_any());
        let first = story.scene.api::<ClusterServiceVersion>();
        let first = first.get("gopher.v1.0.0").await?;
        ensure!(status(&first).phase == CsvPhase::Succeeded, "{first:?}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_version_that_does_not_run_is_overtaken_by_the_one_that_replaces_it() {
    on_cluster(async |case| {
        let mut story = Story::with_failed_csv(case, FAIL_FORWARD).await?;
        let fixed = story.scene.operator("gopher", "3.0.0");
        story.adds(fixed.replaces("2.0.0")).await?;
        story.ends_with("gopher.v3.0.0").await
    })
    .await;
}

#[tokio::test]
async fn a_version_that_does_not_run_is_overtaken_by_one_that_skips_it() {
    on_cluster(async |case| {
        let mut story = Story::with_failed_csv(case, FAIL_FORWARD).await?;
        let fixed = story.scene.operator("gopher", "3.0.0");
        story.adds(fixed.replaces("1.0.0").skips("2.0.0")).await?;
        story.ends_with("gopher.v3.0.0").await
    })
    .await;
}

#[tokio::test]
async fn a_version_that_does_not_run_is_overtaken_by_one_whose_range_spans_it() {
    on_cluster(async |case| {
        let mut story = Story::with_failed_csv(case, FAIL_FORWARD).await?;
        let fixed = story.scene.operator("gopher", "3.0.0");
        let fixed = fixed.replaces("2.0.0").skip_range(">=1.0.0 <3.0.0");
        story.adds(fixed).await?;
        story.ends_with("gopher.v3.0.0").await
    })
    .await;
}

/// In OLM it would stay for ever.
#[tokio::test]
async fn a_version_that_does_not_run_gives_way_to_one_that_can_also_without_fail_forward() {
    on_cluster(async |case| {
        let mut story = Story::with_failed_csv(case, "Default").await?;
        let fixed = story.scene.operator("gopher", "3.0.0");
        story.adds(fixed.replaces("2.0.0")).await?;
        story.ends_with("gopher.v3.0.0").await
    })
    .await;
}

/// In OLM it would stay for ever.
#[tokio::test]
async fn a_version_that_lacks_what_it_requires_gives_way_to_the_one_that_mends_it() {
    on_cluster(async |case| {
        let mut story = Story::begin(case, "Default").await?;
        let nowhere = format!("nowhere.{}.example.com", story.scene.namespace);
        let api = json!({"group": nowhere, "version": "v1", "kind": "Hat"});
        let second = story.scene.operator("gopher", "2.0.0").replaces("1.0.0");
        let second = second.csv_with(json!({"spec": {"nativeAPIs": [api]}}));
        story.adds(second).await?;
        story
            .scene
            .until("gopher.v2.0.0", "lacking", |csv: &ClusterServiceVersion| {
                status(csv).reason == CsvReason::RequirementsNotMet
            })
            .await?;
        let fixed = story.scene.operator("gopher", "3.0.0");
        story.adds(fixed.replaces("2.0.0")).await?;
        // It has a minute in which what it lacks may come.
        let names = async || story.scene.csvs().await;
        let has_come = async || Ok(names().await?.contains(&"gopher.v3.0.0".to_owned()));
        case.within(
            Duration::from_mins(3),
            "the version that mends it",
            has_come,
        )
        .await?;
        story.ends_with("gopher.v3.0.0").await
    })
    .await;
}
