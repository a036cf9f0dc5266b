//! What has to be over before something else goes.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;

fn at(time: &str) -> Time {
    Time(time.parse().unwrap())
}

/// gopher, whose removal has begun.
fn begun() -> Facts {
    let mut facts = facts();
    facts.subscription = subscription("gopher", &removed("Everything"));
    facts.subscriptions = vec![facts.subscription.clone()];
    facts
}

fn object(facts: &mut Facts) -> &mut CustomResource {
    &mut facts.crds[0].objects.as_mut().unwrap()[0]
}

#[test]
fn objects_that_come_back_do_not_keep_the_operator_for_ever() {
    let mut facts = begun();
    let mut old = object(&mut facts).clone();
    old.name = "old".to_owned();
    old.created = Some(at(DELETED));
    object(&mut facts).created = Some(at("2026-01-01T00:00:01Z"));
    facts.crds[0].objects.as_mut().unwrap().push(old);
    let wish = naming(everything());
    let removal = plan(&facts, &wish);
    // What was there when it was deleted goes first, and while the operator runs.
    assert_eq!(
        goes(&removal, Step::DeleteCustomResources),
        ["Gopher port/old"]
    );
    assert_eq!(
        goes(&removal, Step::DeleteRemainingResources),
        ["Gopher port/digger"]
    );
    let words = "made anew when they are deleted, and go after the operator: Gopher port/digger";
    let (_, message) = removal.told().unwrap();
    assert!(message.contains(words), "{message}");
    facts.crds[0].objects.as_mut().unwrap().pop();
    let removal = plan(&facts, &wish);
    assert!(matches!(removal.next(), Move::Act(stage) if stage.step == Step::DeleteOperator));
    let (_, message) = removal.told().unwrap();
    assert!(message.contains(words), "{message}");
    facts.csvs.clear();
    let removal = plan(&facts, &wish);
    assert!(
        matches!(removal.next(), Move::Act(stage) if stage.step == Step::DeleteCustomResources)
    );
    // What has finalizers needs the operator to go.
    let mut held = begun();
    object(&mut held).created = Some(at("2026-01-01T00:00:01Z"));
    object(&mut held).finalizers = vec!["example.com/dig".to_owned()];
    let removal = plan(&held, &wish);
    assert_eq!(goes(&removal, Step::DeleteCustomResources).len(), 1);
}

/// gopher, whose object with a finalizer came back so many seconds after the removal began, and so many ago.
fn coming_back(after: u64, ago: u64) -> Facts {
    let begin = at(DELETED).0;
    let mut facts = begun();
    let created = begin + Duration::from_secs(after);
    let digger = object(&mut facts);
    digger.created = Some(Time(created));
    digger.finalizers = vec!["example.com/dig".to_owned()];
    digger.made_by = Some("gopher-operator".to_owned());
    facts.now = Some(Time(created + Duration::from_secs(ago)));
    facts
}

#[test]
fn objects_that_come_back_with_finalizers_are_told_with_who_makes_them() {
    let told = |facts: &Facts| plan(facts, &naming(everything())).told().unwrap().1;
    let mut facts = coming_back(40, 60);
    let removal = plan(&facts, &naming(everything()));
    assert!(removal.is_held(), "somebody has to do something");
    let first = told(&facts);
    let words = "made after the removal had begun, by gopher-operator: Gopher port/digger; they are deleted as \
                 well, but less and less often";
    assert!(first.contains(words), "{first}");
    // Again and again, which is no news.
    object(&mut facts).is_going = true;
    let held = told(&facts);
    assert!(held.contains("held by example.com/dig"), "{held}");
    assert!(!is_news(&first, &held));
    object(&mut facts).name = "digger-2".to_owned();
    assert!(!is_news(&first, &told(&facts)));
    object(&mut facts).made_by = Some("argocd".to_owned());
    assert!(is_news(&first, &told(&facts)), "somebody else does it");
    object(&mut facts).made_by = None;
    assert!(told(&facts).contains("begun, by somebody: "));
    // Nobody makes anew what was there before.
    object(&mut facts).created = Some(at(DELETED));
    assert!(!told(&facts).contains("made after"));
}

#[test]
fn objects_that_come_back_are_deleted_less_and_less_often() {
    let waits = |facts: &Facts| {
        let removal = plan(facts, &naming(everything()));
        let stage = &removal.stages[0];
        assert_eq!(stage.step, Step::DeleteCustomResources);
        let is_waiting = removal.next() == Move::Wait(stage);
        assert_eq!(stage.portions(9).is_empty(), is_waiting);
        is_waiting
    };
    assert!(!waits(&coming_back(2, 1)));
    assert!(waits(&coming_back(40, 9)) && !waits(&coming_back(40, 10)));
    assert!(waits(&coming_back(86_400, 119)) && !waits(&coming_back(86_400, 120)));
    // Also where no operator is left that could have made it.
    let mut orphaned = coming_back(40, 9);
    orphaned.csvs.clear();
    object(&mut orphaned).finalizers.clear();
    assert!(waits(&orphaned));
    // By a clock that is behind nothing is waited for.
    let mut behind = coming_back(40, 0);
    behind.now = Some(at(DELETED));
    assert!(!waits(&behind));
    // What does not come back goes at once.
    let mut mixed = coming_back(40, 9);
    let old = CustomResource {
        name: "old".to_owned(),
        ..CustomResource::default()
    };
    mixed.crds[0].objects.as_mut().unwrap().push(old);
    let removal = plan(&mixed, &naming(everything()));
    let portions = removal.stages[0].portions(9);
    assert!(matches!(removal.next(), Move::Act(_)));
    assert_eq!(portions[0].objects.len(), 1);
    assert_eq!(portions[0].objects[0].object.name, "old");
}

#[test]
fn what_somebody_deleted_is_waited_for_while_the_operator_runs() {
    let mut facts = begun();
    object(&mut facts).is_going = true;
    object(&mut facts).finalizers = vec!["example.com/dig".to_owned()];
    for wish in [operator(), everything()] {
        let removal = plan(&facts, &wish);
        assert!(
            matches!(removal.next(), Move::Wait(stage) if stage.step == Step::AwaitCustomResources)
        );
        let (reason, message) = removal.told().unwrap();
        assert_eq!(reason, "CustomResourcesPresent");
        for word in [
            "that somebody deleted: Gopher port/digger (held by example.com/dig)",
            "the operator is to work off their finalizers",
        ] {
            assert!(message.contains(word), "no {word} in {message}");
        }
        assert!(!message.contains(labels::DELETE_CRDS), "{message}");
    }
    let waits = |facts: &Facts, wish: &Wish| {
        let removal = plan(facts, wish);
        !goes(&removal, Step::AwaitCustomResources).is_empty()
    };
    // Not where the namespace goes, and the operator in it whatever is done here.
    let urgent = operator().in_namespace_that_goes();
    assert!(!waits(&facts, &urgent));
    // Nor for what needs nobody, or is somebody else's to work off, or nobody's at all.
    let mut free = facts.clone();
    object(&mut free).finalizers.clear();
    assert!(!waits(&free, &operator()));
    let mut abroad = facts.clone();
    object(&mut abroad).namespace = "quay".to_owned();
    assert!(!waits(&abroad, &operator()));
    let mut shared = facts.clone();
    let mut mole = (*csv("quay", "mole", &["Gopher"], &[])).clone();
    let annotations = mole.metadata.annotations.get_or_insert_default();
    annotations.insert(labels::TARGET_NAMESPACES.to_owned(), String::new());
    shared.csvs.push(Arc::new(mole));
    assert!(!waits(&shared, &operator()));
    let mut leaving = facts.clone();
    Arc::make_mut(&mut leaving.csvs[0])
        .metadata
        .deletion_timestamp = Some(at(DELETED));
    assert!(!waits(&leaving, &operator()));
    facts.csvs.clear();
    assert!(!waits(&facts, &operator()));
}

#[test]
fn a_crd_on_its_way_out_takes_its_marks_with_it() {
    let mut facts = begun();
    facts.csvs.clear();
    facts.crds[0].is_going = true;
    let removal = plan(&facts, &operator());
    assert_eq!(removal.next(), Move::LetGo);
    let mut shared = marked("ConfigMap", "shared");
    let mark = "operators.coreos.com/mole.quay".to_owned();
    shared.labels.insert(mark, String::new());
    shared.is_going = true;
    facts.csvs = vec![csv("quay", "mole", &[], &[])];
    facts.marked = vec![shared];
    assert_eq!(plan(&facts, &operator()).next(), Move::LetGo);
}

#[test]
fn many_objects_go_in_portions_and_what_goes_already_is_in_none() {
    let mut facts = begun();
    let digger = object(&mut facts).clone();
    let all = (0..7).map(|at| CustomResource {
        name: format!("digger-{at}"),
        is_going: at == 3,
        ..digger.clone()
    });
    facts.crds[0].objects = Ok(all.collect());
    let removal = plan(&facts, &naming(everything()));
    let portions = removal.stages[0].portions(4);
    let names = |at: usize| -> Vec<&str> {
        let objects = portions[at].objects.iter();
        objects.map(|it| &*it.object.name).collect()
    };
    assert_eq!(portions.len(), 2);
    assert_eq!(names(0), ["digger-0", "digger-1", "digger-2", "digger-4"]);
    assert_eq!(names(1), ["digger-5", "digger-6"]);
    assert_eq!(portions[0].step, Step::DeleteCustomResources);
}

#[test]
fn it_is_no_news_that_fewer_are_left() {
    let told = |facts: &Facts| plan(facts, &naming(everything())).told().unwrap().1;
    let mut facts = begun();
    let digger = object(&mut facts).clone();
    let many = |from: usize| {
        let all = (from..20).map(|at| CustomResource {
            name: format!("digger-{at:02}"),
            ..digger.clone()
        });
        Ok(all.collect::<Vec<_>>())
    };
    facts.crds[0].objects = many(0);
    let first = told(&facts);
    facts.crds[0].objects = many(3);
    let second = told(&facts);
    assert!(first.contains("15 more") && second.contains("12 more"));
    assert!(!is_news(&first, &first));
    assert!(!is_news(&first, &second));
    let done = so_far(&first, 500, 20_000);
    assert!(
        done.contains("15 more (500 of 20000 were deleted so far); to keep"),
        "{done}"
    );
    assert!(!is_news(&first, &done) && !is_news(&done, &second));
    object(&mut facts).finalizers = vec!["example.com/dig".to_owned()];
    let waits = told(&facts);
    assert!(is_news(&second, &waits), "there is something to work off");
    object(&mut facts).is_going = true;
    assert!(is_news(&waits, &told(&facts)), "it is held now");
    facts.crds[0].objects = Ok(Vec::new());
    assert!(is_news(&second, &told(&facts)), "something else goes");
    let blocked = "InstallPlan a is being carried out";
    assert!(is_news(blocked, "InstallPlan b is being carried out"));
}
