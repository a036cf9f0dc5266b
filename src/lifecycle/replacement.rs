//! Which ClusterServiceVersion of a namespace takes the place of which.
//!
//! Each names the one that it replaces, so that they form chains. Such names may lead back to where they began, as
//! after a downgrade: then whoever came last is the newest ([`ClusterServiceVersion::predecessor`]).

use std::collections::{BTreeSet, HashMap};

use kube::ResourceExt as _;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::{CsvPhase, CsvReason};

/// The ClusterServiceVersions of a namespace, without copied ones.
#[derive(Clone, Debug, Default)]
pub struct Lineage<'a> {
    members: Vec<&'a ClusterServiceVersion>,
    by_name: HashMap<&'a str, &'a ClusterServiceVersion>,
    /// Those that name this one as what they replace, the oldest first, whether that counts or not.
    by_replaced: HashMap<&'a str, Vec<&'a ClusterServiceVersion>>,
}

impl<'a> Lineage<'a> {
    /// Of all that a namespace has; copied ones are left out.
    pub fn new(csvs: impl IntoIterator<Item = &'a ClusterServiceVersion>) -> Self {
        let mut members: Vec<_> = csvs.into_iter().filter(|csv| !csv.is_copied()).collect();
        members.sort_by_cached_key(|csv| (csv.creation_timestamp(), csv.name_any()));
        let mut by_name = HashMap::new();
        let mut by_replaced: HashMap<&str, Vec<&ClusterServiceVersion>> = HashMap::new();
        for &csv in &members {
            by_name.entry(name(csv)).or_insert(csv);
            by_replaced
                .entry(csv.spec.replaces.as_str())
                .or_default()
                .push(csv);
        }
        Self {
            members,
            by_name,
            by_replaced,
        }
    }

    /// All of them, the oldest first.
    pub fn members(&self) -> &[&'a ClusterServiceVersion] {
        &self.members
    }

    /// The one of a name.
    pub fn get(&self, name: &str) -> Option<&'a ClusterServiceVersion> {
        self.by_name.get(name).copied()
    }

    /// The one that this one replaces, if it is still there.
    pub fn replaced_by(&self, csv: &ClusterServiceVersion) -> Option<&'a ClusterServiceVersion> {
        csv.predecessor(|name| self.get(name))
    }

    /// Those that this one replaces, over any number of steps, the next one first.
    pub fn predecessors(&self, csv: &ClusterServiceVersion) -> Vec<&'a ClusterServiceVersion> {
        let mut predecessors: Vec<&'a ClusterServiceVersion> = Vec::new();
        let mut next = self.replaced_by(csv);
        // No chain is longer than all together.
        while let Some(csv) = next.filter(|_| predecessors.len() < self.members.len()) {
            predecessors.push(csv);
            next = self.replaced_by(csv);
        }
        predecessors
    }

    /// Those whose operators say whether this one may take over: the one that it replaces and, if that one never
    /// began to install, those before it, up to the first that did. What came before that was asked by its heir.
    pub fn in_its_way(&self, csv: &ClusterServiceVersion) -> Vec<&'a ClusterServiceVersion> {
        let mut asked = self.predecessors(csv);
        let first = asked.iter().position(|older| has_begun(older));
        asked.truncate(first.map_or(asked.len(), |at| at + 1));
        asked
    }

    /// The one that replaces this one. If several want to, one that runs comes first, then the
    /// oldest of them.
    pub fn replacement_of(&self, csv: &ClusterServiceVersion) -> Option<&'a ClusterServiceVersion> {
        let newer = self.that_replace(name(csv));
        newer.min_by_key(|newer| phase(newer) != CsvPhase::Succeeded)
    }

    /// All that replace the one of this name in a single step, the oldest first.
    fn that_replace(&self, name: &str) -> impl Iterator<Item = &'a ClusterServiceVersion> {
        let newer = self.by_replaced.get(name).into_iter().flatten().copied();
        newer.filter(|newer| self.replaced_by(newer).is_some())
    }

    /// Those that come after this one, the next one first.
    pub fn successors(&self, csv: &ClusterServiceVersion) -> Vec<&'a ClusterServiceVersion> {
        let mut successors: Vec<&'a ClusterServiceVersion> = Vec::new();
        let mut next = self.replacement_of(csv);
        // No chain is longer than all together.
        while let Some(csv) = next.filter(|_| successors.len() < self.members.len()) {
            successors.push(csv);
            next = self.replacement_of(csv);
        }
        successors
    }

    /// All that replace this one, over any number of steps: also those that want to beside another.
    pub fn descendants(&self, csv: &ClusterServiceVersion) -> Vec<&'a ClusterServiceVersion> {
        let mut names = BTreeSet::new();
        let mut next = vec![name(csv)];
        while let Some(older) = next.pop() {
            let newer = self.that_replace(older).map(name);
            next.extend(newer.filter(|newer| names.insert(*newer)));
        }
        let members = self.members.iter().copied();
        members.filter(|csv| names.contains(name(csv))).collect()
    }

    /// Whether a newer version has taken the place of this one: any that runs, or did until it made room, and where the
    /// OperatorGroup fails forward the last one. What was deleted takes nobody's place any more.
    pub fn is_replaced(&self, csv: &ClusterServiceVersion, fails_forward: bool) -> bool {
        let stays = |csv: &&ClusterServiceVersion| csv.metadata.deletion_timestamp.is_none();
        if fails_forward {
            let last = self.successors(csv).into_iter().rfind(stays);
            return last.is_some_and(|last| phase(last) == CsvPhase::Succeeded);
        }
        let mut newer = self.descendants(csv).into_iter().filter(stays);
        newer.any(has_run)
    }

    /// Whether this one is on its way out, or will be at the next look at it.
    pub fn is_leaving(&self, csv: &ClusterServiceVersion, fails_forward: bool) -> bool {
        csv.metadata.deletion_timestamp.is_some()
            || phase(csv) == CsvPhase::Deleting
            || self.is_replaced(csv, fails_forward)
    }

    /// The names of all that replace this one or are replaced by it, over any number of steps, and
    /// its own. Those of a circle belong together as well: they are versions of one operator.
    pub fn chain(&self, csv: &ClusterServiceVersion) -> BTreeSet<String> {
        let mut names = BTreeSet::from([csv.name_any()]);
        let mut older = self.get(&csv.spec.replaces);
        while let Some(csv) = older.filter(|csv| names.insert(csv.name_any())) {
            older = self.get(&csv.spec.replaces);
        }
        while let Some(newer) = self.members.iter().find(|newer| {
            names.contains(&newer.spec.replaces) && !names.contains(&newer.name_any())
        }) {
            names.insert(newer.name_any());
        }
        names
    }
}

/// Whether nothing but the one that it replaces keeps this one from being installed, or it was
/// installed already. It is what an operator that failed gives way to.
pub fn is_ready_to_take_over(csv: &ClusterServiceVersion) -> bool {
    let Some(status) = &csv.status else {
        return false;
    };
    match status.phase {
        CsvPhase::Pending => status.reason == CsvReason::AllRequirementsMet,
        CsvPhase::InstallReady
        | CsvPhase::Installing
        | CsvPhase::Succeeded
        | CsvPhase::Replacing => true,
        _ => false,
    }
}

/// Whether a ClusterServiceVersion began to install, so that objects of the one that it replaces may be
/// its own by now. One that went back to an earlier phase has begun nevertheless: its history tells.
pub fn has_begun(csv: &ClusterServiceVersion) -> bool {
    has_been(
        csv,
        &[
            CsvPhase::InstallReady,
            CsvPhase::Installing,
            CsvPhase::Succeeded,
        ],
    )
}

/// Whether all that a ClusterServiceVersion consists of was written once, so that it may run.
pub fn was_installed(csv: &ClusterServiceVersion) -> bool {
    has_been(csv, &[CsvPhase::Installing, CsvPhase::Succeeded])
}

/// Whether a ClusterServiceVersion runs, or did until it made room for a newer one.
pub fn has_run(csv: &ClusterServiceVersion) -> bool {
    let makes_room = phase(csv) == CsvPhase::Replacing;
    phase(csv) == CsvPhase::Succeeded || makes_room && ever_ran(csv)
}

/// Whether a ClusterServiceVersion runs, or did at any time.
pub fn ever_ran(csv: &ClusterServiceVersion) -> bool {
    has_been(csv, &[CsvPhase::Succeeded])
}

/// Whether a ClusterServiceVersion is in one of these phases, or was as far as its history goes.
fn has_been(csv: &ClusterServiceVersion, phases: &[CsvPhase]) -> bool {
    csv.status.as_ref().is_some_and(|status| {
        let history = status.conditions.iter().map(|then| &then.phase);
        std::iter::once(&status.phase)
            .chain(history)
            .any(|phase| phases.contains(phase))
    })
}

fn name(csv: &ClusterServiceVersion) -> &str {
    csv.metadata.name.as_deref().unwrap_or_default()
}

/// How far a ClusterServiceVersion is.
pub(super) fn phase(csv: &ClusterServiceVersion) -> CsvPhase {
    let status = csv.status.as_ref();
    status
        .map(|status| status.phase.clone())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
