//! Which objects of a list are wanted, by their labels and by their names.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::{Expression, Selector, SelectorExt as _};

/// Which objects are wanted.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Wanted {
    labels: Selector,
    /// Names that it has to have, and names that it must not have.
    is: Vec<String>,
    is_not: Vec<String>,
}

impl Wanted {
    /// Reads `labelSelector` and `fieldSelector`. The error says what is wrong with them.
    pub(super) fn read(labels: &str, fields: &str) -> Result<Self, String> {
        let labels = label_selector(labels).map_err(|problem| {
            format!("unable to parse the label selector {labels:?}: {problem}")
        })?;
        let mut wanted = Self {
            labels,
            ..Self::default()
        };
        for term in fields.split(',').filter(|term| !term.is_empty()) {
            let (field, is_equal, value) = field_term(term)?;
            if field != "metadata.name" {
                return Err(format!("field label not supported: {field}"));
            }
            let names = if is_equal {
                &mut wanted.is
            } else {
                &mut wanted.is_not
            };
            names.push(value.to_owned());
        }
        Ok(wanted)
    }

    /// The only name that can be, if there is one.
    pub(super) fn name(&self) -> Option<&str> {
        self.is.first().map(String::as_str)
    }

    /// Whether a name is wanted.
    pub(super) fn has_name(&self, name: &str) -> bool {
        self.is.iter().all(|it| it == name) && self.is_not.iter().all(|it| it != name)
    }

    /// Whether an object with these labels is wanted.
    pub(super) fn has_labels(&self, labels: &BTreeMap<String, String>) -> bool {
        self.labels.matches(labels)
    }
}

fn field_term(term: &str) -> Result<(&str, bool, &str), String> {
    for (operator, is_equal) in [("!=", false), ("==", true), ("=", true)] {
        if let Some((field, value)) = term.split_once(operator) {
            return Ok((field.trim(), is_equal, value.trim()));
        }
    }
    Err(format!(
        "invalid field selector {term:?}: it is of the form metadata.name=NAME"
    ))
}

/// Reads a label selector: terms between commas, each `key`, `!key`, `key=value`, `key==value`,
/// `key!=value`, `key in (a,b)` or `key notin (a,b)`.
fn label_selector(text: &str) -> Result<Selector, String> {
    let mut selector = Selector::default();
    for term in terms(text)? {
        selector.extend(expression(term.trim())?);
    }
    Ok(selector)
}

/// Splits at commas that are in no parentheses.
fn terms(text: &str) -> Result<Vec<&str>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut terms = Vec::new();
    let (mut start, mut is_inside) = (0, false);
    for (at, char) in text.char_indices() {
        match char {
            '(' if is_inside => return Err("a parenthesis within another one".to_owned()),
            '(' => is_inside = true,
            ')' if !is_inside => return Err("a parenthesis that was not opened".to_owned()),
            ')' => is_inside = false,
            ',' if !is_inside => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if is_inside {
        return Err("a parenthesis that is not closed".to_owned());
    }
    terms.push(&text[start..]);
    Ok(terms)
}

fn expression(term: &str) -> Result<Expression, String> {
    if let Some(list) = term.strip_suffix(')') {
        let (head, list) = list.split_once('(').ok_or("no list of values")?;
        let values: BTreeSet<String> = list.split(',').map(|it| it.trim().to_owned()).collect();
        let (name, operator) = head
            .trim()
            .rsplit_once(char::is_whitespace)
            .ok_or_else(|| format!("{term:?} has no operator before its list"))?;
        let name = key(name)?;
        return match operator {
            "in" => Ok(Expression::In(name, values)),
            "notin" => Ok(Expression::NotIn(name, values)),
            other => Err(format!("{other:?} is neither in nor notin")),
        };
    }
    for (operator, is_equal) in [("!=", false), ("==", true), ("=", true)] {
        if let Some((name, value)) = term.split_once(operator) {
            let (name, value) = (key(name)?, plain(value.trim())?);
            return Ok(if is_equal {
                Expression::Equal(name, value)
            } else {
                Expression::NotEqual(name, value)
            });
        }
    }
    match term.strip_prefix('!') {
        Some(name) => Ok(Expression::DoesNotExist(key(name)?)),
        None => Ok(Expression::Exists(key(term)?)),
    }
}

fn key(text: &str) -> Result<String, String> {
    let name = plain(text.trim())?;
    if name.is_empty() {
        return Err("a label without a name".to_owned());
    }
    Ok(name)
}

fn plain(text: &str) -> Result<String, String> {
    let odd = |char: char| char.is_whitespace() || "()=!,".contains(char);
    match text.find(odd) {
        None => Ok(text.to_owned()),
        Some(_) => Err(format!(
            "{text:?} is neither the name nor the value of a label"
        )),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn fits(selector: &str) -> bool {
        let labels = [("catalog", "hub"), ("provider", "Burrow"), ("empty", "")];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let wanted = Wanted::read(selector, "").unwrap();
        wanted.has_labels(&BTreeMap::from(labels))
    }

    #[rstest]
    #[case("", true)]
    #[case("catalog", true)]
    #[case("!catalog", false)]
    #[case("! nothing", true)]
    #[case("catalog=hub", true)]
    #[case("catalog == hub, provider=Burrow", true)]
    #[case("catalog=hub,provider=Other", false)]
    #[case("catalog!=hub", false)]
    #[case("nothing!=hub", true)]
    #[case("catalog in (other, hub)", true)]
    #[case("catalog notin (other,hub)", false)]
    #[case("catalog in (other),provider", false)]
    #[case("nothing notin (a)", true)]
    #[case("empty=", true)]
    #[case("empty in ()", true)]
    fn a_label_selector_chooses_by_every_term(#[case] selector: &str, #[case] expected: bool) {
        assert_eq!(fits(selector), expected);
    }

    #[rstest]
    #[case("a,,b")]
    #[case(",")]
    #[case("a=b=c")]
    #[case("a in b")]
    #[case("a like (b)")]
    #[case("(a)")]
    #[case("a in (b")]
    #[case("a in (b))")]
    #[case("a in ((b))")]
    #[case("=b")]
    fn a_label_selector_that_makes_no_sense_is_refused(#[case] selector: &str) {
        let problem = Wanted::read(selector, "").unwrap_err();
        assert!(problem.contains(selector), "{problem}");
    }

    #[test]
    fn a_field_selector_knows_the_name_only() {
        let one = Wanted::read("", "metadata.name=gopher").unwrap();
        assert_eq!(one.name(), Some("gopher"));
        assert!(one.has_name("gopher") && !one.has_name("mole"));
        let others = Wanted::read("", "metadata.name!=gopher").unwrap();
        assert!(!others.has_name("gopher") && others.has_name("mole"));
        let none = Wanted::read("", "metadata.name=gopher,metadata.name==mole").unwrap();
        assert!(!none.has_name("gopher") && !none.has_name("mole"));
        assert_eq!(
            Wanted::read("", "status.phase=x").unwrap_err(),
            "field label not supported: status.phase"
        );
        assert!(Wanted::read("", "gopher").is_err());
    }

    proptest! {
        #[test]
        fn no_selector_makes_it_panic(labels in ".{0,40}", fields in ".{0,40}") {
            if let Ok(wanted) = Wanted::read(&labels, &fields) {
                let _ = (wanted.has_labels(&BTreeMap::new()), wanted.has_name("a"));
            }
        }

        #[test]
        fn what_a_selector_prints_is_read_as_the_same(
            keys in prop::collection::btree_map("[a-z]{1,5}(/[a-z]{1,5})?", "[a-z0-9.-]{0,5}", 0..4),
        ) {
            let selector: Selector = keys.clone().into_iter().collect();
            let wanted = Wanted::read(&selector.to_string(), "").unwrap();
            prop_assert_eq!(wanted.labels, selector);
        }
    }
}
