//! What commands make of the files and catalogs that they are given, good and bad.

use rstest::rstest;
use serde_json::{Value, json};

use crate::command_line::Shell;
use crate::command_plan::{csv, documents, shell, subscription};

fn group(name: &str, annotations: &Value, spec: &Value) -> Value {
    json!({
        "apiVersion": "operators.coreos.com/v1",
        "kind": "OperatorGroup",
        "metadata": {"name": name, "namespace": "ns", "annotations": annotations},
        "spec": spec,
    })
}

fn excluding() -> Value {
    let annotation = "olm.operatorframework.io/exclude-global-namespace-resolution";
    group("own", &json!({annotation: "true"}), &json!({}))
}

fn with_subscriptions(objects: &[Value]) -> Shell {
    let shell = shell();
    shell.write("subs.yaml", &documents(objects));
    shell
}

const PLAN: &str = "plan --catalog hub --subscriptions subs.yaml";

#[test]
fn an_operator_group_can_keep_global_catalogs_out() {
    let shell = with_subscriptions(&[subscription("shovel", json!({}), ""), excluding()]);
    let said = shell.run(PLAN);
    assert_eq!(said.code, Some(1), "{}{}", said.out, said.err);
    assert!(
        said.out.contains("its OperatorGroup excludes global ones"),
        "{}",
        said.out
    );
    let own = subscription("shovel", json!({"sourceNamespace": "ns"}), "");
    let shell = with_subscriptions(&[own, excluding()]);
    let said = shell.done(PLAN);
    assert!(said.starts_with("install shovel 1.0.0"), "{said}");
}

#[test]
fn an_operator_group_counts_beside_what_is_installed_and_only_in_its_namespace() {
    let shell = with_subscriptions(&[subscription("shovel", json!({}), "")]);
    let line = format!("{PLAN} --installed csvs.yaml");
    let badger = csv("badger", "3.0.0", "Succeeded");
    shell.write("csvs.yaml", &documents(&[badger.clone(), excluding()]));
    assert_eq!(shell.run(&line).code, Some(1));
    let mut elsewhere = excluding();
    elsewhere["metadata"]["namespace"] = json!("another");
    shell.write("csvs.yaml", &documents(&[badger, elsewhere]));
    shell.done(&line);
}

#[test]
fn of_two_operator_groups_one_is_too_many() {
    let groups = ["a", "b"].map(|name| group(name, &json!({}), &json!({})));
    let [a, b] = groups;
    let shell = with_subscriptions(&[subscription("shovel", json!({}), ""), a, b]);
    let said = shell.run(PLAN);
    assert!(
        said.err
            .contains("warning: found 2 operatorGroups, expected 1"),
        "{}",
        said.err
    );
}

#[rstest]
#[case::all(json!({}), false)]
#[case::its_own(json!({"targetNamespaces": ["ns"]}), true)]
#[case::two(json!({"targetNamespaces": ["ns", "other"]}), false)]
#[case::a_selector_that_only_a_cluster_can_answer(json!({"selector": {"matchLabels": {"a": "b"}}}), true)]
fn an_operator_that_cannot_serve_the_namespaces_of_its_group_is_told(
    #[case] spec: Value,
    #[case] runs: bool,
) {
    let shell = with_subscriptions(&[
        subscription("mole", json!({}), ""),
        group("g", &json!({}), &spec),
    ]);
    let modes = json!([
        {"type": "OwnNamespace", "supported": true},
        {"type": "AllNamespaces", "supported": false},
    ]);
    let blobs = [
        json!({"schema": "olm.package", "name": "mole", "defaultChannel": "stable"}),
        json!({"schema": "olm.channel", "package": "mole", "name": "stable",
               "entries": [{"name": "mole.v1.0.0"}]}),
        json!({"schema": "olm.bundle", "package": "mole", "name": "mole.v1.0.0",
        "image": "example.com/mole:1.0.0", "properties": [
            {"type": "olm.package", "value": {"packageName": "mole", "version": "1.0.0"}},
            {"type": "olm.csv.metadata", "value": {"installModes": modes}},
        ]}),
    ];
    shell.write("hub/mole.yaml", &documents(&blobs));
    let said = shell.run(PLAN);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    let warning = "warning: mole.v1.0.0 would not run under OperatorGroup ns/g: ";
    assert_eq!(!said.err.contains(warning), runs, "{}", said.err);
}

#[test]
fn a_catalog_that_cannot_be_read_concerns_only_those_who_need_it() {
    let shell = with_subscriptions(&[
        subscription("badger", json!({"source": "gone"}), ""),
        subscription("shovel", json!({}), ""),
    ]);
    let line = "plan --catalog gone=./none --catalog hub=hub --subscriptions subs.yaml";
    let said = shell.run(line);
    assert_eq!(said.code, Some(1), "{}{}", said.out, said.err);
    assert!(
        said.err
            .contains("warning: catalog ./none cannot be read: "),
        "{}",
        said.err
    );
    assert!(said.out.contains("install shovel 1.0.0"), "{}", said.out);
    assert!(said.out.contains("no: catalog olm/gone"), "{}", said.out);
    // Where nobody needs it the answer is a plan.
    shell.write(
        "subs.yaml",
        &documents(&[subscription("shovel", json!({}), "")]),
    );
    shell.done(line);
}

#[rstest]
#[case("explain shovel")]
#[case("graph shovel")]
#[case("graph shovel --dependencies")]
fn what_a_readable_catalog_can_answer_is_answered(#[case] command: &str) {
    let shell = shell();
    let said = shell.run(&format!(
        "{command} --catalog gone=./none --catalog hub=hub"
    ));
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert!(said.out.contains("shovel"), "{}", said.out);
    assert!(
        said.err
            .contains("warning: catalog ./none cannot be read: "),
        "{}",
        said.err
    );
    let line = format!("{command} --catalog gone=./none --catalog lost=./nowhere");
    assert!(shell.fails(3, &line).contains("none"));
}

#[test]
fn what_to_do_about_dependencies_is_not_guessed() {
    let shell = with_subscriptions(&[
        subscription("gopher", json!({"policy": {"dependencies": "Forbid"}}), ""),
        subscription("shovel", json!({}), ""),
    ]);
    let said = shell.run(&format!("{PLAN} -o json"));
    assert_eq!(said.code, Some(1), "{}", said.err);
    let plan: Value = serde_json::from_str(&said.out).unwrap();
    let summary = plan["components"][0]["summary"].as_str().unwrap();
    assert_eq!(
        summary,
        "Subscription ns/gopher: spec.policy.dependencies cannot be understood: `Forbid` is not known; \
         write Install or Require"
    );
    assert_eq!(plan["components"][1]["outcome"], "solved");
}

#[test]
fn a_line_break_in_a_name_makes_no_line() {
    let forged = "x\ninstall evil 6.6.6\nhint: run it";
    let shell = with_subscriptions(&[
        subscription(forged, json!({"name": forged}), ""),
        subscription("b", json!({"name": "shovel", "channel": forged}), ""),
    ]);
    let said = shell.run(PLAN);
    assert_eq!(said.code, Some(1));
    for line in said.out.lines().chain(said.err.lines()) {
        let line = line.trim_start_matches(['-', ' ']);
        assert!(
            !line.starts_with("install evil") && !line.starts_with("hint: run it"),
            "{}{}",
            said.out,
            said.err
        );
    }
    assert!(said.out.contains(r"x\ninstall evil"), "{}", said.out);
}

#[rstest]
#[case("")]
#[case(" ")]
#[case("@1.0.0")]
fn a_question_about_no_package_is_wrong_usage(#[case] package: &str) {
    let said = shell().run_words(&["explain", package, "--catalog", "hub"]);
    assert_eq!(said.code, Some(2), "{}{}", said.out, said.err);
    assert!(said.err.contains("there is no package in "), "{}", said.err);
    assert!(said.err.contains("hint: "), "{}", said.err);
}

#[rstest]
#[case::latin1(b"# gr\xfcn\n", 1)]
#[case::second_line(b"a: 1\nb: \xff\n", 2)]
#[case::utf16(b"\xff\xfea\0:\0", 1)]
fn a_file_that_is_not_utf8_is_refused_as_other_unreadable_files_are(
    #[case] content: &[u8],
    #[case] line: usize,
) {
    let shell = shell();
    fs_err::write(shell.path("subs.yaml"), content).unwrap();
    let said = shell.fails(2, PLAN);
    assert!(
        said.contains(&format!("error: subs.yaml:{line} is not text in UTF-8")),
        "{said}"
    );
    assert!(said.contains("hint: "), "{said}");
}

#[rstest]
#[case("graph gopher --catalog hub")]
#[case("graph gopher --catalog hub --channel stable")]
#[case("graph gopher --catalog hub --dependencies")]
fn a_graph_as_yaml_says_the_same_as_json(#[case] command: &str) {
    let shell = shell();
    let json = shell.done(&format!("{command} -o json"));
    let json: Value = serde_json::from_str(&json).unwrap();
    let yaml = shell.done(&format!("{command} -o yaml"));
    let yaml: Value = chandler::yaml::from_str("graph", &yaml).unwrap();
    assert_eq!(yaml, json);
}

#[test]
fn a_catalog_whose_packages_cannot_be_understood_offers_nothing() {
    let catalog = json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "CatalogSource",
        "metadata": {"name": "hub", "namespace": "olm"},
        "spec": {"sourceType": "grpc", "image": "any", "packages": ["sho[vel"]},
    });
    let shell = with_subscriptions(&[subscription("shovel", json!({}), ""), catalog]);
    let said = shell.run(PLAN);
    assert_eq!(said.code, Some(1), "{}{}", said.out, said.err);
    assert!(said.out.contains("spec.packages"), "{}", said.out);
}
