//! The tabs of a package.

/// A tab; each has an address of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server::pages) enum Tab {
    Overview,
    Versions,
    Apis,
    Permissions,
    Dependencies,
    Images,
    Diff,
}

/// A tab, and how much is behind it.
pub(in crate::server::pages) struct TabLink {
    pub(in crate::server::pages) title: &'static str,
    pub(in crate::server::pages) link: String,
    pub(in crate::server::pages) is_current: bool,
    pub(in crate::server::pages) count: Option<usize>,
}

impl Tab {
    pub(in crate::server::pages) fn title(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Versions => "Versions",
            Self::Apis => "APIs",
            Self::Permissions => "Permissions",
            Self::Dependencies => "Dependencies",
            Self::Images => "Images",
            Self::Diff => "Compare",
        }
    }

    /// Its part of the address.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Overview => "",
            Self::Versions => "/versions",
            Self::Apis => "/apis",
            Self::Permissions => "/permissions",
            Self::Dependencies => "/dependencies",
            Self::Images => "/images",
            Self::Diff => "/diff",
        }
    }
}
