//! The files and secrets that hold credentials.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde::Deserialize;

use super::{Credentials, Login, Secret};
use crate::oci::reference::DOCKER_HUB;
use crate::oci::{Error, ImageReference};

/// How Docker names its own registry in files and to helpers.
const DOCKER_HUB_KEY: &str = "https://index.docker.io/v1/";

/// One file or secret with credentials.
#[derive(Debug, Clone)]
pub struct AuthConfig {
    origin: String,
    auths: Vec<(Pattern, Login)>,
    helpers: Vec<(Pattern, String, String)>,
    store: Option<String>,
}

/// What a configuration says about an image.
pub(super) struct Found {
    /// How exactly the image was named: length of host and path, helper before file.
    pub(super) exactness: (usize, bool),
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Login(Credentials),
    Helper { name: String, server: String },
}

/// A key of a configuration: a host, which may have `*` for a label, and the start of a path.
#[derive(Debug, Clone)]
struct Pattern {
    host: String,
    path: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DockerConfig {
    #[serde(default)]
    auths: Option<BTreeMap<String, Entry>>,
    #[serde(default)]
    cred_helpers: Option<BTreeMap<String, String>>,
    #[serde(default)]
    creds_store: Option<String>,
}

// No `Debug`: it holds secrets.
#[derive(Deserialize)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
    registrytoken: Option<String>,
}

impl AuthConfig {
    /// Reads Docker's `config.json`, podman's `auth.json`, or the `.dockerconfigjson` of a Secret
    /// of type `kubernetes.io/dockerconfigjson`. `origin` is what messages call it.
    pub fn from_docker_config(bytes: &[u8], origin: &str) -> Result<Self, Error> {
        let config: DockerConfig = parse(bytes, origin)?;
        let mut result = Self::from_entries(config.auths.unwrap_or_default(), origin)?;
        for (key, helper) in config.cred_helpers.unwrap_or_default() {
            if !helper.is_empty() {
                result.helpers.push((Pattern::new(&key), key, helper));
            }
        }
        result.store = config.creds_store.filter(|store| !store.is_empty());
        Ok(result)
    }

    /// Reads the older `.dockercfg` of a Secret of type `kubernetes.io/dockercfg`.
    pub fn from_dockercfg(bytes: &[u8], origin: &str) -> Result<Self, Error> {
        Self::from_entries(parse(bytes, origin)?, origin)
    }

    /// One login for a registry, or for a registry and the beginning of a repository.
    pub fn from_login(key: &str, username: &str, password: &str, origin: &str) -> Self {
        Self {
            origin: origin.to_owned(),
            auths: vec![(
                Pattern::new(key),
                Login::Password {
                    username: username.to_owned(),
                    password: Secret::new(password),
                },
            )],
            helpers: Vec::new(),
            store: None,
        }
    }

    /// The same without anything that runs a program: for what strangers wrote.
    #[must_use]
    pub fn without_helpers(mut self) -> Self {
        self.helpers.clear();
        self.store = None;
        self
    }

    fn from_entries(entries: BTreeMap<String, Entry>, origin: &str) -> Result<Self, Error> {
        let mut auths = Vec::new();
        for (key, entry) in entries {
            // An entry without anything only says that the store knows this registry.
            if let Some(login) = entry.login(&key, origin)? {
                auths.push((Pattern::new(&key), login));
            }
        }
        Ok(Self {
            origin: origin.to_owned(),
            auths,
            helpers: Vec::new(),
            store: None,
        })
    }

    pub(super) fn find(&self, image: &ImageReference) -> Option<Found> {
        let helpers = self.helpers.iter().filter_map(|(pattern, key, helper)| {
            let kind = Kind::Helper {
                name: helper.clone(),
                server: server_of(key, image),
            };
            Some(Found {
                exactness: (pattern.matches(image)?, true),
                kind,
            })
        });
        let logins = self.auths.iter().filter_map(|(pattern, login)| {
            let credentials = Credentials {
                login: login.clone(),
                origin: self.origin.clone(),
            };
            Some(Found {
                exactness: (pattern.matches(image)?, false),
                kind: Kind::Login(credentials),
            })
        });
        let best = helpers.chain(logins).max_by_key(|found| found.exactness);
        best.or_else(|| {
            let name = self.store.clone()?;
            let server = server_of(image.registry(), image);
            Some(Found {
                exactness: (0, true),
                kind: Kind::Helper { name, server },
            })
        })
    }
}

impl Entry {
    fn login(self, key: &str, origin: &str) -> Result<Option<Login>, Error> {
        let full = |text: Option<String>| text.filter(|text| !text.is_empty());
        if let Some(token) = full(self.registrytoken) {
            return Ok(Some(Login::RegistryToken(Secret::new(token))));
        }
        if let Some(token) = full(self.identitytoken) {
            return Ok(Some(Login::IdentityToken(Secret::new(token))));
        }
        if let (Some(username), Some(password)) = (full(self.username), full(self.password)) {
            return Ok(Some(Login::Password {
                username,
                password: Secret::new(password),
            }));
        }
        let Some(auth) = full(self.auth) else {
            return Ok(None);
        };
        // What is wrong is said without what is written there.
        let bad = || Error::Settings {
            origin: origin.to_owned(),
            reason: format!("the `auth` of `{key}` is not USER:PASSWORD in base64"),
        };
        let auth = auth.trim().trim_end_matches('=');
        let bytes = STANDARD_NO_PAD
            .decode(auth)
            .or_else(|_| STANDARD.decode(auth))
            .map_err(|_| bad())?;
        let text = String::from_utf8(bytes).map_err(|_| bad())?;
        let (username, password) = text.split_once(':').ok_or_else(bad)?;
        Ok(Some(Login::Password {
            username: username.to_owned(),
            // Docker itself once padded with NULs.
            password: Secret::new(password.trim_end_matches('\0')),
        }))
    }
}

impl Pattern {
    fn new(key: &str) -> Self {
        let bare = key
            .strip_prefix("https://")
            .or_else(|| key.strip_prefix("http://"))
            .unwrap_or(key);
        let (host, path) = bare.split_once('/').unwrap_or((bare, ""));
        let host = match host {
            "index.docker.io" | "registry-1.docker.io" => DOCKER_HUB,
            other => other,
        };
        let path = path.trim_matches('/');
        // `/v1/` and `/v2/` of a URL are no repositories.
        let path = if bare.len() != key.len() || host == DOCKER_HUB {
            match path {
                "v1" | "v2" => "",
                other => other,
            }
        } else {
            path
        };
        Self {
            host: host.to_owned(),
            path: path.to_owned(),
        }
    }

    /// How exactly this names an image; none when it does not.
    fn matches(&self, image: &ImageReference) -> Option<usize> {
        let host = image.registry();
        let labels = |host: &str| host.split('.').map(str::to_owned).collect::<Vec<_>>();
        let (mine, its) = (labels(&self.host), labels(host));
        let same_host = self.host == host
            || (mine.len() == its.len()
                && mine
                    .iter()
                    .zip(&its)
                    .all(|(mine, its)| mine == "*" || mine == its));
        let rest = image.repository().strip_prefix(self.path.as_str())?;
        let same_path = self.path.is_empty() || rest.is_empty() || rest.starts_with('/');
        let stars = self.host.matches('*').count();
        // A host that is spelled out beats one with a star, and a longer path beats both.
        (same_host && same_path)
            .then(|| 1 + 1000 * self.path.len() + host.len() - stars.min(host.len()))
    }
}

/// What a helper is asked for.
fn server_of(key: &str, image: &ImageReference) -> String {
    if image.registry() == DOCKER_HUB {
        DOCKER_HUB_KEY.to_owned()
    } else if key.contains('*') {
        image.registry().to_owned()
    } else {
        key.to_owned()
    }
}

fn parse<'b, T: Deserialize<'b>>(bytes: &'b [u8], origin: &str) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|error| Error::Settings {
        origin: origin.to_owned(),
        // The parser's own words may quote what it could not read, so only its place is told.
        reason: format!(
            "cannot be read as credentials: line {}, column {}",
            error.line(),
            error.column()
        ),
    })
}
