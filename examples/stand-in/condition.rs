//! Says in its OperatorCondition whether it may be upgraded: whatever a ConfigMap has it say.

use std::time::Duration;

use anyhow::Context as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::json;

/// How often the ConfigMap is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Follows a ConfigMap with the fields `upgradeable` and `message`.
pub(crate) async fn tell(config_map: String) -> anyhow::Result<()> {
    let own = std::env::var("OPERATOR_CONDITION_NAME").context("OPERATOR_CONDITION_NAME")?;
    let client = kube::Client::try_default().await?;
    let wishes = Api::<ConfigMap>::default_namespaced(client.clone());
    let gvk = GroupVersionKind::gvk("operators.coreos.com", "v2", "OperatorCondition");
    let conditions: Api<DynamicObject> =
        Api::default_namespaced_with(client, &ApiResource::from_gvk(&gvk));
    let mut said = None;
    loop {
        let data = match wishes.get_opt(&config_map).await {
            Ok(found) => found.and_then(|it| it.data),
            Err(error) => {
                anstream::eprintln!("{error}");
                None
            }
        };
        if data.is_some() && data != said {
            let wish = |key: &str| data.as_ref().and_then(|data| data.get(key));
            let patch = json!({"spec": {"conditions": [{
                "type": "Upgradeable", "status": wish("upgradeable"),
                "reason": "AsToldToSay", "message": wish("message"),
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]}});
            let parameters = PatchParams::default();
            match conditions
                .patch(&own, &parameters, &Patch::Merge(patch))
                .await
            {
                Ok(_) => said = data,
                Err(error) => anstream::eprintln!("{error}"),
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}
