//! Credential helpers: programs named `docker-credential-NAME` that keep logins.

use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::{Credentials, Login, Secret};
use crate::oci::Error;

// No `Debug`: it holds a secret.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    #[serde(default)]
    username: String,
    #[serde(default)]
    secret: String,
}

/// Asks a helper about a registry; none when it does not know it.
pub(super) async fn get(
    name: &str,
    server: &str,
    timeout: Duration,
) -> Result<Option<Credentials>, Error> {
    let program = format!("docker-credential-{name}");
    let bad = |reason: String| Error::Settings {
        origin: format!("credential helper `{program}`"),
        reason,
    };
    if name.contains(['/', '\\', '\0']) {
        return Err(bad("its name must not hold a path".into()));
    }
    let mut child = Command::new(&program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| bad(format!("cannot be run: {error}")))?;
    let mut stdin = child.stdin.take();
    let run = async {
        if let Some(stdin) = &mut stdin {
            // A helper that answers without listening is fine.
            let _ = stdin.write_all(format!("{server}\n").as_bytes()).await;
        }
        drop(stdin);
        child.wait_with_output().await
    };
    let output = tokio::time::timeout(timeout, run)
        .await
        .map_err(|_| bad(format!("did not answer within {} s", timeout.as_secs())))?
        .map_err(|error| bad(format!("cannot be run: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        // Helpers say that they know nothing by this message, on standard output.
        if text.contains("credentials not found") {
            return Ok(None);
        }
        return Err(bad(format!("failed for `{server}`: {}", output.status)));
    }
    let answer: Answer = serde_json::from_str(&text)
        .map_err(|_| bad(format!("gave no credentials for `{server}`")))?;
    if answer.secret.is_empty() {
        return Ok(None);
    }
    let login = if answer.username == "<token>" {
        Login::IdentityToken(Secret::new(answer.secret))
    } else {
        Login::Password {
            username: answer.username,
            password: Secret::new(answer.secret),
        }
    };
    Ok(Some(Credentials {
        login,
        origin: format!("the credential helper `{program}`"),
    }))
}
