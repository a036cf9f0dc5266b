//! Catalogs that are made to take long, or to break what reads them, cost only those who use them.

use chandler::catalog::fbc;
use chandler::resolver::{Component, Explanation, Resolution, Solution, resolve};
use serde_json::json;

use crate::support::scenario::{
    BundleInput, CatalogInput, ChannelInput, Input, PackageInput, Requires, SubscriptionInput,
    World,
};

fn package(name: &str, bundles: Vec<BundleInput>) -> PackageInput {
    let mut entries: Vec<fbc::Entry> = Vec::new();
    for bundle in &bundles {
        entries.push(fbc::Entry {
            name: bundle.name.clone(),
            replaces: entries
                .last()
                .map(|before| before.name.clone())
                .unwrap_or_default(),
            ..fbc::Entry::default()
        });
    }
    PackageInput {
        name: name.into(),
        default_channel: "stable".into(),
        channels: vec![ChannelInput {
            name: "stable".into(),
            entries,
            ..ChannelInput::default()
        }],
        bundles,
        ..PackageInput::default()
    }
}

fn bundle(name: &str, version: &str) -> BundleInput {
    BundleInput {
        name: format!("{name}.v{version}"),
        version: version.into(),
        ..BundleInput::default()
    }
}

fn subscription(name: &str) -> SubscriptionInput {
    SubscriptionInput {
        name: name.into(),
        ..SubscriptionInput::default()
    }
}

/// The packages in the catalog `strange`, and an honest one beside it, which somebody wants too.
fn answer(packages: Vec<PackageInput>, subscriptions: Vec<SubscriptionInput>) -> Resolution {
    let honest = CatalogInput {
        name: "honest".into(),
        packages: vec![package("zebra", vec![bundle("zebra", "1.0.0")])],
        ..CatalogInput::default()
    };
    let strange = CatalogInput {
        name: "strange".into(),
        packages,
        ..CatalogInput::default()
    };
    let mut input = Input {
        catalogs: vec![strange, honest],
        subscriptions,
        ..Input::default()
    };
    input.subscriptions.push(SubscriptionInput {
        catalog: Some("honest".into()),
        ..subscription("zebra")
    });
    let resolution = resolve(&World::new(input).request());
    let zebra = solved(&resolution, "zebra");
    assert_eq!(zebra.install.len(), 1, "the honest one gets what it wants");
    resolution
}

fn solved<'a>(resolution: &'a Resolution, name: &str) -> &'a Solution {
    let mut components = resolution.components.iter();
    let found = components.find(|it| it.subscriptions().iter().any(|one| one == name));
    match found {
        Some(Component::Solved(solution)) => solution,
        other => panic!("{name}: {other:?}"),
    }
}

fn refused<'a>(resolution: &'a Resolution, name: &str) -> &'a Explanation {
    let mut components = resolution.components.iter();
    let found = components.find(|it| it.subscriptions().iter().any(|one| one == name));
    match found {
        Some(Component::Unsolvable(explanation)) => explanation,
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn thousands_of_packages_that_need_each_other_in_a_row_are_installed_in_order() {
    const LENGTH: usize = 10_000;
    let name = |number: usize| format!("p{number:05}");
    let packages = (0..LENGTH).map(|number| {
        let mut one = bundle(&name(number), "1.0.0");
        if number + 1 < LENGTH {
            one.requires.push(Requires::Package {
                package: name(number + 1),
                range: ">=1.0.0".into(),
            });
        }
        package(&name(number), vec![one])
    });
    let resolution = answer(packages.collect(), vec![subscription(&name(0))]);
    let installed = &solved(&resolution, &name(0)).install;
    assert_eq!(installed.len(), LENGTH);
    assert_eq!(installed[0].package, name(LENGTH - 1));
    assert_eq!(installed[LENGTH - 1].package, name(0));
}

#[test]
fn a_puzzle_that_nobody_can_solve_in_time_is_given_up() {
    // Each of twelve labels is on eleven operators, of which each provides another of eleven APIs.
    let mut packages = Vec::new();
    let mut app = bundle("app", "1.0.0");
    for label in 0..12 {
        app.requires.push(Requires::Label {
            label: format!("label-{label}"),
        });
        for api in 0..11 {
            let name = format!("pigeon-{label}-{api}");
            let mut one = bundle(&name, "1.0.0");
            one.labels.push(format!("label-{label}"));
            one.provides.push(format!("holes.example.com/v1/Hole{api}"));
            packages.push(package(&name, vec![one]));
        }
    }
    packages.push(package("app", vec![app]));
    let resolution = answer(packages, vec![subscription("app")]);
    let explanation = refused(&resolution, "app");
    assert!(
        explanation
            .summary
            .contains("too many candidates to say why"),
        "{}",
        explanation.summary
    );
}

#[test]
fn questions_of_every_bundle_about_every_other_are_not_asked_for_ever() {
    // Every bundle has a rule of its own that takes as many steps as one may, about all others.
    const BUNDLES: usize = 300;
    let bundles = (0..BUNDLES).map(|number| {
        let mut one = bundle("riddle", &format!("1.{number}.0"));
        let rule = format!(
            "properties.exists(a, properties.exists(b, properties.exists(c, c.type == 'no {number}')))"
        );
        one.requires.push(Requires::Constraint {
            constraint: json!({"failureMessage": "riddle", "cel": {"rule": rule}}),
        });
        for label in 0..40 {
            one.labels.push(format!("label-{label}"));
        }
        one
    });
    // Another package of the same catalog suffers nothing, whoever comes first by name.
    let mut neighbour = bundle("neighbour", "1.0.0");
    neighbour.requires.push(Requires::Package {
        package: "friend".into(),
        range: ">=1.0.0".into(),
    });
    let packages = vec![
        package("riddle", bundles.collect()),
        package("neighbour", vec![neighbour]),
        package("friend", vec![bundle("friend", "1.0.0")]),
    ];
    let first = SubscriptionInput {
        package: Some("riddle".into()),
        ..subscription("a-riddle")
    };
    let resolution = answer(packages, vec![first, subscription("neighbour")]);
    assert_eq!(solved(&resolution, "neighbour").install.len(), 2);
    let explanation = refused(&resolution, "a-riddle");
    let said = "what package riddle of catalog olm/strange needs takes too long to look for";
    assert!(explanation.text.contains(said), "{}", explanation.text);
}

#[test]
fn thousands_of_skipped_versions_and_many_needs_of_them_are_looked_at_once_each() {
    const SKIPPED: usize = 3_000;
    let mut bundles: Vec<BundleInput> = (0..SKIPPED)
        .map(|number| bundle("db", &format!("1.{number}.0")))
        .collect();
    bundles.push(bundle("db", "2.0.0"));
    let mut db = package("db", bundles);
    let skips: Vec<String> = db.channels[0].entries[..SKIPPED]
        .iter()
        .map(|entry| entry.name.clone())
        .collect();
    let head = &mut db.channels[0].entries[SKIPPED];
    head.skips = skips;
    head.replaces.clear();
    let mut app = bundle("app", "1.0.0");
    for end in 3..103 {
        app.requires.push(Requires::Package {
            package: "db".into(),
            range: format!("<{end}.0.0"),
        });
    }
    let pinned = SubscriptionInput {
        version: Some("1.x".into()),
        ..subscription("db")
    };
    let packages = vec![db, package("app", vec![app])];
    let resolution = answer(packages, vec![pinned, subscription("app")]);
    let installed = &solved(&resolution, "app").install;
    assert_eq!(installed[0].bundle, format!("db.v1.{}.0", SKIPPED - 1));
    assert_eq!(installed.len(), 2);
}

#[test]
fn names_as_long_as_a_book_make_no_summary_as_long_as_a_book() {
    let long = "x".repeat(100_000);
    let mut one = bundle("app", "1.0.0");
    one.requires.push(Requires::Package {
        package: long.clone(),
        range: ">=1.0.0".into(),
    });
    let resolution = answer(vec![package("app", vec![one])], vec![subscription("app")]);
    let explanation = refused(&resolution, "app");
    assert!(
        explanation
            .summary
            .starts_with("app 1.0.0 needs package xxx")
    );
    assert!(explanation.summary.chars().count() <= 1_001);
    assert!(explanation.text.len() < 20_000);
    let tree = serde_json::to_string(&explanation.tree).unwrap();
    assert!(tree.len() < 20_000);
}

#[test]
fn a_way_to_a_version_through_thousands_of_entries_that_skip_each_other_is_found() {
    const ENTRIES: usize = 2_000;
    let name = |number: usize| format!("app.v1.{number}.0");
    let mut app = package(
        "app",
        (0..ENTRIES)
            .map(|number| bundle("app", &format!("1.{number}.0")))
            .collect(),
    );
    for (number, entry) in app.channels[0].entries.iter_mut().enumerate() {
        entry.skip_range = format!("<1.{number}.0");
    }
    // The newest is the only one that leads on to what is wanted, and may not be taken directly.
    app.bundles.push(bundle("app", "2.0.0"));
    app.channels[0].entries.push(fbc::Entry {
        name: "app.v2.0.0".into(),
        replaces: name(ENTRIES - 1),
        ..fbc::Entry::default()
    });
    let mut input = Input {
        catalogs: vec![CatalogInput {
            name: "strange".into(),
            packages: vec![app],
            ..CatalogInput::default()
        }],
        ..Input::default()
    };
    input
        .installed
        .push(crate::support::scenario::InstalledInput {
            name: name(0),
            version: "1.0.0".into(),
            package: Some("app".into()),
            ..crate::support::scenario::InstalledInput::default()
        });
    input.subscriptions.push(SubscriptionInput {
        installed_csv: name(0),
        channel: "stable".into(),
        version: Some(">=2.0.0".into()),
        ..subscription("app")
    });
    let resolution = resolve(&World::new(input).request());
    let installed = &solved(&resolution, "app").install;
    assert_eq!(installed[0].bundle, name(ENTRIES - 1));
}

/// An app that needs the database, whose newest version nobody can have.
fn app_and_database() -> Vec<PackageInput> {
    let mut app = bundle("app", "1.0.0");
    app.requires.push(Requires::Package {
        package: "db".into(),
        range: ">=1.0.0".into(),
    });
    let mut newest = bundle("db", "5.0.0");
    newest.requires.push(Requires::Api {
        api: "g/v/Missing".into(),
    });
    vec![
        package("app", vec![app]),
        package("db", vec![bundle("db", "1.0.0"), newest]),
    ]
}

/// A package of three channels, and a Subscription that follows none of them.
fn in_no_channel(name: &str) -> (PackageInput, SubscriptionInput) {
    let mut package = package(name, vec![bundle(name, "1.0.0")]);
    for other in ["edge", "fast"] {
        let mut channel = package.channels[0].clone();
        channel.name = other.into();
        package.channels.push(channel);
    }
    let lost = SubscriptionInput {
        channel: "nowhere".into(),
        ..subscription(name)
    };
    (package, lost)
}

/// A library of which a third is skipped, and a package each of whose versions needs it in another range.
fn library_and_its_reader() -> Vec<PackageInput> {
    const BOOKS: usize = 300;
    const READERS: usize = 200;
    let books = (0..BOOKS).map(|number| bundle("lib", &format!("1.{number}.0")));
    let mut library = package("lib", books.collect());
    let entries = &mut library.channels[0].entries;
    let is_skipped = |number: usize| number % 3 == 1;
    for number in 1..BOOKS {
        let before = number - if is_skipped(number - 1) { 2 } else { 1 };
        entries[number].replaces = if is_skipped(number) {
            String::new()
        } else {
            entries[before].name.clone()
        };
    }
    let skipped = (0..BOOKS).filter(|&number| is_skipped(number));
    let skipped: Vec<String> = skipped.map(|number| entries[number].name.clone()).collect();
    entries[BOOKS - 1].skips = skipped;
    let readers = (0..READERS).map(|number| {
        let mut one = bundle("reader", &format!("1.{number}.0"));
        one.requires.push(Requires::Package {
            package: "lib".into(),
            range: format!(">=1.0.{number} <9.0.0"),
        });
        one
    });
    vec![library, package("reader", readers.collect())]
}

#[test]
fn a_pin_that_is_given_up_costs_nobody_else_an_answer_or_advice() {
    let mut packages = app_and_database();
    packages.extend(library_and_its_reader());
    let mut subscriptions: Vec<SubscriptionInput> =
        ["app", "db", "reader"].map(subscription).into();
    let lost: Vec<String> = (0..9).map(|number| format!("lost-{number}")).collect();
    for name in &lost {
        let (package, subscription) = in_no_channel(name);
        packages.push(package);
        subscriptions.push(subscription);
    }
    let advice = |resolution: &Resolution| -> Vec<usize> {
        let lost = lost.iter();
        lost.map(|name| refused(resolution, name).nearest.len())
            .collect()
    };
    let without = answer(packages.clone(), subscriptions.clone());
    assert_eq!(advice(&without), [3; 9]);
    subscriptions.push(SubscriptionInput {
        package: Some("db".into()),
        version: Some("5.x".into()),
        ..subscription("db-five")
    });
    let with = answer(packages, subscriptions);
    assert_eq!(solved(&with, "reader").install.len(), 2);
    assert_eq!(solved(&with, "app").install.len(), 2);
    assert_eq!(advice(&with), advice(&without));
}
