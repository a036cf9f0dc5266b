//! Removals among random operators, carried out in random order and portions.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;

const NAMESPACES: [&str; 2] = ["port", "quay"];
const KINDS: [&str; 4] = ["Ant", "Bee", "Cat", "Dog"];

#[derive(Clone, Debug)]
struct Package {
    kind: usize,
    namespace: usize,
    needs: Vec<usize>,
    is_generated: bool,
    objects: Vec<usize>,
    was_found: bool,
    /// Somebody deleted the first of its objects, and it is to work off a finalizer.
    is_at_work: bool,
}

/// A cluster as removals see and change it.
#[derive(Clone, Debug)]
struct World {
    subscriptions: Vec<Arc<Subscription>>,
    csvs: Vec<Arc<ClusterServiceVersion>>,
    crds: Vec<Crd>,
    /// Whether operators of a namespace serve all of them, or only their own.
    serves_all: [bool; 2],
    /// Packages that were removed, and how.
    removed: Vec<(String, Wish)>,
}

/// How removals are carried out.
#[derive(Clone, Debug)]
struct Course {
    /// How many objects are dealt with in one look, in turn.
    portions: Vec<usize>,
    /// Whose turn comes before whose.
    order: Vec<u8>,
    /// Whether what is deleted takes its time.
    is_slow: bool,
}

impl Course {
    /// Everything at once, one Subscription after the other.
    fn plain() -> Self {
        Self {
            portions: vec![usize::MAX],
            order: vec![0],
            is_slow: false,
        }
    }
}

fn course() -> impl Strategy<Value = Course> {
    (
        prop::collection::vec(1_usize..4, 1..5),
        prop::collection::vec(any::<u8>(), 1..12),
        any::<bool>(),
    )
        .prop_map(|(portions, order, is_slow)| Course {
            portions,
            order,
            is_slow,
        })
}

/// Which Subscription is deleted, and what is to go with it.
fn deletion() -> impl Strategy<Value = (usize, Wish)> {
    let names = prop::collection::btree_set(0..KINDS.len(), 0..3);
    let deletion = (0_usize..7, any::<bool>(), any::<bool>(), names);
    deletion.prop_map(|(at, is_everything, dependencies, names)| {
        let policy = if is_everything {
            RemovalPolicy::Everything
        } else {
            RemovalPolicy::Operator
        };
        let wish = Wish {
            dependencies,
            crds: names.into_iter().map(|it| crd_name(KINDS[it])).collect(),
            ..wish(policy)
        };
        (at, wish)
    })
}

fn package() -> impl Strategy<Value = Package> {
    (
        0..KINDS.len(),
        0..NAMESPACES.len(),
        prop::collection::vec(0..KINDS.len(), 0..3),
        any::<bool>(),
        prop::collection::vec(0..NAMESPACES.len(), 0..3),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.3),
    )
        .prop_map(
            |(kind, namespace, needs, is_generated, objects, was_found, is_at_work)| Package {
                kind,
                namespace,
                needs,
                is_generated,
                objects,
                was_found,
                is_at_work,
            },
        )
}

fn world(packages: &[Package], serves_all: [bool; 2]) -> World {
    let mut world = World {
        subscriptions: Vec::new(),
        csvs: Vec::new(),
        crds: Vec::new(),
        serves_all,
        removed: Vec::new(),
    };
    for (at, package) in packages.iter().enumerate() {
        let name = format!("p{at}");
        let namespace = NAMESPACES[package.namespace];
        let kind = KINDS[package.kind];
        let needs: Vec<&str> = package.needs.iter().map(|it| KINDS[*it]).collect();
        let mut operator = csv(namespace, &name, &[kind], &needs);
        if serves_all[package.namespace] {
            let annotations = &mut Arc::make_mut(&mut operator).metadata.annotations;
            let annotations = annotations.get_or_insert_default();
            annotations.insert(labels::TARGET_NAMESPACES.to_owned(), String::new());
        }
        world.csvs.push(operator);
        let mut annotations = json!({});
        if package.is_generated {
            annotations = json!({labels::GENERATED_BY: "install-1"});
        }
        let more = json!({"metadata": {"namespace": namespace, "annotations": annotations}});
        world.subscriptions.push(subscription(&name, &more));
        let mark = labels::component(&labels::operator_name(&name, namespace));
        let objects: Vec<(String, String)> = package
            .objects
            .iter()
            .enumerate()
            .map(|(at, it)| (NAMESPACES[*it].to_owned(), format!("{name}-{at}")))
            .collect();
        let objects: Vec<(&str, &str)> = objects.iter().map(|(a, b)| (&**a, &**b)).collect();
        let mut made = crd(kind, &name, &objects);
        let targets = world.targets(namespace);
        let mut own = made.objects.iter_mut().flatten();
        if let Some(first) = own.next()
            && package.is_at_work
            && targets.contains(&first.namespace)
        {
            first.is_going = true;
            first.finalizers = vec!["example.com/work".to_owned()];
        }
        made.labels = BTreeMap::from([(mark, String::new())]);
        made.annotations.clear();
        if package.was_found {
            made.annotations
                .insert(labels::FOUND.to_owned(), "true".to_owned());
        }
        match world.crds.iter_mut().find(|it| it.name == made.name) {
            None => world.crds.push(made),
            Some(shared) => {
                shared.labels.extend(made.labels);
                if let (Ok(all), Ok(more)) = (&mut shared.objects, made.objects) {
                    all.extend(more);
                }
            }
        }
    }
    world
}

impl World {
    fn facts(&self, subscription: &Arc<Subscription>) -> Facts {
        let mark = mark(subscription);
        let wish = Wish::of(subscription);
        let crds = self
            .crds
            .iter()
            .filter(|crd| crd.labels.contains_key(&mark) || wish.crds.contains(&crd.name));
        let namespace = subscription.namespace().unwrap();
        let mut facts = Facts {
            subscription: subscription.clone(),
            subscriptions: self.subscriptions.clone(),
            csvs: self.csvs.clone(),
            targets: Some(self.targets(&namespace)),
            ..Facts::default()
        };
        // No more is read of a CRD than has to be known.
        let read = crds.map(|crd| {
            let mut crd = crd.clone();
            let objects = crd.objects.as_mut().unwrap();
            let all = objects.len();
            match Listing::of(&facts, &wish, &crd.name, &crd.labels) {
                Listing::Nothing => objects.clear(),
                Listing::One => objects.truncate(1),
                Listing::All => {}
            }
            crd.more = all - objects.len();
            crd
        });
        facts.crds = read.collect();
        facts
    }

    /// The namespaces that operators of a namespace serve.
    fn targets(&self, namespace: &str) -> Targets {
        let at = NAMESPACES.iter().position(|it| *it == namespace).unwrap();
        if self.serves_all[at] {
            Targets::All
        } else {
            Targets::Named(BTreeSet::from([namespace.to_owned()]))
        }
    }

    fn delete(&mut self, at: usize, wish: &Wish) {
        let subscription = Arc::make_mut(&mut self.subscriptions[at]);
        let policies = subscription.spec.policy.get_or_insert_default();
        policies.removal = wish.policy.clone();
        let prunes = wish.dependencies.to_string();
        let annotations = subscription.metadata.annotations.get_or_insert_default();
        annotations.insert(labels::PRUNE_DEPENDENCIES.to_owned(), prunes);
        let crds: Vec<&str> = wish.crds.iter().map(String::as_str).collect();
        annotations.insert(labels::DELETE_CRDS.to_owned(), crds.join(","));
        subscription.metadata.deletion_timestamp = Some(now());
        subscription.metadata.finalizers = Some(vec![labels::REMOVAL_FINALIZER.to_owned()]);
    }

    fn delete_all(&mut self, deletions: &[(usize, Wish)]) {
        for (at, wish) in deletions {
            let at = at % self.subscriptions.len();
            // What is deleted cannot be deleted again.
            if self.subscriptions[at].metadata.deletion_timestamp.is_none() {
                self.delete(at, wish);
            }
        }
    }

    /// One look at one Subscription, in which at most so many objects are dealt with. Tells whether
    /// anything happened.
    fn look(&mut self, name: &str, most: usize) -> bool {
        let mut all = self.subscriptions.iter();
        let at = all.position(|it| it.name_any() == name).unwrap();
        let subscription = self.subscriptions[at].clone();
        if subscription.metadata.deletion_timestamp.is_none() {
            return false;
        }
        let wish = Wish::of(&subscription);
        let facts = self.facts(&subscription);
        let removal = plan(&facts, &wish);
        let stage = match removal.next() {
            Move::Blocked | Move::Wait(_) => return false,
            Move::LetGo => {
                self.subscriptions.remove(at);
                self.removed.push((name.to_owned(), wish));
                return true;
            }
            Move::Act(stage) => stage,
        };
        let objects = stage.objects.iter().filter(|it| !it.is_going);
        for goes in objects.take(most) {
            match stage.step {
                Step::HandOverDependencies => {
                    let mut all = self.subscriptions.iter();
                    let found = all.position(|it| Reference::subscription(it) == goes.object);
                    let found = found.unwrap();
                    let wish = wish_for(&self.subscriptions[found], &facts, &wish);
                    self.delete(found, &wish);
                }
                Step::DeleteCustomResources | Step::DeleteRemainingResources => {
                    let kind = &goes.object.kind;
                    let crd = self.crds.iter_mut().find(|it| it.kind == *kind).unwrap();
                    let objects = crd.objects.iter_mut().flatten();
                    let mut meant = objects.filter(|it| it.uid == goes.uid);
                    meant.next().unwrap().is_going = true;
                }
                Step::DeleteOperator => {
                    self.check_is_idle(&goes.uid);
                    let mut csvs = self.csvs.iter_mut();
                    let csv = csvs.find(|it| it.uid().as_ref() == Some(&goes.uid));
                    Arc::make_mut(csv.unwrap()).metadata.deletion_timestamp = Some(now());
                }
                Step::DeleteDefinitions => {
                    let crd = self.crds.iter_mut().find(|it| it.uid == goes.uid).unwrap();
                    assert_eq!(crd.objects, Ok(Vec::new()), "{} has objects", crd.name);
                    crd.is_going = true;
                }
                Step::Unmark => {
                    let name = &goes.object.name;
                    let crd = self.crds.iter_mut().find(|it| it.name == *name).unwrap();
                    let patch = unmark(crd, &facts).unwrap();
                    let gone = patch["metadata"]["labels"].as_object().unwrap();
                    crd.labels.retain(|key, _| !gone.contains_key(key));
                }
                Step::StopPlans
                | Step::AwaitCustomResources
                | Step::DeleteLeftovers
                | Step::AwaitOthers
                | Step::Afterwards => {
                    unreachable!("there are none")
                }
            }
        }
        true
    }

    /// An operator goes only when it has worked off everything that nobody else does.
    fn check_is_idle(&self, uid: &str) {
        for (crd, object) in self.objects().filter(|(_, it)| !it.finalizers.is_empty()) {
            let workers = self.workers(&crd.name, object);
            let workers: Vec<String> = workers.filter_map(|it| it.uid()).collect();
            let is_the_last = workers == [uid.to_owned()];
            assert!(!is_the_last, "{uid} has to work off {}", object.name);
        }
    }

    /// Whoever works off the finalizers of an object.
    fn workers(
        &self,
        crd: &str,
        object: &CustomResource,
    ) -> impl Iterator<Item = &Arc<ClusterServiceVersion>> {
        self.csvs.iter().filter(move |it| {
            let targets = self.targets(&it.namespace().unwrap());
            it.metadata.deletion_timestamp.is_none()
                && owns(it, crd)
                && targets.contains(&object.namespace)
        })
    }

    /// What is on its way out is gone, if nobody has to do anything about it or somebody does.
    fn sweep(&mut self) -> bool {
        let before = self.names();
        let gone = self.objects().filter(|(crd, it)| {
            let is_free = it.finalizers.is_empty() || self.workers(&crd.name, it).count() > 0;
            it.is_going && is_free
        });
        let gone: BTreeSet<String> = gone.map(|(_, it)| it.uid.clone()).collect();
        for crd in &mut self.crds {
            if let Ok(objects) = &mut crd.objects {
                objects.retain(|it| !gone.contains(&it.uid));
            }
        }
        self.crds.retain(|it| !it.is_going);
        self.csvs
            .retain(|it| it.metadata.deletion_timestamp.is_none());
        before != self.names()
    }

    /// Looks at each Subscription once; tells whether anything happened.
    fn round(&mut self, number: usize, course: &Course) -> bool {
        let names = self.subscriptions.iter().map(|it| it.name_any());
        let mut names: Vec<(u8, String)> = names
            .enumerate()
            .map(|(at, name)| (course.order[(at + number) % course.order.len()], name))
            .collect();
        names.sort();
        let mut has_happened = false;
        for (at, (_, name)) in names.iter().enumerate() {
            let portion = course.portions[(at + number) % course.portions.len()];
            has_happened |= self.look(name, portion);
            if !course.is_slow {
                has_happened |= self.sweep();
            }
        }
        self.sweep() || has_happened
    }

    /// Looks until nothing happens any more.
    fn settle(&mut self, course: &Course) {
        let mut rounds = 0..1000;
        let goes_on = rounds.all(|number| self.round(number, course));
        assert!(!goes_on, "it never ends: {self:#?}");
    }

    fn names(&self) -> (Vec<String>, Vec<String>, Vec<String>, Vec<String>) {
        (
            self.subscriptions.iter().map(|it| it.name_any()).collect(),
            self.csvs.iter().map(|it| it.name_any()).collect(),
            self.crds.iter().map(|it| it.name.clone()).collect(),
            self.objects().map(|(_, it)| it.uid.clone()).collect(),
        )
    }

    fn objects(&self) -> impl Iterator<Item = (&Crd, &CustomResource)> {
        let crds = self.crds.iter();
        crds.flat_map(|crd| crd.objects.iter().flatten().map(move |it| (crd, it)))
    }

    fn operator(&self, package: &str) -> &ClusterServiceVersion {
        let csv = format!("{package}.v1");
        let mut csvs = self.csvs.iter();
        csvs.find(|it| it.name_any() == csv).unwrap()
    }

    fn has_user(&self, crd: &str) -> bool {
        self.csvs
            .iter()
            .any(|csv| owns(csv, crd) || needs(csv, crd))
    }
}

pub(super) fn now() -> Time {
    Time(Timestamp::from_second(0).unwrap())
}

fn owns(csv: &ClusterServiceVersion, crd: &str) -> bool {
    let owned = &csv.spec.custom_resource_definitions.owned;
    owned.iter().any(|it| it.name == crd)
}

fn needs(csv: &ClusterServiceVersion, crd: &str) -> bool {
    let required = &csv.spec.custom_resource_definitions.required;
    required.iter().any(|it| it.name == crd)
}

fn is_found(crd: &Crd) -> bool {
    crd.annotations.contains_key(labels::FOUND)
}

/// What of the needs of an operator is met.
fn met(world: &World, csv: &ClusterServiceVersion) -> Vec<String> {
    let required = &csv.spec.custom_resource_definitions.required;
    let is_met = |name: &str| {
        let has_owner = world.csvs.iter().any(|it| owns(it, name));
        has_owner && world.crds.iter().any(|crd| crd.name == name)
    };
    let names = required.iter().map(|crd| crd.name.clone());
    names.filter(|name| is_met(name)).collect()
}

#[test]
fn operators_that_need_each_other_go_together() {
    let package = |kind, needs: &[usize], is_generated| Package {
        kind,
        namespace: 0,
        needs: needs.to_vec(),
        is_generated,
        objects: Vec::new(),
        was_found: false,
        is_at_work: false,
    };
    let packages = [
        package(0, &[1], false),
        package(1, &[2], true),
        package(2, &[1], true),
    ];
    for portion in [1, usize::MAX] {
        let mut world = world(&packages, [false; 2]);
        world.delete(0, &everything());
        world.settle(&Course {
            portions: vec![portion],
            ..Course::plain()
        });
        assert_eq!(world.names(), (vec![], vec![], vec![], vec![]));
    }
}

#[test]
fn operators_that_need_each_other_stay_together_while_one_is_needed() {
    let package = |kind, needs: &[usize]| Package {
        kind,
        namespace: 0,
        needs: needs.to_vec(),
        is_generated: false,
        objects: Vec::new(),
        was_found: false,
        is_at_work: false,
    };
    let packages = [package(1, &[0]), package(0, &[2]), package(2, &[0])];
    let mut world = world(&packages, [false; 2]);
    let before = world.names();
    world.delete(1, &everything());
    world.delete(2, &everything());
    world.settle(&Course::plain());
    assert_eq!(world.names(), before);
}

/// Other worlds each time, so many as `PROPTEST_CASES` says. Those of a run come back with the
/// `PROPTEST_RNG_SEED` that is printed when it fails.
fn worlds() -> ProptestConfig {
    let default = ProptestConfig::default();
    let seed = match default.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => RandomState::new().build_hasher().finish(),
    };
    println!("the worlds of PROPTEST_RNG_SEED={seed}");
    ProptestConfig {
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..default
    }
}

/// What has to be whatever is removed, and in whichever order.
fn check(before: &World, after: &World) -> Result<(), TestCaseError> {
    // Whoever stays has what it had, and works as it did.
    for csv in &after.csvs {
        prop_assert_eq!(met(before, csv), met(after, csv), "of {}", csv.name_any());
    }
    // What has a Subscription that nobody deleted is there; only generated ones go with others.
    for subscription in &before.subscriptions {
        let name = subscription.name_any();
        let mut left = after.subscriptions.iter();
        let stays =
            left.any(|it| it.name_any() == name && it.metadata.deletion_timestamp.is_none());
        if stays {
            let csv = format!("{name}.v1");
            prop_assert!(
                after.csvs.iter().any(|it| it.name_any() == csv),
                "{csv} is gone"
            );
        }
    }
    // Nothing goes that nobody named, nor what somebody who stays serves, nor what was there before.
    for (crd, object) in before.objects().filter(|(_, it)| !it.is_going) {
        if after.objects().any(|(_, it)| it.uid == object.uid) {
            continue;
        }
        let name = &object.name;
        let is_gone = after.crds.iter().all(|it| it.name != crd.name);
        let is_named = after.removed.iter().any(|(package, wish)| {
            let owner = before.operator(package);
            let targets = before.targets(&owner.namespace().unwrap());
            let is_theirs =
                wish.policy == RemovalPolicy::Everything && targets.contains(&object.namespace);
            wish.crds.contains(&crd.name) && owns(owner, &crd.name) && (is_gone || is_theirs)
        });
        prop_assert!(is_named, "{name} is gone for nobody");
        prop_assert!(!is_found(crd), "{name} was there before");
        for csv in after.csvs.iter().filter(|it| owns(it, &crd.name)) {
            let targets = before.targets(&csv.namespace().unwrap());
            prop_assert!(
                !targets.contains(&object.namespace),
                "{name} is gone, and {} serves it",
                csv.name_any()
            );
        }
    }
    for crd in &before.crds {
        let is_gone = after.crds.iter().all(|it| it.name != crd.name);
        let is_meant = after.removed.iter().any(|(package, wish)| {
            let came_with = owns(before.operator(package), &crd.name) && !is_found(crd);
            let goes_with = wish.policy == RemovalPolicy::Everything;
            came_with && (wish.crds.contains(&crd.name) || goes_with)
        });
        prop_assert!(
            !is_gone || (is_meant && !after.has_user(&crd.name)),
            "{} is gone",
            crd.name
        );
    }
    Ok(())
}

/// What is named is gone, and so is what came with whoever goes by `Everything` and has no objects, unless somebody
/// who stays has to do with it.
fn check_nothing_is_left(before: &World, after: &World) -> Result<(), TestCaseError> {
    for crd in &after.crds {
        if after.has_user(&crd.name) {
            continue;
        }
        let objects = crd.objects.as_ref().unwrap();
        for (package, wish) in &after.removed {
            let came_with = owns(before.operator(package), &crd.name) && !is_found(crd);
            let is_named = wish.crds.contains(&crd.name) && came_with;
            prop_assert!(!is_named, "{} is left, and {package} names it", crd.name);
            let goes_with = wish.policy == RemovalPolicy::Everything && came_with;
            prop_assert!(
                !goes_with || !objects.is_empty(),
                "{} is left of {package}",
                crd.name
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(worlds())]

    #[test]
    fn no_operator_that_stays_loses_anything_and_order_and_portions_make_no_difference(
        packages in prop::collection::vec(package(), 1..7),
        serves_all: [bool; 2],
        deletions in prop::collection::vec(deletion(), 1..5),
        course in course(),
    ) {
        let before = world(&packages, serves_all);
        let mut begun = before.clone();
        begun.delete_all(&deletions);
        let mut plain = begun.clone();
        plain.settle(&Course::plain());
        let mut other = begun;
        other.settle(&course);
        prop_assert_eq!(plain.names(), other.names());
        check(&before, &plain)?;
        check_nothing_is_left(&before, &plain)?;
    }

    #[test]
    fn a_removal_that_begins_while_another_is_under_way_takes_nothing_from_whoever_stays(
        packages in prop::collection::vec(package(), 1..7),
        serves_all: [bool; 2],
        first in prop::collection::vec(deletion(), 1..3),
        second in prop::collection::vec(deletion(), 1..3),
        rounds in 0_usize..8,
        course in course(),
    ) {
        let before = world(&packages, serves_all);
        let mut after = before.clone();
        after.delete_all(&first);
        for number in 0..rounds {
            after.round(number, &course);
        }
        if !after.subscriptions.is_empty() {
            after.delete_all(&second);
        }
        after.settle(&course);
        check(&before, &after)?;
    }

    #[test]
    fn when_all_are_deleted_no_operator_is_left(
        packages in prop::collection::vec(package(), 1..7),
        serves_all: [bool; 2],
        deletions in prop::collection::vec(deletion(), 7),
        course in course(),
    ) {
        let before = world(&packages, serves_all);
        let mut after = before.clone();
        for (at, (_, wish)) in (0..before.subscriptions.len()).zip(&deletions) {
            after.delete(at, wish);
        }
        after.settle(&course);
        let (subscriptions, csvs, ..) = after.names();
        prop_assert_eq!((subscriptions, csvs), (Vec::new(), Vec::new()));
        check(&before, &after)?;
        check_nothing_is_left(&before, &after)?;
    }
}
