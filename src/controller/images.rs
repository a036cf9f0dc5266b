//! Catalogs and bundles out of registries, with the pull secrets of a catalog.

use std::path::PathBuf;

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};

use super::words;
use crate::catalog::source::{self, Sources};
use crate::oci::auth::AuthConfig;
use crate::oci::client::{Registry, Settings};
use crate::oci::pull::PullOptions;
use crate::publish::{self, PulledBundle, pull_bundle};

/// Where images come from.
pub(crate) struct Images {
    client: Client,
    settings: Settings,
    cache: PathBuf,
    /// Without any pull secrets.
    plain: Sources,
}

/// Why an image cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(
        "pull secret {namespace}/{name} cannot be read: {}",
        words::of_api(source)
    )]
    Secret {
        namespace: String,
        name: String,
        source: kube::Error,
    },
    #[error(
        "pull secret {namespace}/{name} has neither `.dockerconfigjson` nor `.dockercfg`: \
         make one with `kubectl create secret docker-registry`"
    )]
    NoPullSecret { namespace: String, name: String },
    #[error(transparent)]
    Image(#[from] crate::oci::Error),
    #[error(transparent)]
    Catalog(#[from] source::Error),
    #[error(transparent)]
    Bundle(#[from] publish::Error),
}

impl Images {
    pub(crate) fn new(
        client: Client,
        settings: Settings,
        cache: PathBuf,
    ) -> Result<Self, source::Error> {
        let options = PullOptions::new(Registry::new(settings.clone()));
        Ok(Self {
            client,
            plain: Sources::new(&cache, options)?,
            settings,
            cache,
        })
    }

    /// Opens catalogs with these pull secrets of a namespace.
    pub(crate) async fn sources(
        &self,
        namespace: &str,
        secrets: &[String],
    ) -> Result<Sources, Error> {
        if secrets.is_empty() {
            return Ok(self.plain.clone());
        }
        let api = Api::<Secret>::namespaced(self.client.clone(), namespace);
        let mut settings = self.settings.clone();
        for name in secrets {
            let secret = api.get(name).await.map_err(|source| Error::Secret {
                namespace: namespace.to_owned(),
                name: name.clone(),
                source,
            })?;
            settings.keychain = settings.keychain.with(login(namespace, name, &secret)?);
        }
        let options = PullOptions::new(Registry::new(settings));
        Ok(Sources::new(&self.cache, options)?)
    }

    /// Pulls a bundle of a catalog with these pull secrets.
    pub(crate) async fn bundle(
        &self,
        image: &str,
        namespace: &str,
        secrets: &[String],
    ) -> Result<PulledBundle, Error> {
        let sources = self.sources(namespace, secrets).await?;
        let location = image.parse()?;
        Ok(pull_bundle(&location, sources.options(), sources.blobs()).await?)
    }
}

fn login(namespace: &str, name: &str, secret: &Secret) -> Result<AuthConfig, Error> {
    let data = secret.data.as_ref();
    let value = |key: &str| data.and_then(|data| data.get(key)).map(|it| &it.0);
    let origin = format!("secret {namespace}/{name}");
    if let Some(config) = value(".dockerconfigjson") {
        return Ok(AuthConfig::from_docker_config(config, &origin)?);
    }
    if let Some(config) = value(".dockercfg") {
        return Ok(AuthConfig::from_dockercfg(config, &origin)?);
    }
    Err(Error::NoPullSecret {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}
