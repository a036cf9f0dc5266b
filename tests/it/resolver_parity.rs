//! The resolver beside OLM's own, on random problems, on all scenarios and on real packages.
//!
//! `make parity` builds the program of `tests/parity` and names it in `CHANDLER_PARITY`; `CASES`
//! says how many random problems there are. A difference is explained only if OLM, asked again
//! with the input changed as the difference on purpose says, answers as we do.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use chandler::resolver::{Component, Curation, Resolution, requirements, resolve};
use chandler::version::Version;
use serde::Deserialize;

use crate::support::data::skipped;
use crate::support::random::{self, Taste};
use crate::support::real;
use crate::support::scenario::{
    BundleInput, CatalogInput, Input, InstalledInput, PackageInput, Requires, SubscriptionInput,
    World, files, folder,
};

const CASES: u64 = 5_000;
/// OLM's answer can depend on chance; so many runs show most of its answers.
const RUNS: usize = 5;
const MANY_RUNS: usize = 30;

/// What OLM answers.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
enum Olm {
    Solved {
        install: Vec<Installs>,
    },
    Unsolvable {
        #[allow(dead_code, reason = "it is shown")]
        message: String,
    },
    Error {
        #[allow(dead_code, reason = "it is shown")]
        message: String,
    },
    Varies {
        outcomes: Vec<Self>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Installs {
    bundle: String,
    catalog: String,
    catalog_namespace: String,
    channel: String,
    replaces: String,
}

impl Olm {
    /// Whether it installs exactly this, at least sometimes.
    fn gives(&self, wanted: &BTreeSet<Installs>) -> bool {
        match self {
            Self::Solved { install } => install.iter().cloned().collect::<BTreeSet<_>>() == *wanted,
            Self::Varies { outcomes } => outcomes.iter().any(|one| one.gives(wanted)),
            Self::Unsolvable { .. } | Self::Error { .. } => false,
        }
    }

    fn refuses(&self) -> bool {
        match self {
            Self::Unsolvable { .. } => true,
            Self::Varies { outcomes } => outcomes.iter().all(Self::refuses),
            Self::Solved { .. } | Self::Error { .. } => false,
        }
    }
}

/// A difference on purpose: how the input has to change for OLM to see what we see.
type Change = fn(&mut Input, &Resolution);
const CHANGES: [(&str, Change); 10] = [
    (
        "isolation: Subscriptions that cannot be met are set aside",
        set_aside,
    ),
    (
        "what is installed may contradict itself",
        without_needs_of_facts,
    ),
    (
        "a failing catalog concerns only those who need it",
        without_failing_catalogs,
    ),
    (
        "a channel without order, an unreadable need concern only those who need them",
        without_malformed,
    ),
    (
        "installed CSVs may lack what nobody can give them",
        without_lacks,
    ),
    ("a CSV without Subscription is adopted", adopted),
    ("replaced CSVs are no facts", without_replaced),
    ("an upgrade waits for the one under way", without_underway),
    ("minKubeVersion is a constraint", without_too_new),
    ("curation: spec.packages", curated),
];

struct Problem {
    name: String,
    input: Input,
    resolution: Resolution,
    ours: BTreeSet<Installs>,
}

impl Problem {
    fn new(name: String, input: Input) -> Self {
        let resolution = resolve(&World::new(input.clone()).request());
        let ours = installs(&resolution);
        Self {
            name,
            input,
            resolution,
            ours,
        }
    }

    fn all_met(&self) -> bool {
        let mut components = self.resolution.components.iter();
        components.all(|component| matches!(component, Component::Solved(_)))
    }
}

fn installs(resolution: &Resolution) -> BTreeSet<Installs> {
    let mut all = BTreeSet::new();
    for component in &resolution.components {
        if let Component::Solved(solution) = component {
            all.extend(solution.install.iter().map(|install| Installs {
                bundle: install.bundle.clone(),
                catalog: install.catalog.clone(),
                catalog_namespace: install.catalog_namespace.clone(),
                channel: install.channel.clone(),
                replaces: install.replaces.clone(),
            }));
        }
    }
    all
}

#[test]
fn differences_from_olm_are_on_purpose() {
    let Some(program) = std::env::var_os("CHANDLER_PARITY").map(PathBuf::from) else {
        skipped(
            "parity with OLM",
            "CHANDLER_PARITY is not set; `make parity` sets it",
        );
        return;
    };
    let problems = problems();
    let inputs: Vec<&Input> = problems.iter().map(|problem| &problem.input).collect();
    let answers = ask(&program, &inputs, RUNS);
    let mut table: BTreeMap<String, usize> = BTreeMap::new();
    let mut count = |row: &str| *table.entry(row.to_owned()).or_default() += 1;
    let mut different = Vec::new();
    for (problem, olm) in problems.iter().zip(answers) {
        if uses_own_fields(&problem.input) {
            count("pins, Require: OLM has no such fields");
        } else if problem.all_met() && olm.gives(&problem.ours) {
            count(if matches!(olm, Olm::Varies { .. }) {
                "equal to one of OLM's answers"
            } else {
                "equal"
            });
        } else if olm.refuses() && problem.ours.is_empty() && !problem.all_met() {
            count("equal: neither installs anything");
        } else {
            different.push((problem, olm));
        }
    }
    let mut unexplained = Vec::new();
    let mut explained: BTreeMap<usize, String> = BTreeMap::new();
    for runs in [RUNS, MANY_RUNS] {
        let mut asked: Vec<(usize, String, Input)> = Vec::new();
        for (at, (problem, _)) in different.iter().enumerate() {
            if !explained.contains_key(&at) {
                let variants = variants(problem).into_iter();
                asked.extend(variants.map(|(name, input)| (at, name, input)));
            }
        }
        let inputs: Vec<&Input> = asked.iter().map(|(_, _, input)| input).collect();
        let answers = ask(&program, &inputs, runs);
        for ((at, name, input), olm) in asked.iter().zip(&answers) {
            let problem = different[*at].0;
            let is_changed = *input != problem.input;
            if olm.gives(&problem.ours) && (is_changed || problem.all_met()) {
                explained.entry(*at).or_insert_with(|| name.clone());
            }
        }
    }
    for (at, (problem, olm)) in different.iter().enumerate() {
        if let Some(why) = explained.get(&at) {
            count(why);
        } else {
            count("UNEXPLAINED");
            unexplained.push(format!(
                "{}: OLM {olm:?}\n  ours: {:?}",
                problem.name, problem.ours
            ));
        }
    }
    let mut lines = String::new();
    for (row, count) in &table {
        lines.extend([format!("{count:6}  {row}\n")]);
    }
    write!(std::io::stderr(), "{lines}").unwrap();
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
}

/// The input with one change each, then with more and more of them.
fn variants(problem: &Problem) -> Vec<(String, Input)> {
    let mut variants = vec![(
        "equal to one of OLM's answers".to_owned(),
        problem.input.clone(),
    )];
    for (name, change) in CHANGES {
        let mut input = problem.input.clone();
        change(&mut input, &problem.resolution);
        if input != problem.input {
            variants.push((name.to_owned(), input));
        }
    }
    let mut names: Vec<&str> = Vec::new();
    let mut input = problem.input.clone();
    for (name, change) in CHANGES {
        let before = input.clone();
        change(&mut input, &problem.resolution);
        if input != before {
            names.push(name.split(':').next().unwrap());
            variants.push((names.join(" + "), input.clone()));
        }
    }
    variants
}

fn problems() -> Vec<Problem> {
    let cases = std::env::var("CASES").map_or(CASES, |text| text.parse().unwrap());
    let mut problems: Vec<Problem> = (0..cases)
        .map(|seed| Problem::new(format!("seed {seed}"), random::input(seed, Taste::Olm)))
        .collect();
    for path in files() {
        let text = fs_err::read_to_string(&path).unwrap();
        let mut document: serde_json::Value =
            chandler::yaml::from_str("a scenario", &text).unwrap();
        for key in ["prose", "olm", "departs", "expect"] {
            document.as_object_mut().unwrap().remove(key);
        }
        let name = path.strip_prefix(folder()).unwrap().display().to_string();
        problems.push(Problem::new(
            name,
            serde_json::from_value(document).unwrap(),
        ));
    }
    problems.extend(real_problems());
    problems
}

/// Every package that needs others, fresh and from the tail of its channel, among the packages that
/// have to do with it.
fn real_problems() -> Vec<Problem> {
    let Some(packages) = real::packages().unwrap() else {
        skipped(
            "parity on real packages",
            "community-index.jsonl.zst is not there (see CONTRIBUTING.md, test data)",
        );
        return Vec::new();
    };
    let mut problems = Vec::new();
    for package in &packages {
        let needs: Vec<&Requires> = package
            .bundles
            .iter()
            .flat_map(|bundle| &bundle.requires)
            .collect();
        if needs.is_empty() {
            continue;
        }
        let concerns = |other: &&PackageInput| {
            other.name == package.name
                || needs.iter().any(|need| match need {
                    Requires::Api { api } => other
                        .bundles
                        .iter()
                        .any(|bundle| bundle.provides.contains(api)),
                    Requires::Package { package, .. } => other.name == *package,
                    _ => false,
                })
        };
        let mut around: Vec<PackageInput> = packages.iter().filter(concerns).cloned().collect();
        // OLM takes seconds for more.
        if around
            .iter()
            .map(|package| package.bundles.len())
            .sum::<usize>()
            > 150
        {
            continue;
        }
        for bundle in around.iter_mut().flat_map(|package| &mut package.bundles) {
            bundle.min_kube_version = None;
        }
        let tail = package
            .channels
            .iter()
            .find(|channel| channel.name == package.default_channel);
        let tail = tail.and_then(|channel| channel.entries.first());
        let tail = tail.and_then(|entry| {
            package
                .bundles
                .iter()
                .find(|bundle| bundle.name == entry.name)
        });
        for installed in [None, tail] {
            let csv: Option<InstalledInput> =
                installed.map(|bundle| real::installed(&package.name, bundle));
            let input = Input {
                catalogs: vec![CatalogInput {
                    name: "hub".into(),
                    packages: around.clone(),
                    ..CatalogInput::default()
                }],
                subscriptions: vec![SubscriptionInput {
                    name: package.name.clone(),
                    channel: package.default_channel.clone(),
                    installed_csv: csv.as_ref().map(|csv| csv.name.clone()).unwrap_or_default(),
                    ..SubscriptionInput::default()
                }],
                installed: csv.into_iter().collect(),
                ..Input::default()
            };
            let how = if installed.is_some() {
                "upgraded"
            } else {
                "fresh"
            };
            problems.push(Problem::new(format!("{} {how}", package.name), input));
        }
    }
    problems
}

fn ask(program: &PathBuf, inputs: &[&Input], runs: usize) -> Vec<Olm> {
    let mut questions = tempfile::tempfile().unwrap();
    for input in inputs {
        writeln!(questions, "{}", serde_json::to_string(input).unwrap()).unwrap();
    }
    std::io::Seek::rewind(&mut questions).unwrap();
    let output = Command::new(program)
        .args(["-runs", &runs.to_string()])
        .stdin(Stdio::from(questions))
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "{} failed", program.display());
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Olm> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), inputs.len());
    answers
}

fn uses_own_fields(input: &Input) -> bool {
    let mut subscriptions = input.subscriptions.iter();
    subscriptions.any(|one| one.version.is_some() || one.dependencies.is_some())
}

fn set_aside(input: &mut Input, resolution: &Resolution) {
    for component in &resolution.components {
        if let Component::Unsolvable(explanation) = component {
            // A CSV stays where it was installed from, which its Subscription told.
            let aside = |one: &SubscriptionInput| explanation.requests.contains(&one.name);
            for csv in &mut input.installed {
                let mut owners = input
                    .subscriptions
                    .iter()
                    .filter(|one| aside(one) && one.installed_csv == csv.name);
                let package = owners
                    .next()
                    .map(|one| one.package.clone().unwrap_or_else(|| one.name.clone()));
                csv.package = csv.package.clone().or(package);
            }
            input.subscriptions.retain(|one| !aside(one));
        }
    }
}

/// What no Subscription has is there, whatever it needs.
fn without_needs_of_facts(input: &mut Input, _: &Resolution) {
    for csv in &mut input.installed {
        let mut owners = input.subscriptions.iter();
        if !owners.any(|one| one.installed_csv == csv.name) {
            csv.requires.clear();
        }
    }
}

fn without_failing_catalogs(input: &mut Input, _: &Resolution) {
    for catalog in &mut input.catalogs {
        if catalog.problem.take().is_some() {
            catalog.packages.clear();
            // Whoever has something of it keeps that.
            input.subscriptions.retain(|one| {
                one.installed_csv.is_empty() || one.catalog.as_ref() != Some(&catalog.name)
            });
        }
    }
}

fn without_malformed(input: &mut Input, _: &Resolution) {
    for package in input
        .catalogs
        .iter_mut()
        .flat_map(|catalog| &mut catalog.packages)
    {
        let is_readable = |bundle: &BundleInput| {
            let constraints = bundle.requires.iter().filter_map(|need| match need {
                Requires::Constraint { constraint } => {
                    Some(("olm.constraint", constraint.to_string()))
                }
                Requires::Package { package, range } => Some((
                    "olm.package.required",
                    serde_json::json!({"packageName": package, "versionRange": range}).to_string(),
                )),
                _ => None,
            });
            let constraints: Vec<_> = constraints.collect();
            let constraints = constraints.iter();
            requirements(constraints.map(|(kind, value)| (*kind, value.as_str()))).is_ok()
        };
        for bundle in &mut package.bundles {
            // As a candidate that nobody can take, so that the channel keeps its order.
            bundle.deprecated |= !is_readable(bundle);
            if !is_readable(bundle) {
                bundle.requires.clear();
            }
        }
        for channel in &mut package.channels {
            let listed = chandler::catalog::fbc::Channel {
                package: package.name.clone(),
                name: channel.name.clone(),
                entries: channel.entries.clone(),
                properties: Vec::new(),
            };
            if chandler::catalog::graph::order(&listed).is_err() {
                // Its bundles are there, but nobody can take them.
                let kept: Vec<_> = channel.entries.iter().take(1).cloned().collect();
                channel.entries = kept;
                for entry in &mut channel.entries {
                    *entry = chandler::catalog::fbc::Entry {
                        name: "nothing.v0.0.0".into(),
                        ..Default::default()
                    };
                }
                let nothing = BundleInput {
                    name: "nothing.v0.0.0".into(),
                    version: "0.0.0".into(),
                    deprecated: true,
                    ..Default::default()
                };
                package.bundles.push(nothing);
            }
        }
        package.bundles.dedup_by(|a, b| a.name == b.name);
    }
}

/// Takes out the needs of installed CSVs that notes tell as unmet.
fn without_lacks(input: &mut Input, resolution: &Resolution) {
    let notes: Vec<&String> = resolution
        .components
        .iter()
        .filter_map(|component| match component {
            Component::Solved(solution) => Some(&solution.notes),
            Component::Unsolvable(_) => None,
        })
        .flatten()
        .collect();
    for csv in &mut input.installed {
        let begins = format!("installed {} ", csv.name);
        let told: Vec<&&String> = notes
            .iter()
            .filter(|note| note.starts_with(&begins))
            .collect();
        csv.requires.retain(|need| {
            let words: Vec<&str> = match need {
                Requires::Api { api } => api.rsplit('/').take(1).collect(),
                Requires::Package { package, range } => vec![package, range],
                Requires::Label { label } => vec![label],
                Requires::Constraint { .. } => vec![" of: "],
            };
            !told
                .iter()
                .any(|note| words.iter().all(|word| note.contains(word)))
        });
    }
}

fn adopted(input: &mut Input, resolution: &Resolution) {
    for component in &resolution.components {
        let Component::Solved(solution) = component else {
            continue;
        };
        let mut taken: Vec<(String, String)> = Vec::new();
        taken.extend(
            solution
                .kept
                .iter()
                .map(|kept| (kept.subscription.clone(), kept.csv.clone())),
        );
        for install in solution
            .install
            .iter()
            .filter(|install| !install.replaces.is_empty())
        {
            let by = install.requested_by.iter();
            taken.extend(by.map(|by| (by.clone(), install.replaces.clone())));
        }
        for (subscription, csv) in taken {
            let mut own = input.subscriptions.iter_mut();
            let own = own.find(|one| one.name == subscription && one.installed_csv.is_empty());
            if let Some(own) = own {
                own.installed_csv = csv;
            }
        }
    }
}

fn without_replaced(input: &mut Input, _: &Resolution) {
    // In a circle nothing is the newest, and everything is there.
    let replaced_by = |name: &String| input.installed.iter().find(|csv| csv.replaces == *name);
    let circular: Vec<String> = input
        .installed
        .iter()
        .filter(|csv| {
            let mut next = Some(*csv);
            for _ in 0..=input.installed.len() {
                next = next.and_then(|csv| replaced_by(&csv.name));
            }
            next.is_some()
        })
        .map(|csv| csv.name.clone())
        .collect();
    for csv in &mut input.installed {
        if circular.contains(&csv.name) {
            csv.replaces.clear();
        }
    }
    let replaced: Vec<(String, String)> = input
        .installed
        .iter()
        .map(|csv| (csv.replaces.clone(), csv.name.clone()))
        .filter(|(replaced, _)| input.installed.iter().any(|csv| csv.name == *replaced))
        .collect();
    for _ in 0..replaced.len() {
        for subscription in &mut input.subscriptions {
            if let Some((_, by)) = replaced
                .iter()
                .find(|(old, _)| *old == subscription.installed_csv)
            {
                subscription.installed_csv.clone_from(by);
                subscription.current_csv = None;
            }
        }
    }
    input
        .installed
        .retain(|csv| !replaced.iter().any(|(old, _)| *old == csv.name));
}

fn without_underway(input: &mut Input, _: &Resolution) {
    let goes_on = |csv: &&InstalledInput| {
        let phase = csv.phase.as_deref().unwrap_or("Succeeded");
        !csv.replaces.is_empty() && !["Succeeded", "Failed"].contains(&phase)
    };
    let waiting: Vec<(String, String)> = input
        .installed
        .iter()
        .filter(goes_on)
        .map(|csv| (csv.name.clone(), csv.replaces.clone()))
        .collect();
    let waits = |one: &SubscriptionInput| {
        waiting
            .iter()
            .any(|(new, old)| one.installed_csv == *new || one.installed_csv == *old)
    };
    input.subscriptions.retain(|one| !waits(one));
}

fn without_too_new(input: &mut Input, _: &Resolution) {
    let Some(has) = input
        .kube_version
        .as_ref()
        .and_then(|version| Version::parse_tolerant(version).ok())
    else {
        return;
    };
    let packages = input
        .catalogs
        .iter_mut()
        .flat_map(|catalog| &mut catalog.packages);
    for bundle in packages.flat_map(|package| &mut package.bundles) {
        let needed = bundle
            .min_kube_version
            .as_ref()
            .and_then(|version| Version::parse_tolerant(version).ok());
        bundle.deprecated |= needed.is_some_and(|needed| {
            (has.major(), has.minor(), has.patch())
                < (needed.major(), needed.minor(), needed.patch())
        });
    }
}

fn curated(input: &mut Input, _: &Resolution) {
    for catalog in &mut input.catalogs {
        let curation = Curation::new(&catalog.only).unwrap();
        for package in &mut catalog.packages {
            for bundle in &mut package.bundles {
                bundle.deprecated |= !curation.allows(&package.name);
            }
        }
    }
}
