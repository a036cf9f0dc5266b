//! The OLMConfig of the cluster.

use chandler::api::conditions::ConditionStatus;
use chandler::api::olm_config::OlmConfig;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::support::case::on_cluster;
use crate::support::scene::Scene;

#[tokio::test]
async fn the_olm_config_says_whether_csvs_are_copied() {
    on_cluster(async |case| {
        let _scene = Scene::new(case).await?;
        let api = Api::<OlmConfig>::all(case.client.clone());
        for (disabled, status, reason) in [
            (true, ConditionStatus::True, "CopiedCSVsDisabled"),
            (false, ConditionStatus::False, "CopiedCSVsEnabled"),
            (true, ConditionStatus::True, "CopiedCSVsDisabled"),
        ] {
            let config = json!({
                "apiVersion": "operators.coreos.com/v1", "kind": "OLMConfig",
                "metadata": {"name": "cluster"},
                "spec": {"features": {"disableCopiedCSVs": disabled}},
            });
            let parameters = PatchParams::apply("test").force();
            api.patch("cluster", &parameters, &Patch::Apply(config))
                .await?;
            let says = |config: Option<&OlmConfig>| {
                let status_of = config.and_then(|config| config.status.as_ref());
                let conditions = status_of.map(|it| it.conditions.as_slice());
                conditions.unwrap_or_default().iter().any(|it| {
                    it.type_ == "DisabledCopiedCSVs" && it.status == status && it.reason == reason
                })
            };
            case.wait(&api, "cluster", reason, says).await?;
        }
        Ok(())
    })
    .await;
}
