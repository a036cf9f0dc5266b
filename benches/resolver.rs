//! Resolutions against a whole catalog: how long one takes, beside the budgets and beside OLM.
//!
//! OLM's resolver is asked by the program of `tests/parity`; `CHANDLER_PARITY` names it.

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]
#![allow(
    dead_code,
    clippy::panic,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "the problems are those of the tests"
)]

#[path = "support/memory.rs"]
mod memory;
#[path = "../tests/support/scenario.rs"]
mod scenario;
#[path = "support/whole_catalog.rs"]
mod whole_catalog;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use chandler::catalog::fbc;
use chandler::catalog::index::{Builder, Index};
use chandler::resolver::{
    Bundle, Catalog, CatalogKey, Channel, Component, Contents, Curation, Dependencies, Features,
    Installed, Package, Packages, Progress, Request, Resolution, Snapshot, Subscription, resolve,
};
use chandler::version::UserRange;
use serde_json::json;

use memory::memory;
use scenario::{
    BundleInput, CatalogInput, ChannelInput, Input, PackageInput, Requires, SubscriptionInput,
    World,
};
use whole_catalog::Copies;

const ONE: Duration = Duration::from_millis(5);
const HUNDRED: Duration = Duration::from_millis(100);
const EXPLANATION: Duration = Duration::from_millis(20);

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let index = index(&folder.path().join("catalog"), 1, Copies::Alike)?;
    println!(
        "{:.1} MB resident with the index open",
        memory(std::process::id(), "VmRSS")?
    );
    let names = index.names();
    let all: Vec<Subscription> = names.iter().map(|name| to(name)).collect();

    let alone: Vec<Vec<Subscription>> = all.iter().map(|one| vec![one.clone()]).collect();
    let mut depending = Vec::new();
    for one in &alone {
        let resolution = resolve(&request(&index, one, &[]));
        let depends = |component: &Component| match component {
            Component::Solved(solution) => solution.install.len() > 1,
            Component::Unsolvable(_) => false,
        };
        depending.extend(
            resolution
                .components
                .iter()
                .any(depends)
                .then(|| one.clone()),
        );
    }
    let questions = |of: &[Vec<Subscription>]| {
        of.iter()
            .map(|one| (one.clone(), Vec::new()))
            .collect::<Vec<_>>()
    };
    measure(
        "1 Subscription, each package",
        Some(ONE),
        &index,
        &questions(&alone),
    );
    measure(
        "1 Subscription with dependencies",
        Some(ONE),
        &index,
        &questions(&depending),
    );
    let unknown_version = UserRange::parse(">=1000")?;
    let changed = |some: &[Vec<Subscription>], change: &dyn Fn(&mut Subscription)| {
        let mut some = some.to_vec();
        some.iter_mut().flatten().for_each(change);
        questions(&some)
    };
    let refusals = [
        (
            "no such version",
            changed(&alone, &|one| one.version = Some(unknown_version.clone())),
        ),
        (
            "no such channel",
            changed(&alone, &|one| "nowhere".clone_into(&mut one.channel)),
        ),
        (
            "what it needs is not to be installed",
            changed(&depending, &|one| one.dependencies = Dependencies::Require),
        ),
    ];
    for (why, refused) in refusals {
        measure(
            &format!("1 Subscription, refused and explained: {why}"),
            Some(EXPLANATION),
            &index,
            &refused,
        );
    }

    let friends = friends(&index, &all);
    for count in [10, 100] {
        let some: Vec<Subscription> = friends.iter().take(count).cloned().collect();
        let budget = (count == 100).then_some(HUNDRED);
        measure(
            &format!("{} Subscriptions", some.len()),
            budget,
            &index,
            &[(some.clone(), Vec::new())],
        );
        let (installed, following) = at_tail(&index, &some);
        measure(
            &format!("{} upgrades", installed.len()),
            budget,
            &index,
            &[(following, installed)],
        );
    }
    measure(
        "every package at once",
        None,
        &index,
        &[(all.clone(), Vec::new())],
    );
    let twice: Vec<_> = alone
        .iter()
        .filter_map(|one| {
            let package = index.package(&one[0].package).ok()??;
            let (first, last) = (package.bundles.first()?, package.bundles.last()?);
            let mut both = [one[0].clone(), one[0].clone()];
            "again".clone_into(&mut both[1].name);
            both[0].starting_csv.clone_from(&first.name);
            both[1].starting_csv.clone_from(&last.name);
            (first.name != last.name).then(|| (both.to_vec(), Vec::new()))
        })
        .collect();
    measure(
        "two Subscriptions to one package, explained",
        Some(EXPLANATION),
        &index,
        &twice,
    );

    let thousand = thousand();
    let some: Vec<Subscription> = thousand.names().iter().map(|name| to(name)).collect();
    measure(
        "1,000 Subscriptions, made up",
        None,
        &thousand,
        &[(some, Vec::new())],
    );

    let before = measure("the same again", None, &index, &questions(&depending));
    for (what, copies) in [
        ("ten times as many operators", Copies::Apart),
        ("ten packages for each API", Copies::Alike),
    ] {
        let large = self::index(&folder.path().join("large"), 10, copies)?;
        let after = measure(
            &format!("1 with dependencies, {what}"),
            None,
            &large,
            &questions(&depending),
        );
        println!(
            "{what}: {:.1} x the time in the median, {:.1} x in the worst case (budget of a catalog ten times as large: 2 x)",
            after.median / before.median,
            after.worst / before.worst
        );
    }
    println!("{:.1} MB peak", memory(std::process::id(), "VmHWM")?);
    beside_olm()
}

/// How long questions took, in milliseconds.
struct Times {
    median: f64,
    worst: f64,
}

/// Asks every question some times over and tells the times of one.
fn measure(
    what: &str,
    budget: Option<Duration>,
    catalog: &dyn Snapshot,
    questions: &[(Vec<Subscription>, Vec<Installed>)],
) -> Times {
    assert!(!questions.is_empty(), "{what}: nothing is asked");
    let mut times = Vec::new();
    let mut refused = 0;
    for (subscriptions, installed) in questions {
        let request = request(catalog, subscriptions, installed);
        let mut best = Duration::MAX;
        for _ in 0..3 {
            let start = Instant::now();
            let resolution = resolve(&request);
            best = best.min(start.elapsed());
            if best == Duration::ZERO {
                println!("{resolution:?}");
            }
        }
        refused += unsolvable(&resolve(&request));
        times.push(best);
    }
    times.sort();
    let at = |percent: usize| {
        let time = times.get((times.len() * percent / 100).min(times.len().saturating_sub(1)));
        time.copied().unwrap_or_default().as_secs_f64() * 1e3
    };
    let verdict = budget.map_or(String::new(), |budget| {
        let budget = budget.as_secs_f64() * 1e3;
        let word = if at(100) <= budget { "kept" } else { "MISSED" };
        format!("; budget {budget} ms: {word}")
    });
    println!(
        "{what} ({} questions, {refused} outcomes without solution): median {:.3} ms, 90 % {:.3} ms, worst {:.3} ms{verdict}",
        times.len(),
        at(50),
        at(90),
        at(100)
    );
    Times {
        median: at(50),
        worst: at(100),
    }
}

fn unsolvable(resolution: &Resolution) -> usize {
    let components = resolution.components.iter();
    components
        .filter(|component| matches!(component, Component::Unsolvable(_)))
        .count()
}

fn index(folder: &std::path::Path, times: usize, copies: Copies) -> anyhow::Result<Index> {
    whole_catalog::write(folder, times, copies)?;
    let target = folder.with_extension("index");
    let mut builder = Builder::new(folder.parent().context("no folder")?)?;
    for entry in fs_err::read_dir(folder)? {
        let path = entry?.path().join("catalog.json");
        builder.add_file(&path.to_string_lossy(), fs_err::File::open(&path)?)?;
    }
    builder.finish(&target)?;
    fs_err::remove_dir_all(folder)?;
    Ok(Index::open(&target)?)
}

fn request<'a>(
    catalog: &'a dyn Snapshot,
    subscriptions: &[Subscription],
    installed: &[Installed],
) -> Request<'a> {
    Request {
        namespace: "operators".into(),
        global_namespaces: vec!["olm".into()],
        exclude_global: false,
        kube_version: None,
        catalogs: vec![Catalog {
            key: CatalogKey::new("olm", "hub"),
            priority: 0,
            contents: Contents::Current(catalog),
            curation: Curation::default(),
        }],
        installed: installed.to_vec(),
        subscriptions: subscriptions.to_vec(),
        held: Vec::new(),
    }
}

fn to(package: &str) -> Subscription {
    Subscription {
        name: package.to_owned(),
        package: package.to_owned(),
        catalog: CatalogKey::new("olm", "hub"),
        dependencies: Dependencies::Install,
        ..Subscription::default()
    }
}

/// The Subscriptions that can be met all together.
fn friends(catalog: &dyn Snapshot, all: &[Subscription]) -> Vec<Subscription> {
    let resolution = resolve(&request(catalog, all, &[]));
    let solved = resolution
        .components
        .iter()
        .filter_map(|component| match component {
            Component::Solved(solution) => Some(solution.requests.iter().cloned()),
            Component::Unsolvable(_) => None,
        });
    let names: BTreeSet<String> = solved.flatten().collect();
    all.iter()
        .filter(|one| names.contains(&one.name))
        .cloned()
        .collect()
}

/// Each with the oldest version of its default channel installed.
fn at_tail(catalog: &Index, some: &[Subscription]) -> (Vec<Installed>, Vec<Subscription>) {
    let mut installed = Vec::new();
    let mut following = Vec::new();
    for one in some {
        let Ok(Some(package)) = Snapshot::package(catalog, &one.package) else {
            continue;
        };
        let Some(channel) = package.channels.first() else {
            continue;
        };
        let tail = channel.order().ok().and_then(|order| order.last().copied());
        let Some((_, bundle)) = tail.and_then(|at| package.bundle(&channel.entries()[at].name))
        else {
            continue;
        };
        let properties = bundle.features.properties();
        let properties = properties.map(|(kind, value)| (kind.to_owned(), value.to_owned()));
        installed.push(Installed {
            name: bundle.name.clone(),
            package: Some(package.name.clone()),
            version: bundle.version.clone(),
            features: Arc::new(Features::new(
                Some(&package.name),
                bundle.version.as_ref(),
                properties.collect(),
            )),
            replaces: String::new(),
            progress: Progress::Succeeded,
        });
        following.push(Subscription {
            installed_csv: bundle.name.clone(),
            ..one.clone()
        });
    }
    (installed, following)
}

/// A thousand packages of seventeen versions, each of which needs the one before.
fn thousand() -> Packages {
    let package = |number: usize| {
        let name = format!("operator-{number:04}");
        let bundle = |version: usize| format!("{name}.v1.{version}.0");
        let entries = (0..17).map(|version| fbc::Entry {
            name: bundle(version),
            replaces: version.checked_sub(1).map(bundle).unwrap_or_default(),
            ..fbc::Entry::default()
        });
        let listed = fbc::Channel {
            package: name.clone(),
            name: "stable".into(),
            entries: entries.collect(),
            properties: Vec::new(),
        };
        let bundles = (0..17).map(|version| {
            let api = |number: usize| {
                json!({"group": "example.com", "version": "v1", "kind": format!("Kind{number}")})
                    .to_string()
            };
            let mut properties = vec![("olm.gvk".to_owned(), api(number))];
            properties.extend(
                (!number.is_multiple_of(10))
                    .then(|| ("olm.gvk.required".to_owned(), api(number - 1))),
            );
            Bundle::new(
                &name,
                bundle(version),
                &format!("1.{version}.0"),
                properties,
            )
        });
        Package::new(
            name.clone(),
            "stable".into(),
            vec![Channel::new(listed, None)],
            bundles.collect(),
        )
    };
    (0..1_000).map(package).collect()
}

/// OLM's own benchmark, with packages for its variables: of 256, every tenth is asked for, some
/// need one of a few others, some exclude a few others.
fn variables() -> Input {
    let mut state = 9_u64;
    let mut below = |end: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let name = |number: u64| format!("v{number:03}");
    let mut bundles: Vec<BundleInput> = (0..256)
        .map(|number| BundleInput {
            name: format!("{}.v1.0.0", name(number)),
            version: "1.0.0".into(),
            ..BundleInput::default()
        })
        .collect();
    let mut subscriptions = Vec::new();
    for at in 0..256 {
        if below(100) < 10 {
            subscriptions.push(SubscriptionInput {
                name: name(at),
                ..SubscriptionInput::default()
            });
        }
        if below(100) < 15 {
            let some: Vec<_> = (0..=below(5))
                .map(|_| json!({"package": {"packageName": name(below(256)), "versionRange": ">=0.0.0"}}))
                .collect();
            let constraint = json!({"any": {"constraints": some}});
            bundles[usize::try_from(at).unwrap()]
                .requires
                .push(Requires::Constraint { constraint });
        }
        if below(100) < 5 {
            for _ in 0..=below(2) {
                let other = below(256);
                let api = format!("example.com/v1/Either{at}Or{other}");
                for one in BTreeSet::from([at, other]) {
                    bundles[usize::try_from(one).unwrap()]
                        .provides
                        .push(api.clone());
                }
            }
        }
    }
    let packages = bundles
        .into_iter()
        .enumerate()
        .map(|(number, bundle)| PackageInput {
            name: name(number as u64),
            default_channel: "stable".into(),
            channels: vec![ChannelInput {
                name: "stable".into(),
                entries: vec![fbc::Entry {
                    name: bundle.name.clone(),
                    ..fbc::Entry::default()
                }],
                ..ChannelInput::default()
            }],
            bundles: vec![bundle],
            ..PackageInput::default()
        });
    Input {
        catalogs: vec![CatalogInput {
            name: "hub".into(),
            packages: packages.collect(),
            ..CatalogInput::default()
        }],
        subscriptions,
        ..Input::default()
    }
}

fn beside_olm() -> anyhow::Result<()> {
    let input = variables();
    let line = serde_json::to_string(&input)?;
    let world = World::new(input);
    let request = world.request();
    let start = Instant::now();
    for _ in 0..100 {
        resolve(&request);
    }
    let ours = start.elapsed().as_secs_f64() * 10.0;
    let outcomes = resolve(&request).components.len();
    println!("256 variables as in OLM's benchmark: {ours:.3} ms, {outcomes} outcomes");
    let Some(parity) = std::env::var_os("CHANDLER_PARITY") else {
        println!("beside OLM: SKIPPED, CHANDLER_PARITY does not name the program of tests/parity");
        return Ok(());
    };
    let ask = |runs: usize| -> anyhow::Result<f64> {
        let start = Instant::now();
        let mut child = Command::new(&parity)
            .args(["-workers", "1", "-runs", &runs.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        writeln!(child.stdin.take().context("no input")?, "{line}")?;
        let output = child.wait_with_output()?;
        anyhow::ensure!(
            output.status.success(),
            "the program of tests/parity failed"
        );
        Ok(start.elapsed().as_secs_f64() * 1e3)
    };
    // What it takes to start and to read the problem is not counted.
    let theirs = (ask(101)? - ask(1)?) / 100.0;
    println!(
        "the same by OLM's resolver: {theirs:.3} ms, {:.1} x ours",
        theirs / ours
    );
    Ok(())
}
