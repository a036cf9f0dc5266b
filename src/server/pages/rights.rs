//! Rights in plain words.

use super::words::{Tally, sentence};
use crate::server::hub::views::{Danger, Permission};

/// A right as it is shown.
pub(super) struct Right {
    pub(super) of: Permission,
}

impl Right {
    pub(super) fn all(permissions: &[Permission]) -> Vec<Self> {
        permissions
            .iter()
            .map(|of| Self { of: of.clone() })
            .collect()
    }

    pub(super) fn class(&self) -> &'static str {
        match self.of.danger {
            Danger::Critical => "critical",
            Danger::High => "high",
            Danger::Medium => "medium",
            Danger::Low => "low",
        }
    }

    pub(super) fn badge(&self) -> &'static str {
        badge(self.of.danger)
    }

    pub(super) fn label(&self) -> &'static str {
        match self.of.danger {
            Danger::Critical => "Critical",
            Danger::High => "High",
            Danger::Medium => "Medium",
            Danger::Low => "Low",
        }
    }

    pub(super) fn words(&self) -> String {
        sentence(&self.of.words)
    }

    pub(super) fn because(&self) -> String {
        sentence(&self.of.because)
    }

    /// As Kubernetes has it.
    pub(super) fn what(&self) -> String {
        if !self.of.urls.is_empty() {
            return self.of.urls.join(", ");
        }
        match self.of.group.as_str() {
            "" => self.of.resource.clone(),
            group => format!("{}.{group}", self.of.resource),
        }
    }
}

/// How many of each danger there are, the greatest first.
pub(super) fn tally(permissions: &[Permission]) -> Vec<Tally> {
    let all = [
        (Danger::Critical, "critical"),
        (Danger::High, "high"),
        (Danger::Medium, "medium"),
        (Danger::Low, "low"),
    ];
    let counted = all.into_iter().map(|(danger, label)| Tally {
        count: permissions
            .iter()
            .filter(|one| one.danger == danger)
            .count(),
        label,
        class: badge(danger),
    });
    counted.filter(|tally| tally.count > 0).collect()
}

fn badge(danger: Danger) -> &'static str {
    match danger {
        Danger::Critical | Danger::High => "bad",
        Danger::Medium => "warn",
        Danger::Low => "",
    }
}
