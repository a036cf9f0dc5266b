//! How to install a package: manifests and commands.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::about::CsvFacts;
use super::error::Error;
use super::list::install_modes;
use super::upgrades;
use super::views::{InstallCommand, InstallManifests, InstallModeName};
use super::{Found, package};
use crate::catalog::graph;
use crate::catalog::index::{BundleRecord, ChannelRecord};
use crate::yaml;

/// Where catalogs are that no namespace is known of.
const CATALOG_NAMESPACE: &str = "chandler-system";

/// What is to be installed, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct InstallQuery {
    /// The channel to follow [default: the package's default channel, or one with the version].
    pub channel: Option<String>,
    /// The version to begin with, or the name of its bundle [default: the head of the channel].
    pub version: Option<String>,
    /// The namespace to install to [default: what the publisher suggests, or the package's name].
    pub namespace: Option<String>,
    /// Which namespaces the operator serves [default: all, if it can].
    pub install_mode: Option<InstallModeName>,
    /// Who approves [default: nobody has to, unless a version is chosen that is not the newest].
    #[param(inline)]
    pub approval: Option<Approval>,
}

/// Who approves what is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum Approval {
    /// Nobody has to.
    Automatic,
    /// Somebody has to approve every InstallPlan.
    Manual,
}

/// The manifests and commands that install a package.
pub(super) fn install(found: &Found, query: &InstallQuery) -> Result<InstallManifests, Error> {
    let channel = channel(found, query)?;
    let head = head(found, channel);
    let bundle = match &query.version {
        Some(version) => package::bundle(found, version)?,
        None => head.ok_or_else(|| {
            Error::not_found(format!("channel `{}` has no head", channel.name))
                .hint("choose another channel or a version")
        })?,
    };
    if !lists(found, channel, bundle) {
        return Err(Error::bad_request(format!(
            "channel `{}` does not have version `{}`",
            channel.name, bundle.version
        ))
        .hint("leave the channel out, and one with the version is chosen"));
    }
    let is_head = head.is_some_and(|head| head.name == bundle.name);
    let facts = CsvFacts::of_blob(&found.blob(bundle)?);
    let namespace = namespace(found, query, &facts.about().suggested_namespace)?;
    let mode = mode(bundle, query)?;
    let approval = query.approval.unwrap_or(if is_head {
        Approval::Automatic
    } else {
        Approval::Manual
    });
    let plan = Plan {
        found,
        channel: &channel.name,
        bundle,
        namespace: &namespace,
        mode,
        approval,
        is_head,
    };
    let yaml = plan.yaml()?;
    Ok(InstallManifests {
        package: found.record.name.clone(),
        catalog: found.catalog.id(),
        channel: channel.name.clone(),
        bundle: bundle.name.clone(),
        version: bundle.version.clone(),
        is_newest: is_head,
        install_mode: mode,
        commands: plan.commands(&yaml),
        notes: plan.notes(),
        yaml,
        namespace,
    })
}

fn channel<'f>(found: &'f Found, query: &InstallQuery) -> Result<&'f ChannelRecord, Error> {
    let record = &found.record;
    if let Some(name) = &query.channel {
        return upgrades::channel(found, name);
    }
    let default = record.channel(&record.default_channel);
    let Some(version) = &query.version else {
        return default.ok_or_else(|| {
            Error::not_found(format!("package `{}` has no default channel", record.name))
                .hint("choose a channel")
        });
    };
    let bundle = package::bundle(found, version)?;
    let mut all = default.into_iter().chain(&record.channels);
    all.find(|channel| lists(found, channel, bundle))
        .ok_or_else(|| Error::not_found(format!("version `{version}` is in no channel")))
}

fn lists(found: &Found, channel: &ChannelRecord, bundle: &BundleRecord) -> bool {
    let bundles = &found.record.bundles;
    let entries = channel.entries.iter();
    let mut listed = entries.filter_map(|entry| bundles.get(entry.bundle as usize));
    listed.any(|listed| listed.name == bundle.name)
}

fn head<'f>(found: &'f Found, channel: &ChannelRecord) -> Option<&'f BundleRecord> {
    let listed = upgrades::listed(&found.record, channel);
    let order = graph::order(&listed).ok()?;
    found.record.bundle(order.first()?)
}

fn namespace(found: &Found, query: &InstallQuery, suggested: &str) -> Result<String, Error> {
    if let Some(asked) = &query.namespace {
        if is_label(asked) {
            return Ok(asked.clone());
        }
        return Err(
            Error::bad_request(format!("`{asked}` cannot be the name of a namespace"))
                .hint("use up to 63 lower-case letters, digits and hyphens"),
        );
    }
    if is_label(suggested) {
        return Ok(suggested.to_owned());
    }
    let plain: String = found
        .record
        .name
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(63)
        .collect();
    let plain = plain.trim_matches('-');
    let plain = if is_label(plain) { plain } else { "operators" };
    Ok(plain.to_owned())
}

/// Whether Kubernetes takes it for the name of a namespace.
fn is_label(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=63).contains(&text.len())
        && text.starts_with(is_plain)
        && text.ends_with(is_plain)
        && text.chars().all(|c| is_plain(c) || c == '-')
}

fn mode(bundle: &BundleRecord, query: &InstallQuery) -> Result<InstallModeName, Error> {
    let supported = install_modes(bundle.install_modes);
    if let Some(asked) = query.install_mode {
        if supported.contains(&asked) {
            return Ok(asked);
        }
        let all: Vec<&str> = supported.iter().map(|mode| mode.as_str()).collect();
        return Err(Error::bad_request(format!(
            "`{}` does not support install mode {}",
            bundle.name,
            asked.as_str()
        ))
        .hint(format!("it supports {}", all.join(", "))));
    }
    let preferred = [
        InstallModeName::AllNamespaces,
        InstallModeName::OwnNamespace,
        InstallModeName::SingleNamespace,
        InstallModeName::MultiNamespace,
    ];
    let mut preferred = preferred.into_iter();
    let best = preferred.find(|mode| supported.contains(mode));
    Ok(best.unwrap_or(InstallModeName::AllNamespaces))
}

/// What was decided.
struct Plan<'f> {
    found: &'f Found,
    channel: &'f str,
    bundle: &'f BundleRecord,
    namespace: &'f str,
    mode: InstallModeName,
    approval: Approval,
    is_head: bool,
}

impl Plan<'_> {
    fn source(&self) -> (&str, &str) {
        let key = &self.found.catalog.key;
        let namespace = match key.namespace.as_str() {
            "" => CATALOG_NAMESPACE,
            namespace => namespace,
        };
        (&key.name, namespace)
    }

    fn yaml(&self) -> Result<String, Error> {
        let mut text = String::new();
        for (at, object) in self.objects().iter().enumerate() {
            if at > 0 {
                text.push_str("---\n");
            }
            let document = yaml::to_string(object).map_err(Error::internal)?;
            text.push_str(&document);
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
        Ok(text)
    }

    fn objects(&self) -> [Value; 3] {
        let name = &self.found.record.name;
        let (source, source_namespace) = self.source();
        let group = match self.mode {
            InstallModeName::AllNamespaces => json!({}),
            InstallModeName::OwnNamespace => json!({"targetNamespaces": [self.namespace]}),
            InstallModeName::SingleNamespace | InstallModeName::MultiNamespace => {
                json!({"targetNamespaces": ["default"]})
            }
        };
        let mut spec = json!({
            "name": name,
            "channel": self.channel,
            "source": source,
            "sourceNamespace": source_namespace,
            "installPlanApproval": self.approval,
        });
        if !self.is_head {
            spec["startingCSV"] = json!(self.bundle.name);
        }
        [
            json!({
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": self.namespace},
            }),
            json!({
                "apiVersion": "operators.coreos.com/v1",
                "kind": "OperatorGroup",
                "metadata": {"name": self.namespace, "namespace": self.namespace},
                "spec": group,
            }),
            json!({
                "apiVersion": "operators.coreos.com/v1alpha1",
                "kind": "Subscription",
                "metadata": {"name": name, "namespace": self.namespace},
                "spec": spec,
            }),
        ]
    }

    fn commands(&self, yaml: &str) -> Vec<InstallCommand> {
        let (source, source_namespace) = self.source();
        let namespace = quoted(self.namespace);
        let mut install = format!(
            "chandler install {} --channel {} --catalog {} --namespace {namespace}",
            quoted(&self.found.record.name),
            quoted(self.channel),
            quoted(&format!("{source_namespace}/{source}")),
        );
        if self.mode == InstallModeName::AllNamespaces {
            install.push_str(" --all-namespaces");
        }
        if !self.is_head {
            install.push_str(" --version ");
            install.push_str(&quoted(&self.bundle.version));
        } else if self.approval == Approval::Manual {
            install.push_str(" --approval Manual");
        }
        let command = |tool: &str, title: &str, command: String| InstallCommand {
            tool: tool.to_owned(),
            title: title.to_owned(),
            command,
        };
        vec![
            command(
                "chandler",
                "Install it and tell what happens until it runs",
                install,
            ),
            command(
                "kubectl",
                "Install it",
                format!("kubectl apply -f - <<'CHANDLER'\n{yaml}CHANDLER"),
            ),
            command(
                "kubectl",
                "Wait until it runs",
                format!(
                    "kubectl wait subscription {} --namespace {namespace} --for=condition=Healthy --timeout=5m",
                    quoted(&self.found.record.name)
                ),
            ),
        ]
    }

    fn notes(&self) -> Vec<String> {
        let (source, source_namespace) = self.source();
        let mut notes = vec![format!(
            "the Subscription expects this catalog as CatalogSource {source_namespace}/{source}"
        )];
        notes.push(format!(
            "a namespace has one OperatorGroup: leave ours out if {} has one",
            self.namespace
        ));
        if matches!(
            self.mode,
            InstallModeName::SingleNamespace | InstallModeName::MultiNamespace
        ) {
            notes.push(
                "name the namespaces that the operator is to serve in the OperatorGroup".to_owned(),
            );
        }
        if !self.is_head && self.approval == Approval::Manual {
            notes.push(
                "approval is manual, because the channel has newer versions: approve the first InstallPlan to get this one"
                    .to_owned(),
            );
        }
        if let Some(why) = &self.bundle.deprecation {
            notes.push(format!("this version should no longer be used: {why}"));
        }
        notes
    }
}

/// A text as one word of a shell, whatever is in it.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./@:=+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) && !text.starts_with('-') {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::{is_label, quoted};

    #[test]
    fn what_a_shell_would_obey_is_quoted() {
        assert_eq!(quoted("stable-1.2"), "stable-1.2");
        assert_eq!(quoted("$(reboot)"), "'$(reboot)'");
        assert_eq!(quoted("a'b"), r"'a'\''b'");
        assert_eq!(quoted("--help"), "'--help'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn a_namespace_has_a_plain_name() {
        assert!(is_label("a-1"));
        assert!(!is_label("-a"));
        assert!(!is_label("a.b"));
        assert!(!is_label(""));
    }
}
