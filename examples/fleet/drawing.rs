//! The gophers that there are, and how they look.

use std::fmt::Write as _;

/// A gopher to choose from.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    fur: &'static str,
    sky: &'static str,
    /// What it wears, in SVG, on a gopher whose eyes are at y 30 and whose head ends at y 16.
    wears: &'static str,
}

const CAP: &str = r##"<path d="M14 22q18-18 36 0z" fill="#1d2b53"/><rect x="12" y="20" width="40" height="5" rx="2" fill="#f4f1de"/><circle cx="32" cy="15" r="3" fill="#f2c14e"/>"##;
const HELMET: &str = r##"<circle cx="32" cy="33" r="23" fill="#fff" opacity=".25" stroke="#fff" stroke-width="3"/><path d="M18 22q6-9 14-10" stroke="#fff" stroke-width="2" fill="none"/>"##;
const CROWN: &str = r##"<path d="M18 21V9l7 6 7-8 7 8 7-6v12z" fill="#f2c14e" stroke="#c98b1b"/>"##;
const SCARF: &str = r##"<path d="M15 47q17 8 34 0v6q-17 8-34 0z" fill="#d1495b"/><path d="M42 51l4 11h-8z" fill="#b23a4b"/>"##;
const GLASSES: &str = r##"<g fill="none" stroke="#222" stroke-width="2"><circle cx="25" cy="30" r="8"/><circle cx="39" cy="30" r="8"/><path d="M17 29l-5-3M47 29l5-3"/></g>"##;
const FLOWER: &str = r##"<g fill="#ef6f9a"><circle cx="45" cy="12" r="4"/><circle cx="51" cy="16" r="4"/><circle cx="49" cy="22" r="4"/><circle cx="42" cy="21" r="4"/><circle cx="40" cy="15" r="4"/></g><circle cx="45" cy="17" r="3" fill="#f2c14e"/>"##;
const HEADPHONES: &str = r##"<path d="M14 30a18 18 0 0 1 36 0" fill="none" stroke="#333" stroke-width="4"/><rect x="10" y="27" width="7" height="13" rx="3" fill="#e4572e"/><rect x="47" y="27" width="7" height="13" rx="3" fill="#e4572e"/>"##;
const HAT: &str = r##"<path d="M32 0l12 22H20z" fill="#5f4bb6"/><ellipse cx="32" cy="22" rx="18" ry="3" fill="#4b3a93"/><circle cx="33" cy="12" r="2" fill="#f2c14e"/>"##;

/// All of them.
pub(crate) const KINDS: [Kind; 12] = [
    kind("captain", "#7fd5ea", "#12324a", CAP),
    kind("diver", "#f2b880", "#1b6f8a", HELMET),
    kind("queen", "#c8a2e0", "#3c1f4f", CROWN),
    kind("skier", "#a8dadc", "#e8f1f5", SCARF),
    kind("librarian", "#d9b08c", "#2f4f3a", GLASSES),
    kind("gardener", "#9bd17a", "#f7e7a9", FLOWER),
    kind("disc-jockey", "#8f9fe8", "#201a36", HEADPHONES),
    kind("wizard", "#b7c9d3", "#2a1e5c", HAT),
    kind("astronaut", "#e6e6ea", "#0b0f2b", HELMET),
    kind("sailor", "#f4a7a1", "#2b7a9b", CAP),
    kind("poet", "#e3c5a8", "#5b2333", SCARF),
    kind("programmer", "#7fd5ea", "#101418", GLASSES),
];

const fn kind(
    name: &'static str,
    fur: &'static str,
    sky: &'static str,
    wears: &'static str,
) -> Kind {
    Kind {
        name,
        fur,
        sky,
        wears,
    }
}

/// The picture of a gopher, as SVG; one that nobody has drawn wears nothing.
pub(crate) fn picture(name: &str) -> String {
    const STRANGER: Kind = kind("stranger", "#b8b8b8", "#555", "");
    let known = KINDS.iter().find(|kind| kind.name == name);
    let Kind {
        fur, sky, wears, ..
    } = known.unwrap_or(&STRANGER);
    let mut svg = String::from(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" width="256" height="256">"#,
    );
    // Writing to a string cannot fail.
    let _ = write!(
        svg,
        r##"<rect width="64" height="64" rx="12" fill="{sky}"/><g fill="{fur}"><circle cx="16" cy="20" r="5"/><circle cx="48" cy="20" r="5"/><path d="M14 64V36a18 20 0 0 1 36 0v28z"/><circle cx="11" cy="48" r="4"/><circle cx="53" cy="48" r="4"/></g><g fill="#fff"><circle cx="25" cy="30" r="7"/><circle cx="39" cy="30" r="7"/><rect x="29" y="41" width="6" height="6" rx="1"/></g><g fill="#222"><circle cx="26" cy="31" r="3"/><circle cx="38" cy="31" r="3"/></g><ellipse cx="32" cy="39" rx="4" ry="3" fill="#5b3a29"/>{wears}</svg>"##
    );
    svg
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_gopher_has_a_name_and_a_look_of_its_own() {
        let names: BTreeSet<_> = KINDS.iter().map(|kind| kind.name).collect();
        let pictures: BTreeSet<_> = names.iter().map(|name| picture(name)).collect();
        assert_eq!((names.len(), pictures.len()), (KINDS.len(), KINDS.len()));
    }

    #[test]
    fn what_is_asked_for_is_not_written_into_the_picture() {
        assert!(!picture("<script>").contains("script"));
    }
}
