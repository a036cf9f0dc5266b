//! In a world that stays as it is, every ClusterServiceVersion comes to rest.

use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;

use super::world::{
    CRD, Csv as _, Installed, World, certified, csv, drifted, group, nothing, rival, running,
    stuck, time, unserved, waiting,
};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::webhook::WebhookDefinition;
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::lifecycle::install::state::Certificates;
use crate::lifecycle::phase::{Failure, InstallOutcome, SinceGivenUp};

/// More steps than any way through the phases has, for three versions after each other that all time
/// out.
const ROUNDS: usize = 60;

const NAMES: [&str; 3] = ["csv1", "csv2", "csv3"];

fn any_csv(name: &'static str) -> impl Strategy<Value = ClusterServiceVersion> {
    let phases = CsvPhase::KNOWN
        .iter()
        .copied()
        .chain([""])
        .collect::<Vec<_>>();
    let reasons = CsvReason::KNOWN
        .iter()
        .copied()
        .filter(|reason| *reason != "Copied");
    let reasons = reasons.chain([""]).collect::<Vec<_>>();
    let replaces = NAMES
        .iter()
        .copied()
        .chain(["", "", "gone"])
        .collect::<Vec<_>>();
    let parts = (
        select(phases),
        select(reasons),
        select(replaces),
        any::<[bool; 4]>(),
    );
    parts.prop_map(
        move |(phase, reason, replaces, [crds, modes, webhook, strategy])| {
            let mut csv = csv(name, &CsvPhase::from(phase))
                .because(&CsvReason::from(reason))
                .replaces(replaces);
            if crds {
                csv = csv.without_crds();
            }
            if !modes && webhook && strategy {
                csv.spec.install_modes.clear();
            }
            if modes && webhook && !strategy {
                csv.spec.webhook_definitions =
                    vec![WebhookDefinition::default(), WebhookDefinition::default()];
            }
            if modes && !webhook && strategy {
                csv.spec.install.strategy.clear();
            }
            csv
        },
    )
}

fn any_installed() -> impl Strategy<Value = Installed> {
    let missing = Certificates::Missing {
        message: "no secret".to_owned(),
    };
    select(vec![
        running(),
        nothing(),
        drifted(),
        waiting(),
        stuck(),
        unserved(true),
        unserved(false),
        certified(Certificates::Due),
        certified(missing),
    ])
}

/// What an install leaves: nothing differs from what it wrote.
fn any_result() -> impl Strategy<Value = Installed> {
    select(vec![
        running(),
        waiting(),
        stuck(),
        unserved(true),
        unserved(false),
    ])
}

fn any_outcome() -> impl Strategy<Value = InstallOutcome> {
    let failed = |failure| InstallOutcome::Failed {
        message: "refused".to_owned(),
        failure,
    };
    select(vec![
        InstallOutcome::Done {
            certificates_until: None,
            certificates_made: false,
        },
        InstallOutcome::Done {
            certificates_until: Some(time(1_000_000)),
            certificates_made: false,
        },
        InstallOutcome::Done {
            certificates_until: Some(time(1_000_000)),
            certificates_made: true,
        },
        failed(Failure::Passing),
        failed(Failure::Forbidden),
        failed(Failure::Refused),
        failed(Failure::Senseless),
    ])
}

prop_compose! {
    fn any_world()(
        csvs in NAMES.map(any_csv),
        count in 1..=3_usize,
        installed in [any_installed(), any_installed(), any_installed()],
        after_install in any_result(),
        outcome in any_outcome(),
        groups in 0..8_usize,
        provided in select(vec!["", "c1.v1.g1"]),
        [has_crd, fails_forward, is_static] in any::<[bool; 3]>(),
        rival_since in select(vec!["", "", "2026-01-01T00:00:01Z", "2026-01-01T00:00:09Z"]),
    ) -> World {
        let mut world = World::new(csvs.into_iter().take(count)).provided(provided);
        for (name, installed) in NAMES.iter().zip(installed) {
            world = world.with_installed(name, installed);
        }
        if fails_forward {
            world = world.fail_forward();
        }
        world.groups[0].spec.static_provided_apis = is_static;
        match groups {
            0 => world.groups.clear(),
            1 => world.groups.push(group("second", &["ns"], "")),
            2 => world.groups[0].status = None,
            _ => {}
        }
        if !has_crd {
            world.crds.remove(CRD);
        }
        if !rival_since.is_empty() {
            world.others.push(rival("c1.v1.g1", rival_since));
        }
        world.after_install = after_install;
        world.outcome = outcome;
        world
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 128,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_machine_comes_to_rest_and_then_writes_nothing(
        mut world in any_world(),
        tick in select(vec![0, 3, 30, 400]),
        changed: bool,
        rest in select(vec![0, 60]),
    ) {
        let same = SinceGivenUp::Same { rest: Duration::from_secs(rest) };
        world.since_given_up = if changed { SinceGivenUp::Changed } else { same };
        for round in 0..ROUNDS {
            world.now = time(tick * i64::try_from(round).unwrap());
            world.sync();
            world.since_given_up = same;
        }
        let (csvs, groups, told) = (world.csvs.clone(), world.groups.clone(), world.events.len());
        for round in ROUNDS..ROUNDS + 5 {
            world.now = time(tick * i64::try_from(round).unwrap());
            world.sync();
        }
        prop_assert_eq!(&world.events[told..], &[]);
        prop_assert!(csvs == world.csvs && groups == world.groups);
    }
}
