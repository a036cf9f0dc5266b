//! Copies of ClusterServiceVersions, and what the OLMConfig says about them.

mod copy;

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

pub use self::copy::{Copy, CopyPlan, copy, is_copyable, plan};
use super::condition;
use crate::api::conditions::{Condition, ConditionStatus, olm_config};
use crate::api::olm_config::{OlmConfig, OlmConfigStatus};

/// Whether the copies are as the configuration wants them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// Everything that should be there is, and nothing else.
    AsWanted,
    /// Some are missing, or some are still there.
    Underway,
}

/// Into which namespaces operators are copied that serve all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach<'a> {
    /// Into each: the OLMConfig asks for that.
    Everywhere,
    /// Only into these, which are always to have their copies.
    Protected(&'a BTreeSet<String>),
}

impl Reach<'_> {
    fn has(self, namespace: &str) -> bool {
        match self {
            Self::Everywhere => true,
            Self::Protected(protected) => protected.contains(namespace),
        }
    }
}

/// What matters of a ClusterServiceVersion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Csv<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Where the original is, if this is a copy.
    pub copied_from: Option<&'a str>,
    /// Whether it is in a state to be copied: see [`is_copyable`].
    pub is_copyable: bool,
}

/// Whether the copies of the operators that serve all namespaces are where they are wanted. `homes`
/// are the namespaces of those operators, `namespaces` all that are not about to go. What is not copied
/// is not missing.
pub fn judge(
    reach: Reach<'_>,
    homes: &BTreeSet<String>,
    namespaces: &BTreeSet<String>,
    csvs: &[Csv],
) -> Copies {
    let copies: BTreeSet<(&str, &str, &str)> = csvs
        .iter()
        .filter_map(|csv| {
            let home = csv.copied_from?;
            let is_concerned = homes.contains(home);
            is_concerned.then_some((home, csv.name, csv.namespace))
        })
        .collect();
    let originals = || csvs.iter().filter(|csv| csv.copied_from.is_none());
    // Where there is an operator of that name itself, it stays.
    let taken: BTreeSet<(&str, &str)> = originals().map(|csv| (csv.namespace, csv.name)).collect();
    let are_as_wanted = match reach {
        Reach::Everywhere => {
            let mut wanted =
                originals().filter(|csv| csv.is_copyable && homes.contains(csv.namespace));
            wanted.all(|csv| {
                let mut others = namespaces
                    .iter()
                    .filter(|namespace| !taken.contains(&(namespace.as_str(), csv.name)));
                others.all(|namespace| copies.contains(&(csv.namespace, csv.name, namespace)))
            })
        }
        Reach::Protected(_) => copies.iter().all(|(.., namespace)| reach.has(namespace)),
    };
    if are_as_wanted {
        Copies::AsWanted
    } else {
        Copies::Underway
    }
}

/// What the status of the OLMConfig should say. Equal to what it says, times included, if there is
/// nothing new.
pub fn status(config: &OlmConfig, copies: Copies, now: &Time) -> OlmConfigStatus {
    let before = config.status.clone().unwrap_or_default();
    let mut after = before.clone();
    condition::set(&mut after.conditions, wanted(config, copies), now);
    if condition::same(&before.conditions, &after.conditions) {
        return before;
    }
    after
}

/// Whether the status answers what is configured well enough for somebody who sees a part of the
/// cluster only: it is about what is configured now, and does not deny what this one sees done.
pub fn is_answered(config: &OlmConfig, copies: Copies) -> bool {
    let wanted = wanted(config, copies);
    let conditions = config.status.as_ref().map(|it| it.conditions.as_slice());
    let said = conditions.unwrap_or_default().iter();
    let mut said = said.filter(|it| it.type_ == wanted.type_ && it.reason == wanted.reason);
    said.any(|it| it.message == wanted.message || copies == Copies::Underway)
}

/// The messages are OLM's, which clients know.
fn wanted(config: &OlmConfig, copies: Copies) -> Condition {
    let (status, reason, message) = match (config.spec.copies_csvs(), copies) {
        (true, Copies::AsWanted) => (
            ConditionStatus::False,
            olm_config::COPIED_CSVS_ENABLED,
            "Copied CSVs are enabled and present across the cluster",
        ),
        (true, Copies::Underway) => (
            ConditionStatus::False,
            olm_config::COPIED_CSVS_ENABLED,
            "Copied CSVs are enabled and at least one copied CSVs is missing",
        ),
        (false, Copies::AsWanted) => (
            ConditionStatus::True,
            olm_config::COPIED_CSVS_DISABLED,
            "Copied CSVs are disabled and no unexpected copied CSVs were found for operators \
             installed in AllNamespace mode",
        ),
        (false, Copies::Underway) => (
            ConditionStatus::False,
            olm_config::COPIED_CSVS_DISABLED,
            "Copied CSVs are disabled and at least one unexpected copied CSV was found for an \
             operator installed in AllNamespace mode",
        ),
    };
    Condition {
        type_: olm_config::DISABLED_COPIED_CSVS.to_owned(),
        status,
        reason: reason.to_owned(),
        message: message.to_owned(),
        ..Condition::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn time(second: u8) -> Time {
        serde_json::from_value(json!(format!("2026-01-01T00:00:{second:02}Z"))).unwrap()
    }

    fn config(spec: &Value) -> OlmConfig {
        serde_json::from_value(json!({
            "apiVersion": "operators.coreos.com/v1",
            "kind": "OLMConfig",
            "metadata": {"name": "cluster"},
            "spec": spec,
        }))
        .unwrap()
    }

    #[rstest]
    #[case(json!({"features": {"disableCopiedCSVs": false}}), Copies::AsWanted, "False",
           "CopiedCSVsEnabled", "present across the cluster")]
    #[case(json!({"features": {"disableCopiedCSVs": false}}), Copies::Underway, "False",
           "CopiedCSVsEnabled", "is missing")]
    #[case(json!({"features": {"disableCopiedCSVs": true}}), Copies::AsWanted, "True",
           "CopiedCSVsDisabled", "no unexpected")]
    #[case(json!({"features": {"disableCopiedCSVs": true}}), Copies::Underway, "False",
           "CopiedCSVsDisabled", "at least one unexpected")]
    #[case::off_unless_asked_for(json!({}), Copies::AsWanted, "True", "CopiedCSVsDisabled",
           "no unexpected")]
    fn the_condition_tells_what_is_wanted_and_whether_it_is_so(
        #[case] spec: Value,
        #[case] copies: Copies,
        #[case] state: &str,
        #[case] reason: &str,
        #[case] words: &str,
    ) {
        let status = status(&config(&spec), copies, &time(1));
        let [condition] = status.conditions.as_slice() else {
            panic!("{status:?}");
        };
        assert_eq!(condition.type_, "DisabledCopiedCSVs");
        assert_eq!(condition.status.as_str(), state);
        assert_eq!(condition.reason, reason);
        assert!(condition.message.contains(words), "{condition:?}");
        assert_eq!(condition.last_transition_time, Some(time(1)));
    }

    fn csv<'a>(namespace: &'a str, name: &'a str, copied_from: Option<&'a str>) -> Csv<'a> {
        Csv {
            namespace,
            name,
            copied_from,
            is_copyable: copied_from.is_none(),
        }
    }

    /// The operator `a` of `home` serves all namespaces, `b` of `one` does not.
    #[rstest]
    #[case::wanted_everywhere(true, &["one", "two"], Copies::AsWanted)]
    #[case::missing_somewhere(true, &["one"], Copies::Underway)]
    #[case::unwanted_and_gone(false, &[], Copies::AsWanted)]
    #[case::unwanted_and_there(false, &["two"], Copies::Underway)]
    #[case::only_where_they_are_protected(false, &["one"], Copies::AsWanted)]
    fn only_operators_that_serve_all_namespaces_count(
        #[case] are_wanted: bool,
        #[case] copied_to: &[&str],
        #[case] expected: Copies,
    ) {
        let mut csvs = vec![
            csv("home", "a", None),
            csv("one", "b", None),
            csv("two", "b", Some("one")),
        ];
        csvs.extend(copied_to.iter().map(|to| csv(to, "a", Some("home"))));
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let (homes, namespaces) = (names(&["home"]), names(&["home", "one", "two"]));
        let protected = names(&["one"]);
        let reach = if are_wanted {
            Reach::Everywhere
        } else {
            Reach::Protected(&protected)
        };
        assert_eq!(judge(reach, &homes, &namespaces, &csvs), expected);
    }

    #[test]
    fn what_is_not_copied_is_not_missing() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let (homes, namespaces) = (names(&["home"]), names(&["home", "one", "two"]));
        let judge = |csvs: &[Csv]| judge(Reach::Everywhere, &homes, &namespaces, csvs);
        let mut csvs = vec![csv("home", "a", None), csv("one", "a", Some("home"))];
        assert_eq!(judge(&csvs), Copies::Underway);
        // The other namespace has one of that name itself.
        csvs.push(csv("two", "a", None));
        assert_eq!(judge(&csvs), Copies::AsWanted);
        csvs.pop();
        csvs[0].is_copyable = false;
        assert_eq!(judge(&csvs), Copies::AsWanted);
    }

    #[rstest]
    #[case::nothing_said(None, Copies::AsWanted, false)]
    #[case::said(Some((true, Copies::AsWanted)), Copies::AsWanted, true)]
    #[case::others_are_done(Some((true, Copies::AsWanted)), Copies::Underway, true)]
    #[case::the_last_one_is_done(Some((true, Copies::Underway)), Copies::AsWanted, false)]
    #[case::something_else_is_configured(Some((false, Copies::AsWanted)), Copies::Underway, false)]
    fn who_sees_a_part_adds_what_is_missing_and_contradicts_nobody(
        #[case] said: Option<(bool, Copies)>,
        #[case] seen: Copies,
        #[case] expected: bool,
    ) {
        let spec = |disabled: bool| json!({"features": {"disableCopiedCSVs": disabled}});
        let mut asked = config(&spec(true));
        asked.status =
            said.map(|(disabled, copies)| status(&config(&spec(disabled)), copies, &time(1)));
        assert_eq!(is_answered(&asked, seen), expected);
    }

    #[test]
    fn nothing_new_changes_no_time() {
        let mut config = config(&json!({}));
        let first = status(&config, Copies::AsWanted, &time(1));
        config.status = Some(first.clone());
        assert_eq!(status(&config, Copies::AsWanted, &time(2)), first);
    }
}
