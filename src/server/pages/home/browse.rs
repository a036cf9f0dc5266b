//! What the home page says about a list of packages.

use super::query::{HomeQuery, PART};
use crate::server::hub::views::{
    CatalogView, FacetCount, InstallModeName, PackageCard, PackageList,
};
use crate::server::hub::{Sort, encoded};
use crate::server::pages::words::{self, Choice, counted, with_query};

/// So many choices of a filter are shown at once; a few more are not worth a fold.
const FIRST: usize = 8;
const WORTH_A_FOLD: usize = 3;

/// A list with its filters.
pub(in crate::server::pages) struct Browse {
    pub(in crate::server::pages) query: HomeQuery,
    pub(in crate::server::pages) list: PackageList,
    pub(in crate::server::pages) catalogs: Vec<CatalogView>,
    pub(in crate::server::pages) groups: Vec<Group>,
    pub(in crate::server::pages) chips: Vec<Chip>,
}

/// A filter with its choices.
pub(in crate::server::pages) struct Group {
    pub(in crate::server::pages) name: &'static str,
    pub(in crate::server::pages) title: &'static str,
    choices: Vec<Facet>,
    first: usize,
}

/// A choice of a filter.
pub(in crate::server::pages) struct Facet {
    pub(in crate::server::pages) id: String,
    pub(in crate::server::pages) name: String,
    pub(in crate::server::pages) value: String,
    pub(in crate::server::pages) label: String,
    pub(in crate::server::pages) count: usize,
    pub(in crate::server::pages) selected: bool,
}

/// A filter that is in use, and the address without it.
pub(in crate::server::pages) struct Chip {
    pub(in crate::server::pages) label: String,
    pub(in crate::server::pages) link: String,
}

/// What is not shown yet.
pub(in crate::server::pages) struct More {
    pub(in crate::server::pages) count: usize,
    pub(in crate::server::pages) link: String,
}

impl Browse {
    pub(super) fn new(query: HomeQuery, list: PackageList, catalogs: Vec<CatalogView>) -> Self {
        let groups = groups(&list, &catalogs);
        let selected = groups
            .iter()
            .flat_map(|group| &group.choices)
            .filter(|choice| choice.selected);
        let chips = selected
            .map(|choice| Chip {
                label: choice.label.clone(),
                link: query.without(&choice.name, &choice.value),
            })
            .collect();
        Self {
            query,
            list,
            catalogs,
            groups,
            chips,
        }
    }

    pub(in crate::server::pages) fn title(&self) -> String {
        match self.query.filter.q.trim() {
            "" => "Operators · Chandler".to_owned(),
            words => format!("{words} · Operators · Chandler"),
        }
    }

    /// What there is, in a sentence.
    pub(in crate::server::pages) fn lead(&self) -> String {
        let packages: usize = self.catalogs.iter().map(|catalog| catalog.packages).sum();
        let packages = counted(packages, "operator", "operators");
        match self.catalogs.as_slice() {
            [] => "There are no catalogs yet.".to_owned(),
            [one] => format!(
                "{packages} from the catalog {}, every version of them.",
                one.display_name
            ),
            many => format!(
                "{packages} from {} catalogs, every version of them.",
                many.len()
            ),
        }
    }

    /// Catalogs that somebody should look at.
    pub(in crate::server::pages) fn troubled(&self) -> impl Iterator<Item = &CatalogView> {
        self.catalogs
            .iter()
            .filter(|catalog| catalog.problem.is_some())
    }

    /// Catalogs of which not everything is shown.
    pub(in crate::server::pages) fn incomplete(&self) -> impl Iterator<Item = &CatalogView> {
        self.catalogs.iter().filter(|catalog| catalog.left_out > 0)
    }

    #[allow(clippy::unused_self, reason = "templates have nothing else to ask")]
    pub(in crate::server::pages) fn left_out(&self, catalog: &CatalogView) -> String {
        let are = counted(
            catalog.left_out,
            "operator, or a part of it, is",
            "operators or parts of them are",
        );
        format!(
            "{are} left out of the catalog {}: something is wrong with them",
            catalog.display_name
        )
    }

    pub(in crate::server::pages) fn has_many_catalogs(&self) -> bool {
        self.catalogs.len() > 1
    }

    pub(in crate::server::pages) fn cleared(&self) -> String {
        self.query.cleared()
    }

    /// Everything, in the view that was chosen.
    pub(in crate::server::pages) fn all_link(&self) -> String {
        self.query.everything()
    }

    /// Whether something keeps packages out.
    pub(in crate::server::pages) fn is_narrowed(&self) -> bool {
        !self.chips.is_empty() || !self.query.filter.q.trim().is_empty()
    }

    pub(in crate::server::pages) fn found(&self) -> String {
        let found = counted(self.list.total, "operator", "operators");
        match self.query.filter.q.trim() {
            "" => found,
            words => format!("{found} for “{words}”"),
        }
    }

    pub(in crate::server::pages) fn empty_title(&self) -> String {
        match self.query.filter.q.trim() {
            "" if self.is_narrowed() => "Nothing fits these filters".to_owned(),
            "" => "The shelves are empty".to_owned(),
            words => format!("Nothing found for “{words}”"),
        }
    }

    pub(in crate::server::pages) fn empty_hint(&self) -> &'static str {
        if !self.is_narrowed() {
            return "No catalog has anything to offer yet.";
        }
        match (self.chips.is_empty(), self.query.filter.q.trim().is_empty()) {
            (true, _) => "Try fewer or other words; the beginning of a word is enough.",
            (false, true) => "Take a filter out, and there will be more.",
            (false, false) => "Take a filter out, or try other words.",
        }
    }

    pub(in crate::server::pages) fn orders(&self) -> Vec<Choice> {
        let mut orders = vec![
            ("", "A to Z", Sort::Name),
            ("-name", "Z to A", Sort::NameDescending),
            ("newest", "Newest first", Sort::Newest),
        ];
        // What is searched for is in the order of its fit unless somebody says otherwise.
        if !self.query.filter.q.trim().is_empty() {
            orders[0].0 = "name";
            orders.insert(0, ("", "Best fit", Sort::Relevance));
        }
        let chosen = self.query.filter.order();
        orders
            .into_iter()
            .map(|(value, label, order)| Choice {
                value: value.to_owned(),
                label: label.to_owned(),
                selected: order == chosen,
            })
            .collect()
    }

    pub(in crate::server::pages) fn view_link(&self, is_list: bool) -> String {
        self.query.with("view", if is_list { "list" } else { "" })
    }

    pub(in crate::server::pages) fn more(&self) -> Option<More> {
        let left = self
            .list
            .total
            .checked_sub(self.query.show)
            .filter(|left| *left > 0)?;
        let show = (self.query.show + PART).to_string();
        Some(More {
            count: left.min(PART),
            link: self.query.with("show", &show),
        })
    }

    #[allow(clippy::unused_self, reason = "templates have nothing else to ask")]
    pub(in crate::server::pages) fn name<'a>(&self, card: &'a PackageCard) -> &'a str {
        words::display_name(&card.display_name, &card.name)
    }

    pub(in crate::server::pages) fn letter(&self, card: &PackageCard) -> String {
        words::letter(self.name(card))
    }

    #[allow(clippy::unused_self, reason = "templates have nothing else to ask")]
    pub(in crate::server::pages) fn level(&self, card: &PackageCard) -> u8 {
        words::level(&card.capability_level)
    }

    pub(in crate::server::pages) fn card_link(&self, card: &PackageCard) -> String {
        let catalog = if self.has_many_catalogs() {
            card.catalog.as_str()
        } else {
            ""
        };
        with_query(&words::package_path(&card.name), [("catalog", catalog)])
    }
}

impl Group {
    fn new(name: &'static str, title: &'static str, choices: Vec<Facet>) -> Self {
        let first = if choices.len() <= FIRST + WORTH_A_FOLD {
            choices.len()
        } else {
            FIRST
        };
        Self {
            name,
            title,
            choices,
            first,
        }
    }

    /// With the greatest first, those that are chosen before all others, and without those that would
    /// show nothing: of two hundred providers only a few can be shown.
    fn by_count(name: &'static str, title: &'static str, mut choices: Vec<Facet>) -> Self {
        choices.retain(|choice| choice.selected || choice.count > 0);
        choices.sort_by_key(|choice| (!choice.selected, std::cmp::Reverse(choice.count)));
        let chosen = choices.iter().filter(|choice| choice.selected).count();
        let mut group = Self::new(name, title, choices);
        group.first = group.first.max(chosen);
        let (_, rest) = group.choices.split_at_mut(group.first);
        rest.sort_by_key(|choice| choice.label.to_lowercase());
        group
    }

    pub(in crate::server::pages) fn first(&self) -> &[Facet] {
        &self.choices[..self.first]
    }

    pub(in crate::server::pages) fn rest(&self) -> &[Facet] {
        &self.choices[self.first..]
    }
}

/// All filters that leave a choice.
fn groups(list: &PackageList, catalogs: &[CatalogView]) -> Vec<Group> {
    let facets = &list.facets;
    let as_is = |value: &str| value.to_owned();
    let catalog = |value: &str| {
        let known = catalogs.iter().find(|catalog| catalog.id == value);
        known.map_or_else(|| value.to_owned(), |catalog| catalog.display_name.clone())
    };
    let mode = |value: &str| {
        let known = InstallModeName::ALL
            .into_iter()
            .find(|mode| mode.as_str() == value);
        known.map_or_else(
            || value.to_owned(),
            |mode| words::mode_label(mode).to_owned(),
        )
    };
    let states = facets.states.iter().map(|state| Facet {
        id: format!("state-{}", state.value),
        name: state.value.clone(),
        value: "true".to_owned(),
        label: state_label(&state.value),
        count: state.count,
        selected: state.selected,
    });
    let mut groups = vec![
        Group::new(
            "category",
            "Category",
            choices("category", &facets.categories, as_is),
        ),
        Group::by_count(
            "provider",
            "Provider",
            choices("provider", &facets.providers, as_is),
        ),
        Group::new(
            "capabilityLevel",
            "Capability level",
            choices("capabilityLevel", &facets.capability_levels, as_is),
        ),
        Group::new(
            "catalog",
            "Catalog",
            choices("catalog", &facets.catalogs, catalog),
        ),
        Group::new(
            "installMode",
            "Can serve",
            choices("installMode", &facets.install_modes, mode),
        ),
        Group::new("state", "State", states.collect()),
    ];
    groups.retain(|group| match group.name {
        "catalog" => group.choices.len() > 1,
        _ => !group.choices.is_empty(),
    });
    groups
}

fn choices(name: &str, facets: &[FacetCount], label: impl Fn(&str) -> String) -> Vec<Facet> {
    facets
        .iter()
        .map(|facet| Facet {
            id: format!("{name}-{}", encoded(&facet.value)),
            name: name.to_owned(),
            value: facet.value.clone(),
            label: label(&facet.value),
            count: facet.count,
            selected: facet.selected,
        })
        .collect()
}

fn state_label(state: &str) -> String {
    let label = match state {
        "installed" => "Installed",
        "upgradable" => "Upgrade available",
        "deprecated" => "Deprecated",
        other => other,
    };
    label.to_owned()
}
