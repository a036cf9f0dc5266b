//! What all tabs of a package share: which version is looked at, and addresses that keep it so.

mod choice;
mod tabs;

use crate::server::hub::views::{
    ChannelEntryView, ChannelView, Dependent, DeprecatedKind, LinkView, PackagePage,
    PackageReference, VersionSummary, VersionView,
};
use crate::server::hub::{Error, Hub, encoded};
use crate::server::pages::shell::{Section, Shell};
use crate::server::pages::words::{self, Choice, with_query};

pub(super) use choice::PackageChoice;
pub(super) use tabs::Tab;
use tabs::TabLink;

/// A package, and which of its versions is looked at.
pub(super) struct Frame {
    pub(super) page: PackagePage,
    pub(super) channel: ChannelView,
    pub(super) version: VersionView,
    pub(super) tab: Tab,
    /// The catalog, if the address has to name it.
    catalog: String,
}

/// Something that should no longer be used.
pub(super) struct Warning {
    pub(super) title: String,
    pub(super) message: String,
}

impl Frame {
    /// Finds what an address asks for.
    pub(super) fn load(
        hub: &Hub,
        package: &str,
        choice: &PackageChoice,
        tab: Tab,
    ) -> Result<Self, Error> {
        let page = hub.package(package, choice.catalog.as_deref())?;
        let (channel, entry) = choice::chosen(&page, choice)?;
        let version = hub.package_version(package, choice.catalog.as_deref(), &entry.name)?;
        let catalog = if choice.catalog.is_some() || !page.also_in.is_empty() {
            page.card.catalog.clone()
        } else {
            String::new()
        };
        Ok(Self {
            channel: channel.clone(),
            version,
            tab,
            catalog,
            page,
        })
    }

    /// What is around the page.
    pub(super) fn shell(hub: &Hub) -> Shell {
        Shell::new(hub, Section::Elsewhere)
    }

    /// The catalog it is of, for questions to the hub.
    pub(super) fn catalog(&self) -> &str {
        &self.page.card.catalog
    }

    pub(super) fn name(&self) -> &str {
        words::display_name(&self.page.card.display_name, &self.page.card.name)
    }

    pub(super) fn letter(&self) -> String {
        words::letter(self.name())
    }

    /// The version of the bundle, or its name where it has none.
    pub(super) fn number_of_version(&self) -> &str {
        self.number_of(&self.version.summary)
    }

    #[allow(clippy::unused_self, reason = "templates have nothing else to ask")]
    pub(super) fn number_of<'a>(&self, version: &'a VersionSummary) -> &'a str {
        number(&version.version, &version.name)
    }

    #[allow(clippy::unused_self, reason = "templates have nothing else to ask")]
    pub(super) fn number<'a>(&self, entry: &'a ChannelEntryView) -> &'a str {
        number(&entry.version, &entry.name)
    }

    pub(super) fn level(&self) -> u8 {
        words::level(&self.version.about.capability_level)
    }

    /// The day it was made: authors write the time in many ways, or whatever.
    pub(super) fn date(&self) -> &str {
        let text = self.version.about.created_at.trim();
        let is_day = |day: &str| {
            let mut parts = day.split('-').map(|part| part.parse::<u16>().is_ok());
            parts.by_ref().take(3).all(|part| part)
        };
        text.get(..10).filter(|day| is_day(day)).unwrap_or(text)
    }

    /// All install modes, and whether it supports them.
    pub(super) fn modes(&self) -> Vec<Choice> {
        use crate::server::hub::views::InstallModeName;
        let supported = &self.version.summary.install_modes;
        InstallModeName::ALL
            .into_iter()
            .map(|mode| Choice {
                value: mode.as_str().to_owned(),
                label: words::mode_label(mode).to_owned(),
                selected: supported.contains(&mode),
            })
            .collect()
    }

    /// Deprecations of what is looked at.
    pub(super) fn deprecations(&self) -> Vec<Warning> {
        let bundle = &self.version.summary.name;
        let concerns = self.page.deprecations.iter().filter(|one| match one.kind {
            DeprecatedKind::Package => true,
            DeprecatedKind::Channel => one.name == self.channel.name,
            DeprecatedKind::Version => one.name == *bundle,
        });
        concerns
            .map(|one| Warning {
                title: match one.kind {
                    DeprecatedKind::Package => "This operator is deprecated".to_owned(),
                    DeprecatedKind::Channel => format!("Channel {} is deprecated", one.name),
                    DeprecatedKind::Version => {
                        format!("Version {} is deprecated", self.number_of_version())
                    }
                },
                message: one.message.clone(),
            })
            .collect()
    }

    pub(super) fn tabs(&self) -> Vec<TabLink> {
        let count = |count: usize| (count > 0).then_some(count);
        let tab = |tab: Tab, count| TabLink {
            title: tab.title(),
            link: self.link(tab),
            is_current: tab == self.tab,
            count,
        };
        vec![
            tab(Tab::Overview, None),
            tab(Tab::Versions, count(self.page.versions.len())),
            tab(Tab::Apis, count(self.version.provides.len())),
            tab(Tab::Permissions, None),
            tab(Tab::Dependencies, count(self.version.requires.len())),
            tab(Tab::Images, count(self.version.related_images.len())),
            tab(Tab::Diff, None),
        ]
    }
}

/// Addresses.
impl Frame {
    /// The address of a tab without its query, for forms.
    pub(super) fn path(&self, tab: Tab) -> String {
        format!(
            "{}{}",
            words::package_path(&self.page.card.name),
            tab.path()
        )
    }

    /// Where it is, without the query.
    pub(super) fn here(&self) -> String {
        self.path(self.tab)
    }

    /// Where versions are compared.
    pub(super) fn diff_path(&self) -> String {
        self.path(Tab::Diff)
    }

    /// A tab of the same version.
    pub(super) fn link(&self, tab: Tab) -> String {
        with_query(&self.path(tab), self.pairs())
    }

    /// The same tab, with something more to say.
    pub(super) fn link_with(&self, key: &str, value: &str) -> String {
        with_query(
            &self.path(self.tab),
            self.pairs().into_iter().chain([(key, value)]),
        )
    }

    /// The same tab of another version.
    pub(super) fn version_link(&self, version: &str) -> String {
        let channel = self
            .channel
            .entries
            .iter()
            .any(|entry| self.number(entry) == version);
        let channel = if channel { self.said_channel() } else { "" };
        let pairs = [
            ("catalog", self.catalog.as_str()),
            ("channel", channel),
            ("version", version),
        ];
        with_query(&self.path(self.tab), pairs)
    }

    /// What stays when another channel or version is chosen.
    pub(super) fn kept(&self) -> Vec<(&str, &str)> {
        let pairs = [("catalog", self.catalog.as_str())];
        pairs
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .collect()
    }

    /// What is chosen.
    pub(super) fn chosen(&self) -> Vec<(&str, &str)> {
        self.pairs()
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .collect()
    }

    fn pairs(&self) -> [(&str, &str); 3] {
        let is_head = self.version.summary.name == self.channel.head;
        let version = if is_head {
            ""
        } else {
            self.number_of_version()
        };
        [
            ("catalog", &self.catalog),
            ("channel", self.said_channel()),
            ("version", version),
        ]
    }

    /// The channel, if the address has to name it.
    fn said_channel(&self) -> &str {
        if self.channel.is_default {
            ""
        } else {
            &self.channel.name
        }
    }

    pub(super) fn other_catalog_link(&self, catalog: &str) -> String {
        with_query(&self.path(Tab::Overview), [("catalog", catalog)])
    }

    #[allow(clippy::unused_self, reason = "templates have nothing else to ask")]
    pub(super) fn package_link(&self, package: &PackageReference) -> String {
        let path = words::package_path(&package.package);
        with_query(&path, [("catalog", package.catalog.as_str())])
    }

    #[allow(clippy::unused_self, reason = "templates have nothing else to ask")]
    pub(super) fn dependent_link(&self, dependent: &Dependent) -> String {
        let path = words::package_path(&dependent.package);
        with_query(&path, [("catalog", dependent.catalog.as_str())])
    }

    #[allow(clippy::unused_self, reason = "templates have nothing else to ask")]
    pub(super) fn category_link(&self, category: &str) -> String {
        with_query("/", [("category", category)])
    }

    #[allow(clippy::unused_self, reason = "templates have nothing else to ask")]
    pub(super) fn word_link(&self, word: &str) -> String {
        let short: String = word.chars().take(128).collect();
        with_query("/", [("q", short.as_str())])
    }

    pub(super) fn feed(&self) -> String {
        let path = format!(
            "/api/v1/packages/{}/feed.atom",
            encoded(&self.page.card.name)
        );
        with_query(&path, [("catalog", self.catalog.as_str())])
    }

    #[allow(clippy::unused_self, reason = "templates have nothing else to ask")]
    pub(super) fn is_link(&self, text: &str) -> bool {
        text.starts_with("https://") || text.starts_with("http://")
    }

    #[allow(clippy::unused_self, reason = "templates have nothing else to ask")]
    pub(super) fn short_link<'a>(&self, link: &'a str) -> &'a str {
        let short = link
            .trim_start_matches("https://")
            .trim_start_matches("http://");
        short.trim_end_matches('/')
    }

    pub(super) fn link_text<'a>(&self, link: &'a LinkView) -> &'a str {
        if link.name.trim().is_empty() {
            self.short_link(&link.url)
        } else {
            &link.name
        }
    }
}

fn number<'a>(version: &'a str, name: &'a str) -> &'a str {
    if version.is_empty() { name } else { version }
}
