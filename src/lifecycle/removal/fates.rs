//! Which operators are there once all removals that have begun are over.
//!
//! Everything else is decided by that, and not by what happens to be there at one moment: so it makes no
//! difference which of several removals is looked at first, or how far each of them is.
//!
//! - Whoever is removed goes, unless somebody who stays needs it and has that from nobody else who stays.
//!   Then it stays, and so does what it needs itself.
//! - Dependencies go that nobody who stays needs. They give way to removals: of two that have what somebody
//!   needs, the one that is removed goes and the dependency stays.

use std::collections::BTreeSet;

use kube::ResourceExt as _;

use super::party::{Need, Party};
use super::{Crd, Estate, Wish, is_being_removed, is_of, mark, owns};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::labels;
use crate::api::subscription::{RemovalPolicy, Subscription};

/// All operators of the cluster, and what becomes of them.
pub(super) struct Fates<'a> {
    /// Those of the Subscription that goes come first.
    parties: Vec<Party<'a>>,
    own: usize,
    outcomes: Vec<Fate>,
    /// Who needs a dependency that would go otherwise.
    users: Vec<Option<usize>>,
    removals: Vec<Begun>,
    candidates: Vec<Candidate<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stays,
    /// It is removed.
    Goes,
    /// It is removed, but for somebody who stays and needs it.
    IsHeld,
    /// It is a dependency that nobody needs any more.
    IsPruned,
}

/// A removal that has begun.
struct Begun {
    wish: Wish,
    namespace: String,
    members: Vec<usize>,
}

/// A Subscription that a plan made for a dependency.
struct Candidate<'a> {
    subscription: &'a Subscription,
    members: Vec<usize>,
}

/// What was installed because the one that goes needs it.
#[derive(Default)]
pub(super) struct Dependencies<'a> {
    /// Nobody needs them when it is gone.
    pub(super) unneeded: Vec<&'a Subscription>,
    /// Somebody else does, and who.
    pub(super) needed: Vec<(&'a Subscription, &'a ClusterServiceVersion)>,
}

impl<'a> Fates<'a> {
    /// What becomes of everybody if the Subscription goes as it is wished.
    pub(super) fn of(estate: &Estate<'a>, wish: &Wish) -> Self {
        let own = estate.own.len();
        let all = estate.own.iter().chain(&estate.others).copied();
        let mut fates = Self {
            parties: all.map(Party::of).collect(),
            own,
            outcomes: Vec::new(),
            users: Vec::new(),
            removals: Vec::new(),
            candidates: Vec::new(),
        };
        fates.read(estate, wish);
        while fates.change() {}
        fates
    }

    /// Who is removed, and who may be a dependency.
    fn read(&mut self, estate: &Estate<'a>, wish: &Wish) {
        let subscriptions = || estate.facts.subscriptions.iter().map(|it| &**it);
        let members = |of: &Subscription| -> Vec<usize> {
            let parties = self.parties.iter().enumerate();
            let members = parties.filter(|(_, party)| is_of(of, party.csv));
            members.map(|(at, _)| at).collect()
        };
        let own = &*estate.facts.subscription;
        let staying = || {
            let staying = subscriptions().filter(|it| it.metadata.deletion_timestamp.is_none());
            staying.filter(|it| !is_same(it, own))
        };
        let mut begun = vec![Begun {
            wish: wish.clone(),
            namespace: estate.namespace.clone(),
            members: (0..self.own).collect(),
        }];
        let mut candidates = Vec::new();
        for it in subscriptions().filter(|it| !is_same(it, own)) {
            let members: Vec<usize> = members(it);
            let is_own = members.iter().any(|at| *at < self.own);
            if members.is_empty() || is_own {
                continue;
            }
            // Whoever has another Subscription stays with that.
            let is_shared = staying().any(|other| {
                let mut members = members.iter();
                !is_same(other, it) && members.any(|at| is_of(other, self.parties[*at].csv))
            });
            if is_shared {
                continue;
            }
            let is_generated = it.annotations().contains_key(labels::GENERATED_BY);
            if it.metadata.deletion_timestamp.is_none() && is_generated {
                candidates.push(Candidate {
                    subscription: it,
                    members,
                });
            } else if is_being_removed(it) {
                begun.push(Begun {
                    wish: Wish::of(it),
                    namespace: it.namespace().unwrap_or_default(),
                    members,
                });
            }
        }
        let parties = self.parties.iter().enumerate();
        let fates = parties.map(|(at, party)| {
            let is_removed = begun.iter().any(|it| it.members.contains(&at));
            // One that is deleted while its Subscription is not comes back.
            let is_deleted = party.csv.metadata.deletion_timestamp.is_some()
                && !staying().any(|it| is_of(it, party.csv));
            if is_removed || is_deleted {
                Fate::Goes
            } else {
                Fate::Stays
            }
        });
        self.outcomes = fates.collect();
        self.users = vec![None; self.parties.len()];
        self.removals = begun;
        self.candidates = candidates;
    }

    /// One step nearer to what stays; tells whether there was one to take.
    fn change(&mut self) -> bool {
        for at in 0..self.candidates.len() {
            let candidate = &self.candidates[at];
            let was_pruned = candidate.members.iter().any(|it| self.is_pruned(*it));
            let is_kept = candidate.members.iter().any(|it| self.users[*it].is_some());
            let is_pruned = !is_kept && self.policy(candidate).is_some();
            if was_pruned != is_pruned {
                let fate = if is_pruned {
                    Fate::IsPruned
                } else {
                    Fate::Stays
                };
                for member in candidate.members.clone() {
                    self.outcomes[member] = fate;
                }
            }
        }
        let unmet = self.unmet();
        let user = |at: usize| {
            let mut all = 0..self.parties.len();
            all.find(|user| {
                let stays = matches!(self.outcomes[*user], Fate::Stays | Fate::IsHeld);
                stays && self.wants(*user, &unmet[*user], at)
            })
        };
        // A dependency that is kept may be what somebody has instead of something else that goes, and so
        // they come one at a time, and first.
        let pruned = (0..self.parties.len()).filter(|at| self.is_pruned(*at));
        let kept = pruned.into_iter().find_map(|at| Some((at, user(at)?)));
        if let Some((at, user)) = kept {
            self.users[at] = Some(user);
            return true;
        }
        let removed = (0..self.parties.len()).filter(|at| self.outcomes[*at] == Fate::Goes);
        let held: Vec<usize> = removed.filter(|at| user(*at).is_some()).collect();
        for at in &held {
            self.outcomes[*at] = Fate::IsHeld;
        }
        // A removal is held as a whole.
        for removal in &self.removals {
            if removal.members.iter().any(|it| held.contains(it)) {
                for member in &removal.members {
                    self.outcomes[*member] = Fate::IsHeld;
                }
            }
        }
        !held.is_empty()
    }

    fn is_pruned(&self, at: usize) -> bool {
        self.outcomes[at] == Fate::IsPruned
    }

    /// What everybody needs and has neither from itself nor from anybody who was never to go.
    fn unmet(&self) -> Vec<Vec<&Need>> {
        let stay: Vec<&Party<'_>> = self
            .parties
            .iter()
            .zip(&self.outcomes)
            .filter(|(_, fate)| **fate == Fate::Stays)
            .map(|(party, _)| party)
            .collect();
        let of = |party: &'_ Party<'a>| -> Vec<usize> {
            let needs = party.needs.iter().enumerate();
            let unmet = needs.filter(|(_, need)| {
                !party.meets(party, need) && !stay.iter().any(|it| it.meets(party, need))
            });
            unmet.map(|(at, _)| at).collect()
        };
        self.parties
            .iter()
            .map(|party| of(party).into_iter().map(|at| &party.needs[at]).collect())
            .collect()
    }

    fn wants(&self, user: usize, unmet: &[&Need], at: usize) -> bool {
        let mut unmet = unmet.iter();
        user != at && unmet.any(|need| self.parties[at].meets(&self.parties[user], need))
    }

    /// How a dependency goes, if a removal that is not held reaches it: the most careful of all that do
    /// counts.
    fn policy(&self, candidate: &Candidate<'_>) -> Option<RemovalPolicy> {
        let reaching = self.reaching(candidate);
        let mut policies: Vec<&RemovalPolicy> = reaching.map(|it| &it.wish.policy).collect();
        policies.sort_by_key(|policy| **policy == RemovalPolicy::Everything);
        policies.first().map(|policy| (*policy).clone())
    }

    /// The removals that take a dependency with them.
    fn reaching(&self, candidate: &Candidate<'_>) -> impl Iterator<Item = &Begun> {
        self.removals.iter().filter(move |removal| {
            let is_held = |at: &usize| self.outcomes[*at] == Fate::IsHeld;
            removal.wish.prunes()
                && !removal.members.iter().any(is_held)
                && self.reaches(removal, candidate)
        })
    }

    /// The CRDs that removals name which take a dependency with them, and that are its own, or those of what
    /// goes with it in turn; and what it names itself.
    fn names(&self, candidate: &Candidate<'_>, crds: &[Crd]) -> BTreeSet<String> {
        let reached = self.reached(&Begun {
            wish: Wish::default(),
            namespace: candidate.subscription.namespace().unwrap_or_default(),
            members: candidate.members.clone(),
        });
        let named = self.reaching(candidate).flat_map(|it| &it.wish.crds);
        let theirs = named.filter(|name| {
            let mut reached = reached.iter();
            self.has_crd(candidate, name, crds) || reached.any(|it| self.has_crd(it, name, crds))
        });
        theirs
            .cloned()
            .chain(Wish::of(candidate.subscription).crds)
            .collect()
    }

    /// Whether a CRD is a dependency's, as far as is known.
    fn has_crd(&self, candidate: &Candidate<'_>, name: &str, crds: &[Crd]) -> bool {
        let mark = mark(candidate.subscription);
        let mut members = candidate.members.iter();
        let mut crds = crds.iter().filter(|crd| crd.name == name);
        members.any(|at| owns(self.parties[*at].csv, name))
            || crds.any(|crd| crd.labels.contains_key(&mark))
    }

    /// Whether a removal needs a dependency, be it through other dependencies.
    fn reaches(&self, removal: &Begun, candidate: &Candidate<'_>) -> bool {
        let reached = self.reached(removal);
        reached
            .iter()
            .any(|it| is_same(it.subscription, candidate.subscription))
    }

    fn reached(&self, removal: &Begun) -> Vec<&Candidate<'a>> {
        let mut reached: Vec<&Candidate<'a>> = Vec::new();
        let mut front: Vec<usize> = removal.members.clone();
        while let Some(user) = front.pop() {
            let party = &self.parties[user];
            let needs = |candidate: &&Candidate<'_>| {
                let namespace = candidate.subscription.namespace().unwrap_or_default();
                let is_new = !reached
                    .iter()
                    .any(|it| is_same(it.subscription, candidate.subscription));
                let mut members = candidate.members.iter();
                is_new
                    && namespace == removal.namespace
                    && members.any(|at| {
                        let mut needs = party.needs.iter();
                        *at != user
                            && needs.any(|need| {
                                !party.meets(party, need) && self.parties[*at].meets(party, need)
                            })
                    })
            };
            let next: Vec<&Candidate<'a>> = self.candidates.iter().filter(needs).collect();
            front.extend(next.iter().flat_map(|it| it.members.iter().copied()));
            reached.extend(next);
        }
        reached
    }

    /// What was installed for the Subscription that goes, and whether it goes as well.
    pub(super) fn dependencies(&self) -> Dependencies<'a> {
        let mut found = Dependencies::default();
        let Some(own) = self.removals.first() else {
            return found;
        };
        for candidate in self.reached(own) {
            let mut members = candidate.members.iter();
            match members.find_map(|at| self.users[*at]) {
                None => found.unneeded.push(candidate.subscription),
                Some(user) => {
                    let user = self.parties[user].csv;
                    found.needed.push((candidate.subscription, user));
                }
            }
        }
        found
    }

    /// How the dependency of a Subscription that goes is to go.
    pub(super) fn policy_for(&self, dependency: &Subscription) -> Option<RemovalPolicy> {
        let mut candidates = self.candidates.iter();
        let found = candidates.find(|it| is_same(it.subscription, dependency))?;
        self.policy(found)
    }

    /// The CRDs that the dependency of a Subscription that goes is to take with it by name.
    pub(super) fn names_for(&self, dependency: &Subscription, crds: &[Crd]) -> BTreeSet<String> {
        let mut candidates = self.candidates.iter();
        match candidates.find(|it| is_same(it.subscription, dependency)) {
            Some(found) => self.names(found, crds),
            None => Wish::of(dependency).crds,
        }
    }

    /// Whether a CRD goes by name with a dependency that goes.
    pub(super) fn hands_over(&self, crd: &str, crds: &[Crd]) -> bool {
        let mut pruned = self.candidates.iter().filter(|it| {
            let mut members = it.members.iter();
            members.any(|at| self.is_pruned(*at))
        });
        pruned.any(|it| self.has_crd(it, crd, crds) && self.names(it, crds).contains(crd))
    }

    /// Whether whoever has another operator removed named a CRD as well.
    pub(super) fn is_named(&self, csv: &ClusterServiceVersion, crd: &str, crds: &[Crd]) -> bool {
        let mut parties = self.parties.iter();
        let Some(at) = parties.position(|it| std::ptr::eq(it.csv, csv)) else {
            return false;
        };
        let mut removals = self.removals.iter();
        let mut candidates = self.candidates.iter();
        removals.any(|it| it.members.contains(&at) && it.wish.crds.contains(crd))
            || candidates.any(|it| {
                it.members.contains(&at) && self.is_pruned(at) && self.names(it, crds).contains(crd)
            })
    }

    /// The others that are there when everything is over.
    pub(super) fn staying(&self) -> impl Iterator<Item = &'a ClusterServiceVersion> {
        self.others(|fate| matches!(fate, Fate::Stays | Fate::IsHeld))
    }

    /// The others that go as well.
    pub(super) fn going(&self) -> impl Iterator<Item = &'a ClusterServiceVersion> {
        self.others(|fate| matches!(fate, Fate::Goes | Fate::IsPruned))
    }

    fn others(
        &self,
        is_meant: impl Fn(Fate) -> bool,
    ) -> impl Iterator<Item = &'a ClusterServiceVersion> {
        let all = self.parties.iter().zip(&self.outcomes).skip(self.own);
        all.filter(move |(_, fate)| is_meant(**fate))
            .map(|(party, _)| party.csv)
    }

    /// Who needs what goes, what of it, and whether that one goes itself. Of those that need each other
    /// none can be the first, and so they do not count; neither do dependencies that nobody deleted yet.
    pub(super) fn users(&self) -> Vec<(&'a ClusterServiceVersion, &Need, bool)> {
        let unmet = self.unmet();
        let goes = |at: usize| matches!(self.outcomes[at], Fate::Goes | Fate::IsPruned);
        let mut companions: Vec<usize> = (0..self.own).collect();
        let mut front = companions.clone();
        while let Some(user) = front.pop() {
            let all = 0..self.parties.len();
            let next = all.filter(|at| {
                goes(*at) && !companions.contains(at) && self.wants(user, &unmet[user], *at)
            });
            let next: Vec<usize> = next.collect();
            companions.extend(&next);
            front.extend(next);
        }
        let mut users = Vec::new();
        for user in (self.own..self.parties.len()).filter(|at| !companions.contains(at)) {
            let party = &self.parties[user];
            let own = &self.parties[..self.own];
            let need = unmet[user]
                .iter()
                .find(|need| own.iter().any(|it| it.meets(party, need)));
            if let Some(need) = need.filter(|_| !self.is_pruned(user)) {
                users.push((party.csv, *need, goes(user)));
            }
        }
        users
    }
}

fn is_same(one: &Subscription, other: &Subscription) -> bool {
    one.name_any() == other.name_any() && one.namespace() == other.namespace()
}
