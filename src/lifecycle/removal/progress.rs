//! How far a removal is.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Goes, Reference, Removal, Stage, Step};
use crate::api::conditions::subscription::{
    CRDS_PRESENT, CUSTOM_RESOURCES_PRESENT, INSTALL_PLAN_UNDERWAY, OPERATOR_PRESENT,
};
use crate::api::labels;

/// How many objects are told by name.
const TOLD: usize = 5;
/// What comes before the finalizers of an object that waits for them.
const HELD_BY: &str = " (held by ";
/// What comes before those who make custom resources anew.
const MADE_BY: &str = "custom resources were made after the removal had begun, by ";
/// Finalizers that are worked off by themselves.
const WORKED_OFF: [&str; 4] = [
    labels::CSV_CLEANUP_FINALIZER,
    "customresourcecleanup.apiextensions.k8s.io",
    "foregroundDeletion",
    "orphan",
];

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move<'a> {
    /// Nothing, until something else changes.
    Blocked,
    /// Something is to be done for the objects of a stage that are not on their way out.
    Act(&'a Stage),
    /// They are on their way out.
    Wait(&'a Stage),
    /// Everything is done: the Subscription may go.
    LetGo,
}

impl Stage {
    /// The objects for which something is to be done, so many at a time.
    pub fn portions(&self, size: usize) -> Vec<Self> {
        let objects = self.objects.iter().filter(|it| !it.is_left_alone());
        let objects: Vec<Goes> = objects.cloned().collect();
        let portions = objects.chunks(size.max(1));
        portions
            .map(|objects| Self {
                step: self.step,
                objects: objects.to_vec(),
            })
            .collect()
    }
}

impl Removal {
    /// What comes next.
    pub fn next(&self) -> Move<'_> {
        if !self.blockers.is_empty() {
            return Move::Blocked;
        }
        let mut stages = self.stages.iter();
        match stages.find(|stage| stage.step != Step::Afterwards) {
            None => Move::LetGo,
            // Others go by themselves, whether they have begun or not.
            Some(stage) if stage.step == Step::AwaitOthers => Move::Wait(stage),
            Some(stage) if stage.objects.iter().all(Goes::is_left_alone) => Move::Wait(stage),
            Some(stage) => Move::Act(stage),
        }
    }

    /// Whether it waits for somebody to take finalizers off, or to make no objects any more.
    pub fn is_held(&self) -> bool {
        let (Move::Act(stage) | Move::Wait(stage)) = self.next() else {
            return false;
        };
        if stage.step == Step::DeleteOperator && self.cleanup.contains(HELD_BY) {
            return true;
        }
        let mut objects = stage.objects.iter();
        objects.any(|it| it.comes_back || !it.held_by().is_empty())
    }

    /// A word and a sentence about what it waits for; nothing when it is done.
    pub fn told(&self) -> Option<(&'static str, String)> {
        let stage = match self.next() {
            Move::LetGo => return None,
            Move::Blocked => {
                let messages: Vec<&str> = self.blockers.iter().map(|it| &*it.message).collect();
                let reason = self.blockers.first().map(|it| it.reason);
                return Some((reason.unwrap_or_default(), messages.join("; ")));
            }
            Move::Act(stage) | Move::Wait(stage) => stage,
        };
        let objects = named(&stage.objects);
        let (reason, mut message) = match stage.step {
            Step::StopPlans => (INSTALL_PLAN_UNDERWAY, format!("stopping {objects}")),
            Step::HandOverDependencies => (
                OPERATOR_PRESENT,
                format!("removing what was installed for it: {objects}"),
            ),
            Step::DeleteCustomResources => {
                return Some((CUSTOM_RESOURCES_PRESENT, self.resources(stage)));
            }
            Step::AwaitCustomResources => {
                return Some((CUSTOM_RESOURCES_PRESENT, self.worked_off(stage)));
            }
            Step::DeleteOperator => (
                OPERATOR_PRESENT,
                format!(
                    "removing {objects}{}{}",
                    self.returning(),
                    self.cleaning_up()
                ),
            ),
            Step::DeleteLeftovers => (
                OPERATOR_PRESENT,
                format!("removing what is left: {objects}"),
            ),
            Step::AwaitOthers => (
                CRDS_PRESENT,
                format!(
                    "its CRDs are of others as well, which are being removed, and go after them: \
                     {objects}"
                ),
            ),
            Step::DeleteRemainingResources => (
                CUSTOM_RESOURCES_PRESENT,
                format!("removing custom resources that are left: {objects}"),
            ),
            Step::DeleteDefinitions => (CRDS_PRESENT, format!("removing {objects}")),
            Step::Unmark | Step::Afterwards => (
                CRDS_PRESENT,
                format!("taking the operator's marks off {objects}"),
            ),
        };
        if let Some(held) = stage.objects.iter().find(|it| !it.held_by().is_empty()) {
            message.push_str(&advice(held));
        }
        Some((reason, message))
    }

    /// Custom resources may take long, or for ever.
    fn resources(&self, stage: &Stage) -> String {
        // Writing to a string does not fail; here and below.
        let mut text = format!(
            "waiting until custom resources are gone: {}",
            named(&stage.objects)
        );
        text.push_str(self.worker(stage));
        text.push_str(&remade(stage));
        text.push_str(&self.returning());
        let _ = write!(
            text,
            "; to keep them after all, take the annotation {} off the Subscription",
            labels::DELETE_CRDS
        );
        text
    }

    /// Somebody else deleted them, and without the operator they would be there for ever.
    fn worked_off(&self, stage: &Stage) -> String {
        format!(
            "waiting until custom resources are gone that somebody deleted: {}{}",
            named(&stage.objects),
            self.worker(stage)
        )
    }

    /// Who works off the finalizers of custom resources.
    fn worker(&self, stage: &Stage) -> &'static str {
        let held = stage.objects.iter().any(|it| !it.finalizers.is_empty());
        match (held, self.is_running) {
            (false, _) => "",
            (true, true) => {
                "; the operator is to work off their finalizers, and its log tells why it does not"
            }
            (true, false) => {
                "; the operator does not run and works off no finalizers: mend it, or remove them by hand"
            }
        }
    }

    /// What the operator leaves outside of its namespace, and takes long to go.
    fn cleaning_up(&self) -> String {
        match self.cleanup.as_str() {
            "" => String::new(),
            cleanup => format!("; {cleanup}"),
        }
    }

    /// What comes back as often as it is deleted.
    fn returning(&self) -> String {
        let later = self
            .stages
            .iter()
            .filter(|stage| stage.step == Step::DeleteRemainingResources);
        let returning = later.flat_map(|stage| &stage.objects);
        let returning: Vec<Goes> = returning.filter(|it| it.comes_back).cloned().collect();
        if returning.is_empty() {
            return String::new();
        }
        format!(
            "; custom resources are made anew when they are deleted, and go after the operator: {}",
            named(&returning)
        )
    }
}

/// Who makes the objects of a stage anew, and what to do about that.
fn remade(stage: &Stage) -> String {
    let remade = stage.objects.iter().filter(|it| it.comes_back);
    let remade: Vec<Goes> = remade.cloned().collect();
    if remade.is_empty() {
        return String::new();
    }
    let makers: BTreeSet<&str> = remade
        .iter()
        .filter_map(|it| it.made_by.as_deref())
        .collect();
    let makers: Vec<&str> = makers.into_iter().take(TOLD).collect();
    let makers = match makers.as_slice() {
        [] => "somebody".to_owned(),
        makers => makers.join(", "),
    };
    format!(
        "; {MADE_BY}{makers}: {}; they are deleted as well, but less and less often the longer they come back: \
         have whoever makes them stop that",
        named(&remade)
    )
}

/// Whether something else is said than before, and not only of other objects, or of more or fewer of them. That
/// somebody holds one is news.
pub fn is_news(before: &str, now: &str) -> bool {
    let gist = |text: &str| -> Option<(String, bool, Vec<String>)> {
        let (head, rest) = text.split_once(": ")?;
        let (objects, tail) = rest.split_once("; ").unwrap_or((rest, ""));
        // What comes back is held now and then, and is not the same each time.
        let is_held = objects.contains(HELD_BY) && !tail.contains(MADE_BY);
        let tail = tail.split("; ").map(|said| match said.split_once(": ") {
            Some((makers, _)) if said.starts_with(MADE_BY) => makers.to_owned(),
            _ => said.to_owned(),
        });
        (!head.contains(';')).then(|| (head.to_owned(), is_held, tail.collect()))
    };
    before != now && (gist(before).is_none() || gist(before) != gist(now))
}

/// What is said of a stage while it is being done, beside its objects.
pub fn so_far(message: &str, done: usize, all: usize) -> String {
    let so_far = format!("({done} of {all} were deleted so far)");
    match message.split_once("; ") {
        Some((objects, tail)) => format!("{objects} {so_far}; {tail}"),
        None => format!("{message} {so_far}"),
    }
}

impl Goes {
    /// Whether nothing is to be done for it now.
    fn is_left_alone(&self) -> bool {
        self.is_going || self.rests
    }

    /// The finalizers that it waits for, if it is on its way out. Those that Chandler and Kubernetes work off
    /// are no news.
    pub(super) fn held_by(&self) -> Vec<&str> {
        let finalizers = self.finalizers.iter().map(String::as_str);
        let of_others = finalizers.filter(|it| !WORKED_OFF.contains(it));
        of_others.filter(|_| self.is_going).collect()
    }
}

/// What to do about an object that is held.
pub(super) fn advice(held: &Goes) -> String {
    let Reference {
        api_version,
        kind,
        namespace,
        name,
    } = &held.object;
    let kind = match api_version.split_once('/') {
        Some((group, version)) => format!("{kind}.{version}.{group}"),
        None => kind.clone(),
    };
    let place = match namespace.as_str() {
        "" => String::new(),
        namespace => format!(" -n {namespace}"),
    };
    format!(
        "; whoever put a finalizer on it has to take it off, and may not run any more; then do it by hand: \
         kubectl patch {} {name}{place} --type merge -p '{{\"metadata\":{{\"finalizers\":null}}}}'",
        kind.to_lowercase()
    )
}

/// The first objects by name, with what holds them, and how many more there are.
pub(super) fn named(objects: &[Goes]) -> String {
    let mut told: Vec<&Goes> = objects.iter().collect();
    // Those that need somebody come first.
    told.sort_by_key(|it| it.finalizers.is_empty());
    let mut text = String::new();
    for it in told.iter().take(TOLD) {
        if !text.is_empty() {
            text.push_str(", ");
        }
        let _ = write!(text, "{}", it.object);
        let held = it.held_by();
        if !held.is_empty() {
            let _ = write!(text, "{HELD_BY}{})", held.join(", "));
        }
    }
    match objects.len().saturating_sub(TOLD) {
        0 => {}
        more => {
            let _ = write!(text, " and {more} more");
        }
    }
    text
}
