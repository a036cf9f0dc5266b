//! What has to be so between a ClusterServiceVersion and its OperatorGroup before anything else.

use super::course::Check;
use super::{Action, Course, Situation};
use crate::api::conditions::CsvReason;
use crate::api::operator_group::OperatorGroup;
use crate::lifecycle::group_status;
use crate::lifecycle::install_modes::{self, Membership};
use crate::lifecycle::provided_apis::{self, Surface, Verdict};

/// The group that it is a member of, or what is in the way.
pub(super) fn member_of<'a>(situation: &Situation<'a>) -> Check<&'a OperatorGroup> {
    let course = match install_modes::membership(situation.csv, situation.groups) {
        Membership::Member(group) => return Ok(group),
        Membership::NoGroup => Course::failed(
            CsvReason::NoOperatorGroup,
            "csv in namespace with no operatorgroups: create an OperatorGroup in this namespace",
        ),
        Membership::SeveralGroups(names) => Course::failed(
            CsvReason::TooManyOperatorGroups,
            format!(
                "csv created in namespace with multiple operatorgroups, can't pick one \
                     automatically: delete all but one of {}",
                names.join(", ")
            ),
        ),
        // The group's own controller is about to tell.
        Membership::Unsettled => Course::stay(),
        Membership::NoTargets(annotations) => {
            let mut groups = situation.groups.iter();
            let trouble = groups.find_map(|group| group_status::trouble_with_targets(group));
            let advice = trouble.unwrap_or(
                "label a namespace so that spec.selector of the OperatorGroup matches it",
            );
            let course = Course::failed(
                CsvReason::NoTargetNamespaces,
                format!(
                    "no targetNamespaces are matched operatorgroups namespace selection: {advice}"
                ),
            );
            if annotations.is_empty() {
                course
            } else {
                course.and(Action::Annotate(annotations))
            }
        }
        Membership::Unmarked(annotations) => Course::stay().and(Action::Annotate(annotations)),
    };
    Err(Box::new(course))
}

/// Whether the group takes it: by the namespaces that it supports, and by the APIs that it
/// provides.
pub(super) fn accepts(situation: &Situation<'_>, group: &OperatorGroup) -> Check<()> {
    if let Err(error) = install_modes::check(situation.csv, group) {
        let course = Course::failed(error.reason(), error.to_string());
        return Err(Box::new(course));
    }
    // An owned CRD whose name is none will be missing among the requirements, which is told there.
    let apis = provided_apis::provided_by(situation.csv).unwrap_or_default();
    let verdict = provided_apis::judge(&apis, &Surface::of(group), situation.other_groups);
    if let Some((reason, message)) = verdict.failure() {
        let course = Course::failed(reason, message).and(Action::DeleteDeployments);
        return Err(Box::new(course));
    }
    match verdict {
        Verdict::Add | Verdict::Remove => Err(Box::new(Course::stay().and(Action::UpdateGroup))),
        _ => Ok(()),
    }
}

/// What a group found fault with earlier, if that is why it failed; now the group is content.
pub(super) fn recovered_from(reason: &CsvReason) -> Option<&'static str> {
    match reason {
        CsvReason::NoTargetNamespaces
        | CsvReason::NoOperatorGroup
        | CsvReason::TooManyOperatorGroups
        | CsvReason::InvalidInstallModes
        | CsvReason::UnsupportedOperatorGroup => Some("InstallModes now support target namespaces"),
        CsvReason::InterOperatorGroupOwnerConflict => {
            Some("OperatorGroup no longer intersecting with conflicting owner")
        }
        CsvReason::CannotModifyStaticOperatorGroupProvidedAPIs => {
            Some("static OperatorGroup and intersecting groups now support providedAPIs")
        }
        _ => None,
    }
}
