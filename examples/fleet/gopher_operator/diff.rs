//! What a gophers API has to be told.

use std::collections::BTreeMap;

use crate::gopher::Gopher;

/// A gopher that an API is to know. While the pod has not told which gopher it is, whatever is known stays.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) id: String,
    pub(crate) gopher: Option<Gopher>,
}

/// One thing to tell.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Add(Gopher),
    Update(Gopher),
    Remove(String),
}

/// The id of a pod's gopher.
pub(crate) fn id(namespace: &str, pod: &str) -> String {
    format!("{namespace}/{pod}")
}

/// What makes an API know what it should. Gophers that are not of this namespace are somebody else's.
pub(crate) fn changes(namespace: &str, wanted: &[Wanted], known: &[Gopher]) -> Vec<Change> {
    let known: BTreeMap<&str, &Gopher> = known.iter().map(|it| (it.id.as_str(), it)).collect();
    let told = wanted.iter().filter_map(|it| it.gopher.as_ref());
    let news = told.filter_map(|gopher| match known.get(gopher.id.as_str()) {
        None => Some(Change::Add(gopher.clone())),
        Some(known) if *known != gopher => Some(Change::Update(gopher.clone())),
        Some(_) => None,
    });
    let ours = id(namespace, "");
    let gone = known
        .keys()
        .filter(|id| id.starts_with(&ours) && !wanted.iter().any(|it| it.id == **id));
    let gone = gone.map(|id| Change::Remove((*id).to_owned()));
    // Those who left make room first.
    gone.chain(news).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gopher(id: &str, name: &str) -> Gopher {
        Gopher {
            id: id.to_owned(),
            name: name.to_owned(),
            ..Gopher::default()
        }
    }

    fn wanted(id: &str, name: &str) -> Wanted {
        Wanted {
            id: id.to_owned(),
            gopher: Some(gopher(id, name)),
        }
    }

    #[test]
    fn an_api_is_told_who_came_changed_and_went() {
        let known = [
            gopher("a/1", "poet"),
            gopher("a/2", "diver"),
            gopher("a/3", "queen"),
        ];
        let wanted = [
            wanted("a/2", "diver"),
            wanted("a/3", "wizard"),
            wanted("a/4", "poet"),
        ];
        assert_eq!(
            changes("a", &wanted, &known),
            [
                Change::Remove("a/1".to_owned()),
                Change::Update(gopher("a/3", "wizard")),
                Change::Add(gopher("a/4", "poet")),
            ]
        );
    }

    #[test]
    fn an_api_that_was_told_is_told_nothing_more() {
        let (wanted, known) = ([wanted("a/1", "poet")], [gopher("a/1", "poet")]);
        assert_eq!(changes("a", &wanted, &known), []);
    }

    #[test]
    fn an_api_that_forgot_everything_is_told_everything() {
        let wanted = [wanted("a/1", "poet"), wanted("a/2", "diver")];
        assert_eq!(changes("a", &wanted, &[]).len(), 2);
    }

    #[test]
    fn gophers_of_others_are_left_alone() {
        let known = [
            gopher("ab/1", "poet"),
            gopher("by-hand", "diver"),
            gopher("b/a/1", "queen"),
        ];
        assert_eq!(changes("a", &[], &known), []);
    }

    #[test]
    fn a_gopher_that_does_not_answer_stays_as_it_is_known() {
        let silent = Wanted {
            id: "a/1".to_owned(),
            gopher: None,
        };
        let known = [gopher("a/1", "poet")];
        assert_eq!(changes("a", std::slice::from_ref(&silent), &known), []);
        assert_eq!(changes("a", &[silent], &[]), []);
    }
}
