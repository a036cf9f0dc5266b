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
            write(folder, &documents).map_err(|error| {
                Failure::outside(error).hint("name a folder that you may write to")
            })?;
            printer::say(&format!(
                "{} files in {}",
                documents.len(),
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

fn write(folder: &Path, documents: &[(String, String)]) -> anyhow::Result<()> {
    fs_err::create_dir_all(folder)?;
    for (file, text) in documents {
        fs_err::write(folder.join(file), text)
            .with_context(|| format!("cannot write the CRDs to {}", folder.display()))?;
    }
    Ok(())
}
