//! `chandler deploy`

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::api;
use crate::cli::args::deploy::Deploy as Args;
use crate::cli::failure::Failure;
use crate::cli::printer;
use crate::yaml;

/// The namespace that the manifests are written with.
const NAMESPACE: &str = "chandler-system";

/// The manifests, in the order in which a cluster wants them.
const MANIFESTS: [(&str, &str); 7] = [
    (
        "namespace.yaml",
        include_str!("../../../deploy/base/namespace.yaml"),
    ),
    ("rbac.yaml", include_str!("../../../deploy/base/rbac.yaml")),
    (
        "admission.yaml",
        include_str!("../../../deploy/base/admission.yaml"),
    ),
    (
        "deployment.yaml",
        include_str!("../../../deploy/base/deployment.yaml"),
    ),
    (
        "service.yaml",
        include_str!("../../../deploy/base/service.yaml"),
    ),
    (
        "disruption.yaml",
        include_str!("../../../deploy/base/disruption.yaml"),
    ),
    (
        "network.yaml",
        include_str!("../../../deploy/base/network.yaml"),
    ),
];
const OPERATORS: (&str, &str) = (
    "operators.yaml",
    include_str!("../../../deploy/operators/operators.yaml"),
);

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    printer::data(&manifests(args)?)?;
    Ok(())
}

fn manifests(args: &Args) -> Result<String, Failure> {
    let mut documents = Vec::new();
    for crd in api::all_crds() {
        documents.push(yaml::to_string(&crd).map_err(Failure::outside)?);
    }
    let operators = args.with_operators.then_some(OPERATORS);
    for (name, text) in MANIFESTS.into_iter().chain(operators) {
        for document in yaml::documents(name, text) {
            let document = document
                .context("a manifest of ours")
                .map_err(Failure::outside)?;
            let mut object = document.into_value();
            adapt(&mut object, args);
            documents.push(yaml::to_string(&object).map_err(Failure::outside)?);
        }
    }
    Ok(documents.join("---\n"))
}

/// Puts in what was asked for.
fn adapt(object: &mut Value, args: &Args) {
    rename(object, &args.namespace);
    if object["kind"] != "Deployment" {
        return;
    }
    let container = &mut object["spec"]["template"]["spec"]["containers"][0];
    container["image"] = json!(args.image);
    if let Some(arguments) = container["args"].as_array_mut() {
        arguments.extend(args.run_argument.iter().map(|argument| json!(argument)));
    }
}

/// Everywhere, because the name of the namespace is in roles, bindings and the namespace itself.
fn rename(value: &mut Value, namespace: &str) {
    match value {
        Value::String(text) if text == NAMESPACE => namespace.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, namespace)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| rename(field, namespace)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> Args {
        Args {
            image: "registry.example.com/chandler:v1".into(),
            namespace: "elsewhere".into(),
            with_operators: true,
            run_argument: vec!["--plain-http=registry.local:5000".into()],
        }
    }

    #[test]
    fn the_manifests_are_for_the_namespace_and_image_that_were_asked_for() {
        let text = manifests(&args()).ok().unwrap();
        assert!(!text.contains(NAMESPACE), "a place was forgotten");
        assert!(text.contains("image: registry.example.com/chandler:v1"));
        assert!(text.contains("--plain-http=registry.local:5000"));
        assert!(text.contains("name: global-operators"));
    }

    #[test]
    fn every_manifest_of_the_folder_is_printed() {
        let text = manifests(&args()).ok().unwrap();
        let kinds: Vec<String> = yaml::documents("deploy", &text)
            .map(|document| {
                document.unwrap().into_value()["kind"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        for kind in [
            "Deployment",
            "Service",
            "PodDisruptionBudget",
            "NetworkPolicy",
            "ClusterRoleBinding",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
        ] {
            assert!(kinds.iter().any(|it| it == kind), "{kind} is missing");
        }
        assert_eq!(
            kinds
                .iter()
                .filter(|it| *it == "CustomResourceDefinition")
                .count(),
            8
        );
    }
}
