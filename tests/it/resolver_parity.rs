//! The resolver beside OLM's own, on random problems, on all scenarios and on real packages.
//!
//! `make parity` builds the program of `tests/parity` and names it in `CHANDLER_PARITY`; `CASES`
//! says how many random problems there are, and `FIRST` the first seed. A difference is explained
//! only if OLM, asked again with the input changed as the difference on purpose says, answers as we
//! do, and refuses to answer where the change is one for what stops OLM and is not made.

mod changes;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use chandler::resolver::{Component, Resolution, resolve};
use serde::Deserialize;

use self::changes::{CHANGES, Change};
use crate::support::data::skipped;
use crate::support::random::{self, Taste};
use crate::support::real;
use crate::support::scenario::{
    CatalogInput, Input, InstalledInput, PackageInput, Requires, SubscriptionInput, World, files,
    folder,
};

const CASES: u64 = 5_000;
/// OLM's answer can depend on chance; so many runs show most of its answers.
const RUNS: usize = 5;
const MANY_RUNS: usize = 30;
/// For the few that are left then: what happens once in a hundred runs has to be seen as well.
const VERY_MANY_RUNS: usize = 1_000;

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

    /// Whether it finds something to install, or that nothing is to be done, at least sometimes.
    fn solves(&self) -> bool {
        match self {
            Self::Solved { .. } => true,
            Self::Varies { outcomes } => outcomes.iter().any(Self::solves),
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
            count("pins, Require, any catalog: OLM has no such Subscriptions");
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
    let rounds: [(usize, Variants); 3] = [
        (RUNS, one_change_and_all),
        (MANY_RUNS, every_set_of_changes),
        (VERY_MANY_RUNS, every_set_of_changes),
    ];
    for (runs, variants) in rounds {
        let mut asked: Vec<(usize, Variant)> = Vec::new();
        for (at, (problem, _)) in different.iter().enumerate() {
            if !explained.contains_key(&at) {
                asked.extend(variants(problem).into_iter().map(|variant| (at, variant)));
            }
        }
        let inputs: Vec<&Input> = asked.iter().map(|(_, variant)| &variant.input).collect();
        let answers = ask(&program, &inputs, runs);
        let giving: Vec<&(usize, Variant)> = asked
            .iter()
            .zip(&answers)
            .filter(|((at, variant), olm)| {
                let problem = different[*at].0;
                let is_changed = !variant.names.is_empty();
                olm.gives(&problem.ours) && (is_changed || problem.all_met())
            })
            .map(|(asked, _)| asked)
            .collect();
        let doubts: Vec<Vec<Input>> = giving
            .iter()
            .map(|(at, variant)| variant.doubts(different[*at].0))
            .collect();
        let inputs: Vec<&Input> = doubts.iter().flatten().collect();
        let mut answers = ask(&program, &inputs, 1).into_iter();
        for ((at, variant), doubts) in giving.into_iter().zip(&doubts) {
            let answers: Vec<Olm> = answers.by_ref().take(doubts.len()).collect();
            if !answers.iter().any(Olm::solves) {
                explained.entry(*at).or_insert_with(|| variant.name());
            }
        }
    }
    for (at, (problem, olm)) in different.iter().enumerate() {
        if let Some(why) = explained.get(&at) {
            count(why);
        } else {
            count("UNEXPLAINED");
            unexplained.push(format!(
                "{}: OLM {olm:?}\n  ours: {:?}\n  input: {}",
                problem.name,
                problem.ours,
                serde_json::to_string(&problem.input).unwrap()
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

/// An input as differences on purpose change it.
#[derive(Clone)]
struct Variant {
    /// Of the changes that were made.
    names: Vec<&'static str>,
    input: Input,
}

impl Variant {
    /// Nothing is changed but the order of channels, which means nothing. For a bundle that several
    /// channels list, and a Subscription to none of them, OLM takes the channel that its map of
    /// candidates begins with, which seven times out of eight is the one that the catalog lists
    /// last. So the channels that we chose are the last here.
    fn unchanged(problem: &Problem) -> Self {
        let mut input = problem.input.clone();
        for catalog in &mut input.catalogs {
            for package in &mut catalog.packages {
                let bundles = &package.bundles;
                package.channels.sort_by_key(|channel| {
                    problem.ours.iter().any(|one| {
                        one.catalog == catalog.name
                            && one.channel == channel.name
                            && bundles.iter().any(|bundle| bundle.name == one.bundle)
                    })
                });
            }
        }
        Self {
            names: Vec::new(),
            input,
        }
    }

    /// With one change more, if that changes anything.
    fn with(&self, change: &Change, problem: &Problem) -> Option<Self> {
        let mut variant = self.clone();
        (change.make)(&mut variant.input, &problem.resolution);
        variant.names.push(change.name);
        (variant.input != self.input).then_some(variant)
    }

    /// Inputs that OLM has to refuse for this one to explain anything: without one of the changes
    /// that are only for what OLM refuses, and with the Subscriptions of one explanation back, and
    /// what these have as it is.
    fn doubts(&self, problem: &Problem) -> Vec<Input> {
        let made = || CHANGES.iter().filter(|it| self.names.contains(&it.name));
        let mut doubts = Vec::new();
        for left_out in made().filter(|change| change.only_if_refused) {
            let is_unsolvable =
                |at: &usize| matches!(problem.resolution.components[*at], Component::Unsolvable(_));
            let all = 0..problem.resolution.components.len();
            let back: Vec<Option<usize>> = if left_out.name == CHANGES[0].name {
                all.filter(is_unsolvable).map(Some).collect()
            } else {
                vec![None]
            };
            for back in back {
                let mut input = Self::unchanged(problem).input;
                for change in made() {
                    let mut resolution = problem.resolution.clone();
                    if change.name == left_out.name {
                        let Some(back) = back else { continue };
                        resolution.components.remove(back);
                    }
                    (change.make)(&mut input, &resolution);
                }
                if let Some(back) = back {
                    let names = problem.resolution.components[back].subscriptions();
                    restore_needs(&mut input, names, &problem.input);
                }
                doubts.push(input);
            }
        }
        doubts
    }

    fn name(&self) -> String {
        match self.names.as_slice() {
            [] => "equal to one of OLM's answers".to_owned(),
            [one] => (*one).to_owned(),
            several => {
                let short = several.iter().map(|name| name.split(':').next().unwrap());
                short.collect::<Vec<_>>().join(" + ")
            }
        }
    }
}

/// Gives what Subscriptions have the needs that it has.
fn restore_needs(input: &mut Input, subscriptions: &[String], original: &Input) {
    let mut own = input.subscriptions.clone();
    own.retain(|one| subscriptions.contains(&one.name));
    for csv in &mut input.installed {
        let is_own = own.iter().any(|one| one.installed_csv == csv.name);
        let mut all = original.installed.iter().filter(|_| is_own);
        if let Some(as_it_is) = all.find(|other| other.name == csv.name) {
            csv.requires.clone_from(&as_it_is.requires);
        }
    }
}

type Variants = fn(&Problem) -> Vec<Variant>;

/// The input with one change each, then with more and more of them.
fn one_change_and_all(problem: &Problem) -> Vec<Variant> {
    let unchanged = Variant::unchanged(problem);
    let mut variants = vec![unchanged.clone()];
    variants.extend(CHANGES.iter().filter_map(|it| unchanged.with(it, problem)));
    let mut all = unchanged;
    for change in &CHANGES {
        if let Some(more) = all.with(change, problem) {
            variants.push(more.clone());
            all = more;
        }
    }
    variants
}

/// The input with every set of changes, the smallest first.
fn every_set_of_changes(problem: &Problem) -> Vec<Variant> {
    let mut variants = vec![Variant::unchanged(problem)];
    for change in &CHANGES {
        let more: Vec<Variant> = variants
            .iter()
            .filter_map(|variant| variant.with(change, problem))
            .collect();
        variants.extend(more);
    }
    variants.sort_by_key(|variant| variant.names.len());
    variants
}

fn problems() -> Vec<Problem> {
    let number = |name: &str, usual: u64| {
        std::env::var(name).map_or(usual, |text| text.parse::<u64>().unwrap())
    };
    let first = number("FIRST", 0);
    let mut problems: Vec<Problem> = (first..first + number("CASES", CASES))
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
    // A Subscription of OLM names its catalog.
    let own = subscriptions.any(|one| {
        let any_catalog = one.catalog.as_deref() == Some("");
        any_catalog || one.version.is_some() || one.dependencies.is_some()
    });
    // Only fields of our own can be such that nobody understands them.
    own || !input.held.is_empty()
}
