//! What runs in the cluster, how it is, and why upgrades wait.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::failure::Failure;
use super::shell::{Section, Shell};
use super::words::{Tally, package_path, with_query};
use crate::server::hub::views::{Health, Installation};
use crate::server::hub::{Error, Hub, blocking};

#[derive(Template)]
#[template(path = "installed.html")]
struct InstalledPage {
    shell: Shell,
    rows: Vec<Row>,
    tally: Vec<Tally>,
}

/// An operator in a namespace.
struct Row {
    of: Installation,
    /// Its package, if a catalog has it.
    link: Option<String>,
}

pub(super) async fn page(State(hub): State<Arc<Hub>>) -> Result<Response, Failure> {
    let shell = Shell::new(&hub, Section::Installed);
    let work = move || {
        let Some(mut installations) = hub.installations() else {
            return Err(
                Error::not_found("this hub shows catalogs and looks at no cluster")
                    .hint("`chandler run` serves it for a cluster"),
            );
        };
        installations.sort_by(|a, b| {
            (a.health, &a.package, &a.namespace).cmp(&(b.health, &b.package, &b.namespace))
        });
        let rows = installations.into_iter().map(|of| Row {
            link: link(&hub, &of),
            of,
        });
        Ok(rows.collect::<Vec<Row>>())
    };
    let rows = blocking(work).await?;
    super::html(&InstalledPage {
        tally: tally(&rows),
        shell,
        rows,
    })
}

fn link(hub: &Hub, of: &Installation) -> Option<String> {
    let catalog = Some(of.catalog.as_str()).filter(|catalog| !catalog.is_empty());
    let known = hub.package(&of.package, catalog).ok()?;
    let pairs = [
        ("catalog", known.card.catalog.as_str()),
        ("channel", of.channel.as_str()),
    ];
    Some(with_query(&package_path(&of.package), pairs))
}

impl Row {
    fn name(&self) -> &str {
        let names = [&self.of.package, &self.of.csv, &self.of.subscription];
        names
            .into_iter()
            .find(|name| !name.is_empty())
            .map_or("", String::as_str)
    }

    fn badge(&self) -> &'static str {
        badge(self.of.health)
    }

    fn health(&self) -> &'static str {
        match self.of.health {
            Health::Failed => "Failed",
            Health::Pending => "On its way",
            Health::Healthy => "Healthy",
            Health::Unknown => "Unknown",
        }
    }

    /// The command that lets the upgrade go on.
    fn approve(&self) -> String {
        let name = if self.of.subscription.is_empty() {
            &self.of.package
        } else {
            &self.of.subscription
        };
        format!("chandler approve {name} --namespace {}", self.of.namespace)
    }
}

fn badge(health: Health) -> &'static str {
    match health {
        Health::Failed => "bad",
        Health::Pending => "warn",
        Health::Healthy => "good",
        Health::Unknown => "",
    }
}

fn tally(rows: &[Row]) -> Vec<Tally> {
    let all = [
        (Health::Failed, "failed"),
        (Health::Pending, "on their way"),
        (Health::Healthy, "healthy"),
        (Health::Unknown, "unknown"),
    ];
    let counted = all.into_iter().map(|(health, label)| Tally {
        count: rows.iter().filter(|row| row.of.health == health).count(),
        label,
        class: badge(health),
    });
    counted.filter(|tally| tally.count > 0).collect()
}
