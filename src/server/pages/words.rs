//! Small words and addresses that several pages share.

pub(in crate::server::pages) mod visible;

use crate::server::hub::encoded;
use crate::server::hub::views::InstallModeName;

/// A choice that a form offers.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    pub(super) value: String,
    pub(super) label: String,
    pub(super) selected: bool,
}

/// So many of something.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) count: usize,
    pub(super) label: &'static str,
    pub(super) class: &'static str,
}

/// Where a package is shown.
pub(super) fn package_path(package: &str) -> String {
    format!("/packages/{}", encoded(package))
}

/// An address with a query; pairs without a value are left out.
pub(super) fn with_query<'a>(
    path: &str,
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> String {
    let mut address = path.to_owned();
    let mut sign = '?';
    for (key, value) in pairs {
        if !value.is_empty() {
            address.push(sign);
            address.push_str(key);
            address.push('=');
            address.push_str(&encoded(value).to_string());
            sign = '&';
        }
    }
    address
}

/// What an operator that supports a mode can look after.
pub(super) fn mode_label(mode: InstallModeName) -> &'static str {
    match mode {
        InstallModeName::OwnNamespace => "its own namespace",
        InstallModeName::SingleNamespace => "one other namespace",
        InstallModeName::MultiNamespace => "several namespaces",
        InstallModeName::AllNamespaces => "all namespaces",
    }
}

/// The five capability levels by number; 0 is one that nobody knows.
pub(super) fn level(text: &str) -> u8 {
    match text.to_ascii_lowercase().as_str() {
        "basic install" => 1,
        "seamless upgrades" => 2,
        "full lifecycle" => 3,
        "deep insights" => 4,
        "auto pilot" => 5,
        _ => 0,
    }
}

/// What stands for a package that has no picture.
pub(super) fn letter(name: &str) -> String {
    name.chars()
        .find(|c| c.is_alphanumeric())
        .map_or_else(|| "·".to_owned(), String::from)
}

/// Its name for people, or else its name.
pub(super) fn display_name<'a>(display_name: &'a str, name: &'a str) -> &'a str {
    if display_name.trim().is_empty() {
        name
    } else {
        display_name
    }
}

/// `1 operator`, `2 operators`.
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 {
        format!("1 {one}")
    } else {
        format!("{count} {many}")
    }
}

/// Messages begin in lower case and end without a full stop; a page has sentences.
pub(super) fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let Some(first) = letters.next() else {
        return String::new();
    };
    let mut text: String = first.to_uppercase().chain(letters).collect();
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{letter, package_path, with_query};

    #[test]
    fn whatever_a_package_is_called_its_address_stays_one_segment() {
        assert_eq!(package_path("a/../b?c#d"), "/packages/a%2F..%2Fb%3Fc%23d");
    }

    #[test]
    fn empty_values_are_no_part_of_an_address() {
        assert_eq!(
            with_query("/x", [("a", ""), ("b", "1 2"), ("c", "&")]),
            "/x?b=1%202&c=%26"
        );
    }

    #[test]
    fn a_package_without_a_picture_has_a_letter() {
        assert_eq!(letter("-gopher"), "g");
        assert_eq!(letter("…"), "·");
    }
}
