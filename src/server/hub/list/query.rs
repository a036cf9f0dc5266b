//! What a list of packages is asked for.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::error::Error;
use super::super::views::InstallModeName;

/// How long the words of a search may be.
const LONGEST_SEARCH: usize = 128;
/// How many values all filters may have together.
const MOST_VALUES: usize = 64;
/// How many packages a part of a list has, if nobody says otherwise, and at most.
pub(super) const USUAL_PART: usize = 50;
const LARGEST_PART: usize = 1000;

/// Which packages a list shows. Several values of one filter mean any of them, several filters mean
/// all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PackageQuery {
    /// Words to search for. Every word has to fit; the beginning of one is enough, and a typo is
    /// forgiven.
    #[param(value_type = Option<String>, max_length = 128)]
    pub q: String,
    /// Only packages of these categories.
    #[param(rename = "category", max_items = 64)]
    pub categories: Vec<String>,
    /// Only packages of these providers.
    #[param(rename = "provider", max_items = 64)]
    pub providers: Vec<String>,
    /// Only packages of these capability levels.
    #[param(rename = "capabilityLevel", max_items = 64)]
    pub capability_levels: Vec<String>,
    /// Only packages of these catalogs.
    #[param(rename = "catalog", max_items = 64)]
    pub catalogs: Vec<String>,
    /// Only packages that support one of these install modes.
    #[param(rename = "installMode", max_items = 64)]
    pub install_modes: Vec<InstallModeName>,
    /// Only packages that are installed, or only those that are not.
    pub installed: Option<bool>,
    /// Only packages with an upgrade, or only those without.
    pub upgradable: Option<bool>,
    /// Only deprecated packages, or only those that are not.
    pub deprecated: Option<bool>,
    /// The order. By default the best fit first when something is searched for, and else by name.
    #[param(inline)]
    pub sort: Option<Sort>,
    /// How many packages at most.
    #[param(minimum = 1, maximum = 1000, default = 50)]
    pub limit: Option<usize>,
    /// Where to go on: `next` of the part before.
    #[param(max_length = 4096)]
    pub cursor: Option<String>,
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum Sort {
    /// The best fit first.
    #[serde(rename = "relevance")]
    Relevance,
    /// A to Z.
    #[serde(rename = "name")]
    Name,
    /// Z to A.
    #[serde(rename = "-name")]
    NameDescending,
    /// The newest first.
    #[serde(rename = "newest")]
    Newest,
}

impl Sort {
    const ALL: [(&'static str, Self); 4] = [
        ("relevance", Self::Relevance),
        ("name", Self::Name),
        ("-name", Self::NameDescending),
        ("newest", Self::Newest),
    ];
}

impl PackageQuery {
    /// Understands the query of an address. What is empty was not said; what is not known is
    /// refused.
    pub fn parse(query: &str) -> Result<Self, Error> {
        let mut parsed = Self::default();
        let mut counts: HashMap<String, usize> = HashMap::new();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            known(&key)?;
            let count = counts.entry(key.to_string()).or_default();
            *count += 1;
            if *count > MOST_VALUES {
                return Err(Error::bad_request(format!(
                    "`{key}` is given more than {MOST_VALUES} times"
                )));
            }
            if value.is_empty() {
                continue;
            }
            parsed.take(&key, &value)?;
        }
        Ok(parsed)
    }

    fn take(&mut self, key: &str, value: &str) -> Result<(), Error> {
        match key {
            "q" => self.q = searched(value)?,
            "category" => self.categories.push(value.to_owned()),
            "provider" => self.providers.push(value.to_owned()),
            "capabilityLevel" => self.capability_levels.push(value.to_owned()),
            "catalog" => self.catalogs.push(value.to_owned()),
            "installMode" => self.install_modes.push(install_mode(value)?),
            "installed" => self.installed = Some(yes_or_no(key, value)?),
            "upgradable" => self.upgradable = Some(yes_or_no(key, value)?),
            "deprecated" => self.deprecated = Some(yes_or_no(key, value)?),
            "sort" => self.sort = Some(sort(value)?),
            "limit" => self.limit = Some(limit(value)?),
            "cursor" => self.cursor = Some(value.to_owned()),
            other => known(other)?,
        }
        Ok(())
    }

    /// Whether there is such a parameter.
    pub fn knows(key: &str) -> bool {
        KNOWN.contains(&key)
    }

    /// The order that is meant.
    pub fn order(&self) -> Sort {
        let usual = if self.q.trim().is_empty() {
            Sort::Name
        } else {
            Sort::Relevance
        };
        self.sort.unwrap_or(usual)
    }
}

/// All parameters.
const KNOWN: [&str; 12] = [
    "q",
    "category",
    "provider",
    "capabilityLevel",
    "catalog",
    "installMode",
    "installed",
    "upgradable",
    "deprecated",
    "sort",
    "limit",
    "cursor",
];

/// Refuses what is no parameter.
fn known(key: &str) -> Result<(), Error> {
    if KNOWN.contains(&key) {
        return Ok(());
    }
    let error = Error::bad_request(format!("`{key}` is no parameter of this list"));
    Err(error.hint(format!("there are {}", KNOWN.join(", "))))
}

fn searched(value: &str) -> Result<String, Error> {
    if value.chars().count() > LONGEST_SEARCH {
        return Err(Error::bad_request(format!(
            "the words to search for are longer than {LONGEST_SEARCH} characters"
        ))
        .hint("search for fewer words"));
    }
    Ok(value.to_owned())
}

fn install_mode(value: &str) -> Result<InstallModeName, Error> {
    let mut all = InstallModeName::ALL.into_iter();
    all.find(|mode| mode.as_str() == value).ok_or_else(|| {
        Error::bad_request(format!("`{value}` is no install mode")).hint(format!(
            "there are {}",
            InstallModeName::ALL.map(InstallModeName::as_str).join(", ")
        ))
    })
}

fn yes_or_no(key: &str, value: &str) -> Result<bool, Error> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Error::bad_request(format!(
            "`{key}` is `true` or `false`, not `{value}`"
        ))),
    }
}

fn sort(value: &str) -> Result<Sort, Error> {
    let mut all = Sort::ALL.into_iter();
    let found = all.find(|(name, _)| *name == value);
    found.map(|(_, sort)| sort).ok_or_else(|| {
        Error::bad_request(format!("`{value}` is no order")).hint(format!(
            "there are {}",
            Sort::ALL.map(|(name, _)| name).join(", ")
        ))
    })
}

fn limit(value: &str) -> Result<usize, Error> {
    let number = value.parse().ok();
    let number = number.filter(|number| (1..=LARGEST_PART).contains(number));
    number.ok_or_else(|| {
        Error::bad_request(format!(
            "`limit` is a number from 1 to {LARGEST_PART}, not `{value}`"
        ))
    })
}
