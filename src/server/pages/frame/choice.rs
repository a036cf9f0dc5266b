//! Which channel and version an address means.

use crate::server::hub::Error;
use crate::server::hub::views::{ChannelEntryView, ChannelView, PackagePage};

/// What the query of a package's address says. What is empty was not said, and what a tab does not
/// know does not bother it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::server::pages) struct PackageChoice {
    pub(in crate::server::pages) catalog: Option<String>,
    pub(in crate::server::pages) channel: Option<String>,
    pub(in crate::server::pages) version: Option<String>,
    pub(in crate::server::pages) namespace: Option<String>,
    pub(in crate::server::pages) mode: Option<String>,
    pub(in crate::server::pages) from: Option<String>,
    pub(in crate::server::pages) to: Option<String>,
    pub(in crate::server::pages) all: Option<String>,
}

impl PackageChoice {
    pub(in crate::server::pages) fn parse(query: Option<&str>) -> Self {
        let mut choice = Self::default();
        for (key, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            let place = match &*key {
                "catalog" => &mut choice.catalog,
                "channel" => &mut choice.channel,
                "version" => &mut choice.version,
                "namespace" => &mut choice.namespace,
                "mode" => &mut choice.mode,
                "from" => &mut choice.from,
                "to" => &mut choice.to,
                "all" => &mut choice.all,
                _ => continue,
            };
            if !value.is_empty() {
                *place = Some(value.into_owned());
            }
        }
        choice
    }
}

/// The channel and its entry that are meant: by default the head of the default channel. A version
/// alone is looked for in all channels; a channel that lacks the version shows its head, because
/// whoever chooses a channel in a form sends the version of the one before along.
pub(super) fn chosen<'p>(
    page: &'p PackagePage,
    choice: &PackageChoice,
) -> Result<(&'p ChannelView, &'p ChannelEntryView), Error> {
    let package = &page.card.name;
    let version = choice.version.as_deref();
    let channel = match (&choice.channel, version) {
        (Some(name), _) => page
            .channels
            .iter()
            .find(|channel| channel.name == *name)
            .ok_or_else(|| {
                let all: Vec<&str> = page
                    .channels
                    .iter()
                    .map(|channel| channel.name.as_str())
                    .collect();
                Error::not_found(format!("package {package} has no channel {name}"))
                    .hint(format!("there are {}", all.join(", ")))
            })?,
        (None, Some(version)) => {
            let has_it = |channel: &&ChannelView| entry(channel, version).is_some();
            page.channels.iter().find(has_it).ok_or_else(|| {
                Error::not_found(format!("package {package} has no version {version}"))
                    .hint("look at its versions for those that there are")
            })?
        }
        (None, None) => usual(page).ok_or_else(|| empty(package))?,
    };
    let wanted = version.and_then(|version| entry(channel, version));
    let head = channel
        .entries
        .iter()
        .find(|entry| entry.name == channel.head);
    let found = wanted.or(head).or_else(|| channel.entries.first());
    Ok((channel, found.ok_or_else(|| empty(package))?))
}

fn usual(page: &PackagePage) -> Option<&ChannelView> {
    let mut channels = page.channels.iter();
    channels
        .find(|channel| channel.is_default)
        .or_else(|| page.channels.first())
}

fn entry<'p>(channel: &'p ChannelView, version: &str) -> Option<&'p ChannelEntryView> {
    let mut entries = channel.entries.iter();
    entries.find(|entry| entry.version == version || entry.name == version)
}

fn empty(package: &str) -> Error {
    Error::not_found(format!("package {package} has no versions in its channels"))
        .hint("ask the publisher of the catalog")
}
