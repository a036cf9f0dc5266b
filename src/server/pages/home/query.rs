//! What the address of the home page says.

use crate::server::hub::{Error, PackageQuery};
use crate::server::pages::words::with_query;

/// So many cards are shown at first, and so many more at a time.
pub(super) const PART: usize = 24;
const MOST: usize = 1000;

/// What is shown, and how.
#[derive(Debug, Clone)]
pub(in crate::server::pages) struct HomeQuery {
    pub(in crate::server::pages) filter: PackageQuery,
    pub(in crate::server::pages) is_list: bool,
    pub(super) show: usize,
    /// Everything that was said, to make addresses that differ in one thing.
    pairs: Vec<(String, String)>,
}

impl HomeQuery {
    /// Understands the query of an address.
    pub(super) fn parse(query: &str) -> Result<Self, Error> {
        let mut pairs = Vec::new();
        let mut filters = form_urlencoded::Serializer::new(String::new());
        let (mut is_list, mut show) = (false, PART);
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            if value.is_empty() {
                continue;
            }
            match &*key {
                "view" => is_list = value == "list",
                "show" => {
                    let number: Option<usize> = value.parse().ok();
                    show = number.unwrap_or(PART).clamp(PART, MOST);
                }
                filter if PackageQuery::knows(filter) => {
                    filters.append_pair(filter, &value);
                }
                // Addresses are passed on with what mails and advertisements add to them.
                _ => continue,
            }
            pairs.push((key.into_owned(), value.into_owned()));
        }
        let mut filter = PackageQuery::parse(&filters.finish())?;
        filter.limit = Some(show);
        filter.cursor = None;
        Ok(Self {
            filter,
            is_list,
            show,
            pairs,
        })
    }

    /// The address with another value; nothing takes it out.
    pub(super) fn with(&self, key: &str, value: &str) -> String {
        let others = self.pairs.iter().filter(|(own, _)| own != key);
        let others = others.map(|(key, value)| (key.as_str(), value.as_str()));
        with_query("/", others.chain([(key, value)]))
    }

    /// The address without a filter. Fewer filters begin with the first cards again.
    pub(super) fn without(&self, key: &str, value: &str) -> String {
        let others = self.pairs.iter().filter(|(own_key, own_value)| {
            own_key != "show" && (own_key != key || own_value != value)
        });
        with_query(
            "/",
            others.map(|(key, value)| (key.as_str(), value.as_str())),
        )
    }

    /// The address without any filter; words, order and view stay.
    pub(super) fn cleared(&self) -> String {
        self.only(&["q", "sort", "view"])
    }

    /// The address of all packages; the view stays.
    pub(super) fn everything(&self) -> String {
        self.only(&["view"])
    }

    fn only(&self, keys: &[&str]) -> String {
        let kept = self.pairs.iter();
        let kept = kept.filter(|(key, _)| keys.contains(&key.as_str()));
        with_query("/", kept.map(|(key, value)| (key.as_str(), value.as_str())))
    }
}

#[cfg(test)]
mod tests {
    use super::{HomeQuery, PART};

    #[test]
    fn an_address_says_what_is_shown() {
        let query =
            HomeQuery::parse("q=gopher&category=Database&category=Storage&view=list&show=96")
                .unwrap();
        assert_eq!(query.filter.q, "gopher");
        assert_eq!(query.filter.categories, ["Database", "Storage"]);
        assert!(query.is_list);
        assert_eq!(query.show, 96);
    }

    #[test]
    fn nonsense_in_how_it_is_shown_does_no_harm() {
        let query = HomeQuery::parse("show=many&view=").unwrap();
        assert_eq!(query.show, PART);
        assert!(!query.is_list);
    }

    #[test]
    fn what_others_add_to_an_address_is_left_out() {
        let query = HomeQuery::parse("utm_source=x&q=gopher&fbclid=1&view=list").unwrap();
        assert_eq!(query.filter.q, "gopher");
        assert_eq!(query.with("sort", ""), "/?q=gopher&view=list");
        assert_eq!(query.everything(), "/?view=list");
        assert!(HomeQuery::parse("sort=sideways").is_err());
    }

    #[test]
    fn a_filter_can_be_taken_out_alone() {
        let query = HomeQuery::parse("category=A&category=B&show=96").unwrap();
        assert_eq!(query.without("category", "A"), "/?category=B");
        assert_eq!(
            query.with("view", "list"),
            "/?category=A&category=B&show=96&view=list"
        );
        assert_eq!(query.cleared(), "/");
    }
}
