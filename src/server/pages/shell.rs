//! What is around every page.

use super::assets;
use crate::server::hub::Hub;

/// The frame of every page: the bar on top and the line below.
#[derive(Debug, Clone, Default)]
pub(super) struct Shell {
    pub(super) section: Section,
    /// What is in the search box.
    pub(super) q: String,
    /// Whether there is a cluster to look at.
    pub(super) has_cluster: bool,
    /// Whether visitors may change the cluster with tokens of their own.
    pub(super) takes_tokens: bool,
}

/// Where in the page somebody is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Section {
    Home,
    Installed,
    #[default]
    Elsewhere,
}

impl Shell {
    pub(super) fn new(hub: &Hub, section: Section) -> Self {
        Self {
            section,
            q: String::new(),
            has_cluster: hub.has_cluster(),
            takes_tokens: hub.writes().writer.is_some(),
        }
    }

    pub(super) fn is_home(&self) -> bool {
        self.section == Section::Home
    }

    pub(super) fn is_installed(&self) -> bool {
        self.section == Section::Installed
    }

    #[allow(clippy::unused_self, reason = "templates have nothing else to ask")]
    pub(super) fn asset(&self, name: &str) -> String {
        assets::address(name)
    }

    #[allow(clippy::unused_self, reason = "templates have nothing else to ask")]
    pub(super) fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}
