//! `chandler explain` as a shell sees it.

use serde_json::{Value, json};

use crate::command_plan::{csv, documents, shell, subscription};
use crate::support::cluster::repository;

#[test]
fn it_tells_what_would_be_installed_and_why_that() {
    let said = shell().done("explain gopher --catalog hub");
    assert_eq!(
        said,
        "gopher 2.0.0 would be installed (gopher.v2.0.0)\n  \
           catalog: default/hub, the only one\n  \
           channel: stable, the default channel\n  \
           version: the newest of channel stable\n\
         with it: shovel 1.0.0 (shovel.v1.0.0) from channel stable of default/hub, because \
         gopher.v2.0.0 needs the API Shovel (tools.example.com/v1)\n\
         subscribe shovel-stable-hub-default: keeps shovel up to date in channel stable\n"
    );
}

#[test]
fn for_programs_it_is_one_component_of_the_plan() {
    let shell = shell();
    let said: Value =
        serde_json::from_str(&shell.done("explain gopher --catalog hub -o json")).unwrap();
    let subscription = subscription("gopher", json!({"sourceNamespace": "default"}), "");
    let mut subscription = subscription;
    subscription["metadata"] = json!({"name": "gopher"});
    shell.write("subs.yaml", &documents(&[subscription]));
    let plan = shell.done("plan --catalog hub --subscriptions subs.yaml -o json");
    let plan: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(said, plan["components"][0]);
}

#[test]
fn a_version_that_would_not_be_chosen_can_be_had_by_name() {
    let said = shell().done("explain gopher@1.1.0 --catalog hub");
    assert!(
        said.starts_with("gopher 1.1.0 would be installed (gopher.v1.1.0)\n"),
        "{said}"
    );
    assert!(
        said.contains("version: not 2.0.0, 1.2.0: not within `1.1.0`"),
        "{said}"
    );
    let last = said.lines().last().unwrap();
    assert_eq!(
        last,
        "it can be had with `version: 1.1.0`; without it gopher 2.0.0 is chosen: the newest of \
         channel stable"
    );
}

#[test]
fn a_version_that_would_be_chosen_anyway_is_said_to_be_so() {
    let said = shell().done("explain gopher@^2 --catalog hub --channel stable");
    assert!(said.contains("channel: stable, as asked"), "{said}");
    assert!(
        said.ends_with("it is the same without `version: ^2`\n"),
        "{said}"
    );
}

#[test]
fn why_not_a_version_that_cannot_be_had() {
    let shell = shell();
    let said = shell.run("explain gopher@2.1.0 --catalog hub");
    assert_eq!(said.code, Some(1));
    assert!(said.out.starts_with("no: "), "{}", said.out);
    assert!(said.out.contains("excavator"), "{}", said.out);
    assert!(
        said.out
            .contains("without `version: 2.1.0` gopher 2.0.0 is chosen"),
        "{}",
        said.out
    );
    let said = shell.run("explain gopher@2.1.0 --catalog hub -o json");
    assert_eq!(said.code, Some(1));
    let component: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(component["outcome"], "unsolvable");
}

#[test]
fn why_not_the_newest_of_the_channel() {
    let said = shell().done("explain gopher --catalog hub --channel edge");
    assert!(
        said.starts_with("gopher 2.0.0 would be installed"),
        "{said}"
    );
    let reason = said
        .lines()
        .find(|line| line.contains("version: not 2.1.0: "))
        .unwrap();
    assert!(reason.contains("excavator"), "{said}");
}

#[test]
fn an_upgrade_says_what_makes_it_possible() {
    let explained = |installed: &str, version: &str| {
        let shell = shell();
        shell.write(
            "subs.yaml",
            &documents(&[subscription(
                "gopher",
                json!({"version": version}),
                &format!("gopher.v{installed}"),
            )]),
        );
        shell.write(
            "csvs.yaml",
            &documents(&[csv("gopher", installed, "Succeeded")]),
        );
        shell.done("explain gopher --catalog hub --subscriptions subs.yaml --installed csvs.yaml")
    };
    let said = explained("1.2.0", "");
    assert!(said.contains("in place of gopher.v1.2.0"), "{said}");
    assert!(
        said.contains("upgrade: gopher.v2.0.0 replaces gopher.v1.2.0"),
        "{said}"
    );
    let said = explained("1.0.5", "");
    assert!(
        said.contains("upgrade: gopher.v2.0.0 skips gopher.v1.0.5"),
        "{said}"
    );
    let said = explained("0.9.0", "");
    assert!(
        said.contains("gopher.v0.9.0 is in the skipRange `<1.0.0` of gopher.v1.2.0"),
        "{said}"
    );
    assert!(
        said.contains("not 2.0.0: no upgrade leads there directly from gopher.v0.9.0"),
        "{said}"
    );
    let said = explained("1.0.0", "");
    assert!(said.contains("gopher 1.1.0 would be installed"), "{said}");
    let said = explained("2.0.0", "");
    assert!(
        said.starts_with(
            "gopher 2.0.0 stays as it is (gopher.v2.0.0)\n  version: the newest of channel stable\n"
        ),
        "{said}"
    );
}

#[test]
fn of_several_catalogs_it_says_why_this_one() {
    let shell = shell();
    let said = shell.done("explain shovel --catalog hub=hub --catalog extra=extra");
    assert!(
        said.contains("catalog: default/extra, not default/hub: it comes first by name"),
        "{said}"
    );
    let said = shell.done("explain badger --catalog hub=hub --catalog extra=extra");
    assert!(
        said.contains("default/extra, the only one of 2 catalogs that has the package"),
        "{said}"
    );
    assert!(said.contains("with it: gopher 1.2.0"), "{said}");
    let said = shell.done("explain shovel@1.0.0 --catalog hub=hub --catalog extra=extra");
    assert!(
        said.contains("catalog: default/hub, because nothing fits in default/extra"),
        "{said}"
    );
}

#[test]
fn an_unknown_package_comes_with_what_may_be_meant() {
    let shell = shell();
    for catalogs in ["--catalog hub", "--catalog hub=hub --catalog extra=extra"] {
        let said = shell.fails(1, &format!("explain gofer {catalogs}"));
        assert!(said.contains("`gopher`"), "{said}");
    }
}

#[test]
fn what_is_no_range_is_wrong_usage() {
    let said = shell().fails(2, "explain gopher@new --catalog hub");
    assert!(
        said.contains("`new` is neither a version nor a range"),
        "{said}"
    );
    assert!(said.contains("hint: "), "{said}");
}

#[test]
fn without_a_cluster_it_says_that_catalogs_can_be_named() {
    let said = shell().fails(3, "explain gopher --kubeconfig none.yaml");
    assert!(
        said.contains("hint: ") && said.contains("--catalog"),
        "{said}"
    );
}

#[test]
fn a_pin_that_the_question_leaves_out_is_named() {
    let shell = shell();
    let pinned = subscription("gopher", json!({"version": "1.1.0"}), "");
    shell.write("subs.yaml", &documents(&[pinned]));
    let said = shell.done("explain gopher@2.0.0 --catalog hub --subscriptions subs.yaml");
    let pin = "as it is, Subscription gopher holds it to `version: 1.1.0`";
    assert!(said.contains(pin), "{said}");
}

#[test]
fn a_version_that_another_subscription_cannot_live_with_says_whom_it_costs() {
    let shell = shell();
    let harbor = subscription(
        "harbor-operator",
        json!({"source": "fleet", "channel": "stable"}),
        "",
    );
    shell.write("subs.yaml", &documents(&[harbor]));
    let fleet = repository().join("catalog");
    let explain = |what: &str| {
        let fleet = fleet.display();
        shell.done(&format!(
            "explain {what} --catalog fleet={fleet} --subscriptions subs.yaml"
        ))
    };
    let lost = "Subscription harbor-operator cannot be met: harbor-operator 1.3.0 and 1.2.0 need \
                package cert-manager in version >=1.4.0 <1.7.0";
    let newest = explain("cert-manager@1.9.0");
    assert!(
        newest.contains(&format!(
            "it can be had with `version: 1.9.0`, but then {lost}"
        )),
        "{newest}"
    );
    let usual = explain("cert-manager");
    assert!(
        usual.contains(&format!("version: not 1.9.0: with it {lost}")),
        "{usual}"
    );
    // What costs nobody anything is not said to.
    let middle = explain("cert-manager@1.4.0");
    assert!(
        middle.contains("it can be had with `version: 1.4.0`; without it"),
        "{middle}"
    );
}

#[test]
fn the_build_of_a_vendor_is_not_older_than_the_release_that_it_is_of() {
    let shell = shell();
    let bundle = |version: &str, more: Value| {
        let package =
            json!({"type": "olm.package", "value": {"packageName": "mole", "version": version}});
        json!({"schema": "olm.bundle", "package": "mole", "name": format!("mole.v{version}"),
               "image": format!("example.com/mole:{version}"), "properties": [package, more]})
    };
    let needs = json!({"type": "olm.csv.metadata", "value": {"minKubeVersion": "1.33.4"}});
    let mut newest = bundle("2.0.0", needs);
    let lacks = json!({"packageName": "excavator", "versionRange": ">=1.0.0"});
    let lacks = json!({"type": "olm.package.required", "value": lacks});
    newest["properties"].as_array_mut().unwrap().push(lacks);
    let blobs = [
        json!({"schema": "olm.package", "name": "mole", "defaultChannel": "stable"}),
        json!({"schema": "olm.channel", "package": "mole", "name": "stable", "entries": [
            {"name": "mole.v2.0.0", "replaces": "mole.v1.0.0"}, {"name": "mole.v1.0.0"}]}),
        newest,
        bundle("1.0.0", json!({"type": "color", "value": "black"})),
    ];
    shell.write("hub/mole.yaml", &documents(&blobs));
    let explain = |kubernetes: &str| {
        let said = shell.done(&format!(
            "explain mole --catalog hub --kube-version {kubernetes}"
        ));
        assert!(said.starts_with("mole 1.0.0 would be installed"), "{said}");
        said
    };
    let said = explain("1.33.4-gke.1200");
    assert!(!said.contains("needs Kubernetes"), "{said}");
    assert!(said.contains("excavator"), "{said}");
    let said = explain("1.33.3");
    assert!(
        said.contains("version: not 2.0.0: needs Kubernetes 1.33.4, and here is 1.33.3"),
        "{said}"
    );
}

#[test]
fn while_an_upgrade_is_under_way_what_comes_next_is_said_to_wait() {
    let shell = shell();
    let wish = subscription("gopher", json!({"channel": "stable"}), "gopher.v1.1.0");
    shell.write("subs.yaml", &documents(&[wish]));
    let before = csv("gopher", "1.1.0", "Replacing");
    let mut next = csv("gopher", "1.2.0", "Installing");
    next["spec"]["replaces"] = "gopher.v1.1.0".into();
    shell.write("csvs.yaml", &documents(&[before, next]));
    let from = "--catalog hub --subscriptions subs.yaml --installed csvs.yaml";
    let said = shell.done(&format!("explain gopher {from}"));
    assert!(
        said.contains("not 2.0.0: it waits until gopher.v1.2.0 runs"),
        "{said}"
    );
    let said = shell.done(&format!("explain gopher@2.0.0 {from}"));
    assert!(
        said.contains("cannot be had at once: it waits until gopher.v1.2.0 runs"),
        "{said}"
    );
    assert!(!said.contains("it is the same"), "{said}");
}

/// A package with these channels of one version each; the first one is the default.
fn mole(channels: &[(&str, &str)]) -> String {
    let mut blobs =
        vec![json!({"schema": "olm.package", "name": "mole", "defaultChannel": channels[0].0})];
    for (channel, version) in channels {
        let name = format!("mole.v{version}");
        blobs.push(
            json!({"schema": "olm.channel", "package": "mole", "name": channel, "entries": [{"name": name}]}),
        );
        let own = json!({"packageName": "mole", "version": version});
        blobs.push(
            json!({"schema": "olm.bundle", "package": "mole", "name": name, "image": format!("example.com/mole:{version}"),
                   "properties": [{"type": "olm.package", "value": own}]}),
        );
    }
    documents(&blobs)
}

#[test]
fn who_names_no_channel_is_told_of_the_one_that_lists_what_it_has() {
    let shell = shell();
    shell.write(
        "hub/mole.yaml",
        &mole(&[("stable", "1.0.0"), ("edge", "2.0.0")]),
    );
    let wish = subscription("mole", json!({}), "mole.v2.0.0");
    shell.write("subs.yaml", &documents(&[wish]));
    shell.write(
        "csvs.yaml",
        &documents(&[csv("mole", "2.0.0", "Succeeded")]),
    );
    let said =
        shell.done("explain mole --catalog hub --subscriptions subs.yaml --installed csvs.yaml");
    assert!(
        said.contains("version: the newest of channel edge"),
        "{said}"
    );
}
