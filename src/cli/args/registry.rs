//! How registries are spoken to: the same options for every command that needs one.

use std::path::PathBuf;

use crate::oci::mirror::Rule;

/// Options for registries. Credentials are those of `docker login` and `podman login`.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for registries")]
pub(in crate::cli) struct Registry {
    /// Speak plain HTTP to this registry instead of HTTPS
    ///
    /// Several are separated by commas.
    #[arg(
        long,
        value_name = "HOST[:PORT]",
        env = "CHANDLER_PLAIN_HTTP",
        hide_env_values = true,
        value_delimiter = ','
    )]
    pub(in crate::cli) plain_http: Vec<String>,
    /// Trust the certificate authorities in this PEM file for one registry
    #[arg(long, value_name = "HOST[:PORT]=FILE", value_parser = ca_file)]
    pub(in crate::cli) ca_file: Vec<(String, PathBuf)>,
    /// Look for images that begin with FROM at TO first
    ///
    /// Several mirrors are separated by commas. With a `!` at the end FROM itself is never asked.
    #[arg(long, value_name = "FROM=TO", value_parser = mirror)]
    pub(in crate::cli) mirror: Vec<Rule>,
    /// Keep what was pulled in this folder [default: `chandler/images` in your cache folder]
    #[arg(
        long,
        value_name = "DIR",
        env = "CHANDLER_CACHE_DIR",
        hide_env_values = true
    )]
    pub(in crate::cli) cache_dir: Option<PathBuf>,
}

fn ca_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((host, file)) if !host.is_empty() && !file.is_empty() => {
            Ok((host.to_owned(), file.into()))
        }
        _ => Err("expected HOST=FILE".to_owned()),
    }
}

fn mirror(text: &str) -> Result<Rule, String> {
    text.parse::<Rule>().map_err(|error| error.to_string())
}
