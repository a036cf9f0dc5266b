//! What is wrong, in words.

use std::fmt;

use serde::Serialize;

/// A rule that a package breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// A blob of the package could not be read.
    Unreadable,
    /// Channels, bundles and deprecations name their package; its name is a DNS label.
    PackageName,
    /// There is exactly one `olm.package`.
    PackageOnce,
    /// The icon is base64.
    Icon,
    /// A package has channels.
    HasChannels,
    /// A package names one of its channels as the default.
    DefaultChannel,
    /// A channel has a name that no other channel of the package has.
    ChannelName,
    /// A channel has entries.
    ChannelEntries,
    /// An entry has a name that no other entry of the channel has.
    EntryName,
    /// An entry names a bundle.
    EntryBundle,
    /// A skip names something.
    Skip,
    /// A skip range is a range.
    SkipRange,
    /// A channel has exactly one head.
    OneHead,
    /// The chain of replacements has an end.
    NoCycle,
    /// The chain of replacements reaches every entry that is not skipped.
    NotStranded,
    /// A bundle has a name that no other bundle of the package has.
    BundleName,
    /// A bundle is in a channel.
    BundleInChannel,
    /// A bundle has exactly one `olm.package` property, and it names the package.
    PackageProperty,
    /// A property has the form that its type demands.
    Property,
    /// The version of a bundle is a semantic version.
    Version,
    /// The release of a bundle is one.
    Release,
    /// The name of a bundle with a release tells version and release.
    ReleaseName,
    /// No two bundles of a package have the same version.
    VersionOnce,
    /// A bundle has an image, and it can be pulled by what is written.
    Image,
    /// A related image can be pulled by what is written. opm refuses a package for it; but only
    /// those who mirror images need them, and catalogs of older opm hold such.
    RelatedImage,
    /// There is at most one `olm.deprecations`, and nothing in it twice.
    DeprecationOnce,
    /// A deprecation is of something that is there.
    DeprecationReference,
    /// A deprecation says why.
    DeprecationMessage,
    /// Blobs of the same schema and package have different names. opm does not mind.
    OtherOnce,
}

impl Rule {
    /// Whether a package that breaks the rule is left out.
    pub fn refuses(self) -> bool {
        !matches!(self, Self::OtherOnce | Self::RelatedImage)
    }

    /// Whether it is enough to leave out the channel that breaks the rule: whoever follows another channel
    /// of the package does not depend on it.
    pub fn is_of_one_channel(self) -> bool {
        matches!(
            self,
            Self::ChannelEntries
                | Self::EntryName
                | Self::EntryBundle
                | Self::Skip
                | Self::SkipRange
                | Self::OneHead
                | Self::NoCycle
                | Self::NotStranded
        )
    }
}

/// A rule that is broken, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Which rule.
    pub rule: Rule,
    /// In which package.
    pub package: String,
    /// In which channel of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// In which bundle of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub advice: String,
}

impl Problem {
    /// What is wrong, for whoever knows in which channel of which package.
    pub fn in_channel(&self) -> String {
        let bundle = self.bundle.as_ref();
        let bundle = bundle.map_or_else(String::new, |bundle| format!("bundle {bundle:?}: "));
        format!("{bundle}{}: {}", self.problem, self.advice)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "package {:?}", self.package)?;
        if let Some(channel) = &self.channel {
            write!(f, ", channel {channel:?}")?;
        }
        if let Some(bundle) = &self.bundle {
            write!(f, ", bundle {bundle:?}")?;
        }
        write!(f, ": {}: {}", self.problem, self.advice)
    }
}

/// Where a finding is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct At<'a> {
    pub(super) channel: Option<&'a str>,
    pub(super) bundle: Option<&'a str>,
}

impl<'a> At<'a> {
    pub(super) fn package() -> Self {
        Self::default()
    }

    pub(super) fn channel(channel: &'a str) -> Self {
        Self {
            channel: Some(channel),
            bundle: None,
        }
    }

    pub(super) fn bundle(bundle: &'a str) -> Self {
        Self {
            channel: None,
            bundle: Some(bundle),
        }
    }
}

/// Collects what is found.
pub(super) struct Findings {
    package: String,
    problems: Vec<Problem>,
}

impl Findings {
    pub(super) fn new(package: &str) -> Self {
        Self {
            package: package.to_owned(),
            problems: Vec::new(),
        }
    }

    pub(super) fn add(
        &mut self,
        rule: Rule,
        at: At<'_>,
        problem: impl Into<String>,
        advice: impl Into<String>,
    ) {
        self.problems.push(Problem {
            rule,
            package: self.package.clone(),
            channel: at.channel.map(str::to_owned),
            bundle: at.bundle.map(str::to_owned),
            problem: problem.into(),
            advice: advice.into(),
        });
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }
}

/// `a`, `b` and `c`, at most ten of them.
pub(super) fn names<S: AsRef<str>>(names: &[S]) -> String {
    const MANY: usize = 10;
    let quoted: Vec<String> = names
        .iter()
        .take(MANY)
        .map(|name| format!("{:?}", name.as_ref()))
        .collect();
    match (quoted.split_last(), names.len().saturating_sub(MANY)) {
        (None, _) => String::new(),
        (Some((last, [])), 0) => last.clone(),
        (Some((last, first)), 0) => format!("{} and {last}", first.join(", ")),
        (Some(_), more) => format!("{} and {more} more", quoted.join(", ")),
    }
}
