//! What is remembered of installs: it saves writes, and may be forgotten at any time.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use kube::ResourceExt as _;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

use super::circumstances::Circumstances;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::api::subscription::SubscriptionConfig;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::controller::key::ObjectKey;
use crate::lifecycle::install::certificates::{ServingCertificate, ServingCertificates};
use crate::lifecycle::install::{Key, Seen, Settled, services};
use crate::lifecycle::phase::{self, Contested, Failure, SinceGivenUp};

/// What is remembered of installs.
#[derive(Debug, Default)]
pub(in crate::controller) struct Attempts {
    /// The objects that we wrote.
    written: Mutex<HashMap<Key, Written>>,
    /// The objects that somebody else changes back.
    contests: Mutex<HashMap<Key, Contest>>,
    /// The installs that were given up.
    given_up: Mutex<HashMap<ObjectKey, GivenUp>>,
    /// Whose turn it is to look at a Deployment and what goes with it, and to write them.
    turns: Mutex<HashMap<ObjectKey, Weak<Turn<()>>>>,
    /// The certificates that were made and not written yet, by their Secrets.
    unwritten: Mutex<HashMap<Key, Unwritten>>,
}

/// A certificate that was made and not written yet. Callers may trust it already.
#[derive(Debug)]
struct Unwritten {
    /// The ClusterServiceVersion that it was made for.
    owner: ObjectKey,
    certificate: ServingCertificate,
}

/// An object that we wrote.
#[derive(Clone, Debug)]
struct Written {
    /// The ClusterServiceVersion for which we did last.
    owner: ObjectKey,
    /// What it was right after that.
    settled: Settled,
}

/// How often an object is written back at once that somebody else changes.
const MOST_AT_ONCE: u32 = 3;
/// When somebody who changed an object is not suspected any more.
const FORGIVEN: Duration = Duration::from_mins(30);

/// An object that somebody else changes back.
#[derive(Clone, Debug)]
struct Contest {
    /// How often we wrote it back.
    times: u32,
    /// When we did last.
    last: Instant,
    /// Who changes it, as they call themselves.
    rival: String,
}

impl Contest {
    /// How long it is left as it is.
    fn rest(&self) -> Duration {
        let Some(more) = self.times.checked_sub(MOST_AT_ONCE) else {
            return Duration::ZERO;
        };
        phase::rest(more).saturating_sub(self.last.elapsed())
    }
}

/// What part of the time that an install rests passes before it begins anew because things changed.
const HASTE: u32 = 20;

/// An install that was given up.
#[derive(Clone, Copy, Debug)]
struct GivenUp {
    /// How things were.
    circumstances: u64,
    /// What its author asked for then.
    generation: Option<i64>,
    /// Whether it was that the installer may not.
    is_forbidden: bool,
    /// How often it was tried again in vain.
    tries: u32,
    /// When it was given up.
    at: Instant,
}

impl GivenUp {
    /// What is to be remembered now, after what was remembered before. What its author changed is another install;
    /// what only changed around it is not, and the one before that came to nothing counts.
    fn after(
        before: Option<&Self>,
        circumstances: u64,
        generation: Option<i64>,
        is_forbidden: bool,
    ) -> Self {
        let before = before.filter(|before| before.generation == generation);
        Self {
            circumstances,
            generation,
            is_forbidden,
            tries: before.map_or(0, |before| before.tries.saturating_add(1)),
            at: Instant::now(),
        }
    }

    /// How things are compared to then. If they change time and again, they are not given a try each time: of
    /// what is tried, everybody who watches is told.
    fn compared(&self, circumstances: u64, generation: Option<i64>) -> SinceGivenUp {
        let rest = phase::rest(self.tries);
        let left = |rest: Duration| rest.saturating_sub(self.at.elapsed());
        if self.generation != generation {
            return SinceGivenUp::Changed;
        }
        match left(rest / HASTE) {
            _ if self.circumstances == circumstances => SinceGivenUp::Same { rest: left(rest) },
            Duration::ZERO => SinceGivenUp::Changed,
            rest => SinceGivenUp::Same { rest },
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whoever panicked with it left a map that is at worst incomplete.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The Secret of the certificate of a Deployment.
fn secret_of(csv: &ClusterServiceVersion, deployment: &str) -> Key {
    let home = csv.namespace().unwrap_or_default();
    let service = services::service_name(deployment);
    Key::new("Secret", &home, &services::secret_name(&service))
}

impl Attempts {
    /// Has nobody else look at the Deployments of a ClusterServiceVersion, and at what goes with them, in order to write
    /// them. Nothing if somebody does: a version and the one that takes over may share them. By what both saw before
    /// the other wrote, one could put back its own Deployment, or leave callers with the CA of a certificate that is
    /// not in use.
    pub(super) fn turn(&self, csv: &ClusterServiceVersion) -> Option<Vec<OwnedMutexGuard<()>>> {
        let home = csv.namespace().unwrap_or_default();
        let deployments = csv.spec.install.spec.deployments.iter();
        // Secrets are named after Services, and two Deployments may have one.
        let names: BTreeSet<String> = deployments
            .map(|deployment| services::service_name(&deployment.name))
            .collect();
        let turns = names.iter().map(|name| {
            let turn = self.turn_of(ObjectKey::new(&home, name));
            turn.try_lock_owned().ok()
        });
        turns.collect()
    }

    fn turn_of(&self, service: ObjectKey) -> Arc<Turn<()>> {
        let mut turns = lock(&self.turns);
        turns.retain(|_, turn| turn.strong_count() > 0);
        let known = turns.get(&service).and_then(Weak::upgrade);
        let turn = known.unwrap_or_default();
        turns.insert(service, Arc::downgrade(&turn));
        turn
    }

    /// Remembers certificates that are about to be written, those that are not in use yet.
    pub(super) fn made(
        &self,
        csv: &ClusterServiceVersion,
        certificates: &ServingCertificates,
        in_use: &ServingCertificates,
    ) {
        let made = certificates.iter();
        let made = made.filter(|(deployment, it)| in_use.get(*deployment) != Some(it));
        let mut unwritten = lock(&self.unwritten);
        for (deployment, certificate) in made {
            let one = Unwritten {
                owner: ObjectKey::of(csv),
                certificate: certificate.clone(),
            };
            unwritten.insert(secret_of(csv, deployment), one);
        }
    }

    /// The certificates that were made for the Deployments of a ClusterServiceVersion and not written yet.
    pub(super) fn unwritten(&self, csv: &ClusterServiceVersion) -> ServingCertificates {
        let unwritten = lock(&self.unwritten);
        let deployments = csv.spec.install.spec.deployments.iter();
        let certificates = deployments.filter_map(|deployment| {
            let one = unwritten.get(&secret_of(csv, &deployment.name))?;
            Some((deployment.name.clone(), one.certificate.clone()))
        });
        certificates.collect()
    }

    /// Forgets a certificate that was made before, if this is its Secret, which was written.
    pub(super) fn in_use(&self, secret: &Key) {
        lock(&self.unwritten).remove(secret);
    }

    /// Forgets certificates that are in use: somebody who deletes such a Secret wants another key.
    pub(super) fn seen_in_use(&self, csv: &ClusterServiceVersion, in_use: &ServingCertificates) {
        let mut unwritten = lock(&self.unwritten);
        for (deployment, certificate) in in_use {
            let secret = secret_of(csv, deployment);
            if unwritten
                .get(&secret)
                .is_some_and(|it| it.certificate == *certificate)
            {
                unwritten.remove(&secret);
            }
        }
    }

    /// Remembers what an object was like right after it was written for a ClusterServiceVersion.
    pub(super) fn wrote(&self, owner: &ObjectKey, key: Key, settled: Settled) {
        let owner = owner.clone();
        lock(&self.written).insert(key, Written { owner, settled });
    }

    /// Tells which objects are as the API server wanted them when they were written.
    pub(super) fn settled(&self, mut seen: Seen, keys: Vec<Key>) -> Seen {
        let written = lock(&self.written);
        for key in keys {
            if let Some(written) = written.get(&key) {
                seen = seen.settled(key, written.settled.clone());
            }
        }
        seen
    }

    /// Remembers that an object is written back because somebody changed it.
    pub(super) fn written_back(&self, key: Key, rival: &str) {
        let mut contests = lock(&self.contests);
        contests.retain(|_, contest| contest.last.elapsed() < FORGIVEN);
        let contest = contests.entry(key).or_insert_with(|| Contest {
            times: 0,
            last: Instant::now(),
            rival: String::new(),
        });
        contest.times = contest.times.saturating_add(1);
        contest.last = Instant::now();
        rival.clone_into(&mut contest.rival);
    }

    /// Leaves those objects as somebody else has them who changes them back time and again. Says of the
    /// first who that is, and how long it is left.
    pub(super) fn truces(&self, mut seen: Seen, keys: &[Key]) -> (Seen, Option<Contested>) {
        let contests = lock(&self.contests);
        let mut first = None;
        for key in keys {
            let Some(contest) = contests.get(key) else {
                continue;
            };
            let rest = contest.rest();
            if !rest.is_zero() {
                seen = seen.leaving(key.clone());
                let message = format!(
                    "{key} is changed back by {} whenever it is written: have it leave what the \
                     ClusterServiceVersion asks for",
                    contest.rival
                );
                first.get_or_insert(Contested { message, rest });
            }
        }
        (seen, first)
    }

    /// Forgets a ClusterServiceVersion that is gone, and what was written for it. What others of its namespace have
    /// is theirs, also what they took over from it.
    pub(super) fn forget(&self, key: &ObjectKey) {
        lock(&self.given_up).remove(key);
        lock(&self.written).retain(|_, written| written.owner != *key);
        lock(&self.unwritten).retain(|_, unwritten| unwritten.owner != *key);
    }

    /// How things are compared to when an install was given up.
    pub(super) async fn since_given_up(
        &self,
        context: &Context,
        csv: &ClusterServiceVersion,
        config: Option<&SubscriptionConfig>,
    ) -> Result<SinceGivenUp, Error> {
        let key = ObjectKey::of(csv);
        let status = csv.status.clone().unwrap_or_default();
        if status.reason != CsvReason::InstallComponentFailedNoRetry {
            // On its way round through the phases it is still the same install.
            if matches!(status.phase, CsvPhase::Installing | CsvPhase::Succeeded) {
                lock(&self.given_up).remove(&key);
            }
            return Ok(SinceGivenUp::Changed);
        }
        let given_up = lock(&self.given_up).get(&key).copied();
        let Some(then) = given_up else {
            return Ok(SinceGivenUp::Changed);
        };
        let now = Circumstances::read(context, csv, config, then.is_forbidden).await?;
        Ok(then.compared(now.number(), csv.metadata.generation))
    }

    /// Remembers how things were when an install was given up.
    pub(super) async fn give_up(
        &self,
        context: &Context,
        csv: &ClusterServiceVersion,
        config: Option<&SubscriptionConfig>,
        failure: Failure,
    ) -> Result<(), Error> {
        let is_forbidden = failure == Failure::Forbidden;
        let now = Circumstances::read(context, csv, config, is_forbidden).await?;
        let mut given_up = lock(&self.given_up);
        let key = ObjectKey::of(csv);
        let generation = csv.metadata.generation;
        let before = given_up.get(&key);
        let now = GivenUp::after(before, now.number(), generation, is_forbidden);
        given_up.insert(key, now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;
    use crate::lifecycle::install::certificates;
    use crate::lifecycle::install::observe::differs;

    /// A version of an operator whose webhook one Deployment answers.
    fn answering(name: &str, namespace: &str, deployment: &str) -> ClusterServiceVersion {
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "install": {"strategy": "deployment", "spec": {"deployments": [
                    {"name": deployment, "spec": {}},
                ]}},
                "webhookdefinitions": [{
                    "type": "ValidatingAdmissionWebhook", "generateName": "a.example.com",
                    "deploymentName": deployment,
                }],
            },
        }))
        .unwrap()
    }

    #[test]
    fn versions_that_share_a_deployment_are_looked_at_one_after_the_other_and_no_others_wait() {
        let attempts = Attempts::default();
        let turn = |name, namespace, deployment| {
            let csv = answering(name, namespace, deployment);
            attempts.turn(&csv)
        };
        let first = turn("gopher.v1", "home", "gopher");
        assert_eq!(first.as_ref().map(Vec::len), Some(1));
        assert!(turn("gopher.v2", "home", "gopher").is_none());
        assert!(turn("gopher.v1", "elsewhere", "gopher").is_some());
        assert!(turn("mole.v1", "home", "mole").is_some());
        drop(first);
        assert!(turn("gopher.v2", "home", "gopher").is_some());
    }

    #[test]
    fn a_certificate_that_could_not_be_written_is_used_by_the_next_attempt_until_it_could() {
        let attempts = Attempts::default();
        let csv = answering("gopher.v1", "home", "gopher");
        let now = Time(k8s_openapi::jiff::Timestamp::from_second(1_790_000_000).unwrap());
        let lost = certificates::look(&csv, &Seen::default(), &now);
        let make = || {
            let made = certificates::renew(&csv, &lost, &attempts.unwritten(&csv), &now).unwrap();
            attempts.made(&csv, &made, &lost.in_use);
            made
        };
        let first = make();
        assert!(make() == first, "another one was made");
        attempts.in_use(&Key::new("Secret", "home", "gopher-service-cert"));
        let second = make();
        assert!(second != first, "the one in use was made again");
        // It was written although no answer said so, and somebody deletes it.
        attempts.seen_in_use(&csv, &first);
        assert!(make() == second, "another one was seen");
        attempts.seen_in_use(&csv, &second);
        let third = make();
        assert!(third != second, "a key that was in use comes back");
        attempts.forget(&ObjectKey::of(&csv));
        assert!(make() != third, "it was not forgotten");
    }

    #[test]
    fn with_an_operator_is_forgotten_what_was_written_for_it_and_nothing_else() {
        let attempts = Attempts::default();
        let csv = |name: &str| ObjectKey::new("home", name);
        let objects = [
            ("one", Key::new("Deployment", "home", "one")),
            ("one", Key::new("APIService", "", "v1.one")),
            ("two", Key::new("Deployment", "home", "two")),
            ("two", Key::new("MutatingWebhookConfiguration", "", "two")),
        ];
        for (owner, key) in objects {
            attempts.wrote(&csv(owner), key, Settled::default());
        }
        // The newer version took it over.
        for owner in ["one", "two"] {
            let shared = Key::new("Service", "home", "shared");
            attempts.wrote(&csv(owner), shared, Settled::default());
        }
        attempts.forget(&csv("one"));
        let mut left: Vec<String> = lock(&attempts.written)
            .keys()
            .map(ToString::to_string)
            .collect();
        left.sort();
        assert_eq!(
            left,
            [
                "Deployment home/two",
                "MutatingWebhookConfiguration two",
                "Service home/shared"
            ]
        );
    }

    #[test]
    fn an_object_that_somebody_changes_back_is_written_a_few_times_and_then_left_for_a_while() {
        let attempts = Attempts::default();
        let asked = json!({"kind": "Service", "metadata": {"name": "a"}, "spec": {"a": 1}});
        let key = Key::of(&asked);
        let drifted = json!({"kind": "Service", "metadata": {"name": "a"}, "spec": {"a": 2}});
        let look = || attempts.truces(Seen::new([drifted.clone()]), std::slice::from_ref(&key));
        for _ in 0..3 {
            let (seen, contested) = look();
            assert!(differs(&asked, &seen).is_some());
            assert_eq!(contested, None);
            attempts.written_back(key.clone(), "cainjector");
        }
        let (seen, contested) = look();
        assert_eq!(differs(&asked, &seen), None);
        let first = contested.unwrap();
        assert!(first.message.contains("cainjector"), "{first:?}");
        attempts.written_back(key.clone(), "cainjector");
        let (_, contested) = look();
        assert!(contested.unwrap().rest > first.rest);
        // It is made anew nevertheless if it is gone.
        let (seen, _) = attempts.truces(Seen::default(), std::slice::from_ref(&key));
        assert!(differs(&asked, &seen).is_some());
    }

    fn ago(given_up: GivenUp, seconds: u64) -> GivenUp {
        GivenUp {
            at: given_up
                .at
                .checked_sub(Duration::from_secs(seconds))
                .unwrap(),
            ..given_up
        }
    }

    #[test]
    fn what_changes_time_and_again_around_an_install_is_not_tried_each_time() {
        let mut given_up = GivenUp::after(None, 1, Some(1), true);
        // The first time at once, or nearly so.
        assert_eq!(ago(given_up, 1).compared(2, Some(1)), SinceGivenUp::Changed);
        for round in 2..10 {
            given_up = GivenUp::after(Some(&given_up), round, Some(1), true);
        }
        let SinceGivenUp::Same { rest } = ago(given_up, 5).compared(99, Some(1)) else {
            panic!("after five seconds it begins anew");
        };
        assert!(rest <= Duration::from_secs(30), "{rest:?}");
        let later = ago(given_up, 30);
        assert_eq!(later.compared(99, Some(1)), SinceGivenUp::Changed);
        // What stays is tried later still.
        let same = later.compared(given_up.circumstances, Some(1));
        assert!(
            matches!(same, SinceGivenUp::Same { rest } if rest > Duration::from_mins(2)),
            "{same:?}"
        );
    }

    #[test]
    fn what_its_author_changes_is_tried_at_once_and_another_install() {
        let first = GivenUp::after(None, 1, Some(1), false);
        let second = GivenUp::after(Some(&first), 1, Some(1), false);
        assert_eq!(second.compared(2, Some(2)), SinceGivenUp::Changed);
        assert_eq!(second.tries, 1);
        let mended = GivenUp::after(Some(&second), 2, Some(2), false);
        assert_eq!(mended.tries, 0);
    }
}
