//! Credentials: what Docker, podman and Kubernetes keep about registries.
//!
//! Everything here reads; nothing is ever written. Secrets appear in no `Debug` and in no error:
//! what is told about credentials is where they came from and whose they are.

mod config;
mod helper;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use self::config::AuthConfig;
use super::{Error, ImageReference};

/// Something that must not be seen.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// The secret itself, for the request that needs it.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

/// What to show a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// Nothing.
    Anonymous,
    /// A user and a password.
    Password {
        /// The user.
        username: String,
        /// The password.
        password: Secret,
    },
    /// A token that is exchanged for another (`identitytoken`).
    IdentityToken(Secret),
    /// A token that is shown as it is (`registrytoken`).
    RegistryToken(Secret),
}

/// Credentials, and where they are from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// What to show.
    pub login: Login,
    /// Where it comes from: a file, a helper, a secret.
    pub origin: String,
}

impl Credentials {
    /// No credentials.
    pub fn anonymous() -> Self {
        Self {
            login: Login::Anonymous,
            origin: String::new(),
        }
    }

    /// A user and a password that somebody gave directly.
    pub fn password(username: &str, password: &str, origin: &str) -> Self {
        Self {
            login: Login::Password {
                username: username.to_owned(),
                password: Secret::new(password),
            },
            origin: origin.to_owned(),
        }
    }
}

impl fmt::Display for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.login {
            Login::Anonymous => write!(f, "no credentials, because none are configured for it"),
            Login::Password { username, .. } => {
                write!(f, "the password of `{username}` from {}", self.origin)
            }
            Login::IdentityToken(_) | Login::RegistryToken(_) => {
                write!(f, "the token from {}", self.origin)
            }
        }
    }
}

/// Everything that is known about credentials, in the order it is asked. Whichever names the
/// image most exactly wins; of equals, the first.
#[derive(Debug, Clone)]
pub struct Keychain {
    configs: Vec<AuthConfig>,
    helper_timeout: Duration,
}

impl Default for Keychain {
    /// One that knows nothing.
    fn default() -> Self {
        Self {
            configs: Vec::new(),
            helper_timeout: Duration::from_secs(30),
        }
    }
}

impl Keychain {
    /// One that knows these.
    pub fn new(configs: Vec<AuthConfig>) -> Self {
        Self {
            configs,
            ..Self::default()
        }
    }

    /// What the user of this machine is logged in to, with Docker and with podman.
    pub fn from_environment() -> Result<Self, Error> {
        let mut configs = Vec::new();
        for path in files(|name| std::env::var_os(name).map(PathBuf::from)) {
            if path.is_file() {
                let origin = path.display().to_string();
                configs.push(AuthConfig::from_docker_config(
                    &fs_err::read(&path)?,
                    &origin,
                )?);
            }
        }
        Ok(Self::new(configs))
    }

    /// Adds a source that is asked after those that are there.
    #[must_use]
    pub fn with(mut self, config: AuthConfig) -> Self {
        self.configs.push(config);
        self
    }

    /// How long a credential helper may take.
    #[must_use]
    pub fn with_helper_timeout(mut self, timeout: Duration) -> Self {
        self.helper_timeout = timeout;
        self
    }

    /// The credentials for an image; anonymous when nothing is known.
    pub async fn find(&self, image: &ImageReference) -> Result<Credentials, Error> {
        // `max_by_key` gives the last of equals, hence the reversal.
        let best = self
            .configs
            .iter()
            .rev()
            .filter_map(|config| config.find(image))
            .max_by_key(|found| found.exactness);
        let Some(best) = best else {
            return Ok(Credentials::anonymous());
        };
        match best.kind {
            config::Kind::Login(credentials) => Ok(credentials),
            config::Kind::Helper { name, server } => {
                let found = helper::get(&name, &server, self.helper_timeout).await?;
                Ok(found.unwrap_or_else(Credentials::anonymous))
            }
        }
    }
}

/// The files that Docker and podman keep logins in, in the order they are asked.
fn files(variable: impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    let home = |below: &str| variable("HOME").map(|home| home.join(below));
    let docker = variable("DOCKER_CONFIG")
        .or_else(|| home(".docker"))
        .map(|folder| folder.join("config.json"));
    let podman = variable("XDG_RUNTIME_DIR").map(|folder| folder.join("containers/auth.json"));
    let rootful = variable("XDG_CONFIG_HOME")
        .or_else(|| home(".config"))
        .map(|folder| folder.join("containers/auth.json"));
    [variable("REGISTRY_AUTH_FILE"), docker, podman, rootful]
        .into_iter()
        .flatten()
        .filter(|path| path != Path::new(""))
        .collect()
}

#[cfg(test)]
mod tests;
