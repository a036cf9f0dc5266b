//! `chandler crds`

use std::path::Path;

use anyhow::Context as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::cli::args::Crds;
use crate::cli::failure::Failure;
use crate::cli::printer;
use crate::{api, yaml};

pub(super) fn run(args: &Crds) -> Result<(), Failure> {
    let documents = api::all_crds()
        .iter()
        .map(document)
        .collect::<Result<Vec<_>, Failure>>()?;
    match &args.output_dir {
        None => {
            let texts: Vec<_> = documents.into_iter().map(|(_, text)| text).collect();
            printer::data(&texts.join("---\n"))
        }
        Some(folder) => {
            let kustomization = kustomization(&documents);
            write(folder, &documents, &kustomization).map_err(|error| {
                Failure::outside(error).hint("name a folder that you may write to")
            })?;
            printer::say(&format!(
                "{} files in {}",
                documents.len() + 1,
                folder.display()
            ));
            Ok(())
        }
    }
}

/// A CRD as text, with the name of the file it belongs in.
fn document(crd: &CustomResourceDefinition) -> Result<(String, String), Failure> {
    let text = yaml::to_string(crd).map_err(Failure::outside)?;
    Ok((format!("{}.yaml", crd.spec.names.plural), text))
}

/// Lets other kustomizations take the folder as a whole, the only way in which they may name what is
/// not below them.
fn kustomization(documents: &[(String, String)]) -> String {
    let files = documents.iter().map(|(file, _)| format!("  - {file}\n"));
    format!(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n{}",
        files.collect::<String>()
    )
}

/// `kubectl apply -f` on a folder takes what ends in `.yaml` for objects, and leaves this alone.
const KUSTOMIZATION: &str = "Kustomization";

fn write(folder: &Path, documents: &[(String, String)], kustomization: &str) -> anyhow::Result<()> {
    fs_err::create_dir_all(folder)?;
    let texts = documents
        .iter()
        .map(|(file, text)| (file.as_str(), text.as_str()));
    for (file, text) in texts.chain([(KUSTOMIZATION, kustomization)]) {
        fs_err::write(folder.join(file), text)
            .with_context(|| format!("cannot write the CRDs to {}", folder.display()))?;
    }
    Ok(())
}
