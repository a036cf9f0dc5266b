use super::*;
use proptest::prelude::*;
use rstest::rstest;

fn deployment(pod: &Value) -> Value {
    let mut spec = json!({"containers": [{"name": "one"}, {"name": "two"}]});
    spec.as_object_mut()
        .unwrap()
        .extend(pod.as_object().cloned().unwrap());
    json!({
        "metadata": {"name": "d"},
        "spec": {"template": {"metadata": {"labels": {"app": "d"}}, "spec": spec}},
    })
}

fn config(config: Value) -> SubscriptionConfig {
    serde_json::from_value(config).unwrap()
}

/// The Pods' spec after merging.
fn merged(pod: &Value, with: Value) -> Value {
    let mut deployment = deployment(pod);
    merge(&mut deployment, Some(&config(with)), &[]).unwrap();
    deployment["spec"]["template"]["spec"].clone()
}

/// The first of two equal containers after merging.
fn container(own: &Value, with: Value) -> Value {
    let pod = merged(
        &json!({"initContainers": [own], "containers": [own, own]}),
        with,
    );
    assert_eq!(
        pod["containers"][0], pod["containers"][1],
        "every container is adjusted"
    );
    assert_eq!(
        pod["initContainers"][0], *own,
        "init containers are left alone"
    );
    pod["containers"][0].clone()
}

#[test]
fn nothing_is_changed_without_a_configuration() {
    let mut deployment = deployment(&json!({}));
    let before = deployment.clone();
    merge(&mut deployment, None, &[]).unwrap();
    assert_eq!(deployment, before);
    merge(&mut deployment, Some(&SubscriptionConfig::default()), &[]).unwrap();
    assert_eq!(deployment, before);
}

#[rstest]
#[case::added(json!([]), json!([{"name": "A", "value": "1"}]), json!([{"name": "A", "value": "1"}]))]
#[case::overridden_in_place(
    json!([{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]),
    json!([{"name": "A", "value": "9"}]),
    json!([{"name": "A", "value": "9"}, {"name": "B", "value": "2"}]))]
#[case::emptied(
    json!([{"name": "A", "value": "1"}]),
    json!([{"name": "A", "value": ""}]),
    json!([{"name": "A", "value": ""}]))]
#[case::in_the_order_given(
    json!([{"name": "Z"}]),
    json!([{"name": "C"}, {"name": "B"}, {"name": "Z", "value": "z"}]),
    json!([{"name": "Z", "value": "z"}, {"name": "C"}, {"name": "B"}]))]
#[case::from_elsewhere(
    json!([{"name": "A", "value": "1"}]),
    json!([{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]),
    json!([{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]))]
fn variables_are_set_by_name(#[case] own: Value, #[case] env: Value, #[case] expected: Value) {
    let container = container(&json!({"name": "c", "env": own}), json!({ "env": env }));
    assert_eq!(container["env"], expected);
}

#[rstest]
#[case::added(json!([]), json!([{"secretRef": {"name": "s"}}]), json!([{"secretRef": {"name": "s"}}]))]
#[case::there_already(
    json!([{"secretRef": {"name": "s"}, "prefix": ""}]),
    json!([{"secretRef": {"name": "s"}}]),
    json!([{"secretRef": {"name": "s"}, "prefix": ""}]))]
#[case::beside_another(
    json!([{"secretRef": {"name": "s"}}]),
    json!([{"configMapRef": {"name": "s"}}]),
    json!([{"secretRef": {"name": "s"}}, {"configMapRef": {"name": "s"}}]))]
fn sources_of_variables_are_added(
    #[case] own: Value,
    #[case] from: Value,
    #[case] expected: Value,
) {
    let container = container(
        &json!({"name": "c", "envFrom": own}),
        json!({"envFrom": from}),
    );
    assert_eq!(container["envFrom"], expected);
}

#[rstest]
#[case::added(json!(null), json!([{"name": "v", "emptyDir": {}}]))]
#[case::replaced(json!([{"name": "v", "secret": {"secretName": "s"}}]), json!([{"name": "v", "emptyDir": {}}]))]
fn a_volume_replaces_that_of_its_name(#[case] own: Value, #[case] expected: Value) {
    let pod = merged(
        &json!({ "volumes": own }),
        json!({"volumes": [{"name": "v", "emptyDir": {}}]}),
    );
    assert_eq!(pod["volumes"], expected);
}

#[test]
fn other_volumes_stay() {
    let pod = merged(
        &json!({"volumes": [{"name": "own", "emptyDir": {}}]}),
        json!({"volumes": [{"name": "v", "emptyDir": {}}]}),
    );
    assert_eq!(
        pod["volumes"],
        json!([{"name": "own", "emptyDir": {}}, {"name": "v", "emptyDir": {}}])
    );
}

#[rstest]
#[case::added(json!([]), json!([{"name": "v", "mountPath": "/a"}]), json!([{"name": "v", "mountPath": "/a"}]))]
#[case::moved(
    json!([{"name": "v", "mountPath": "/a"}, {"name": "w", "mountPath": "/w"}]),
    json!([{"name": "v", "mountPath": "/b"}]),
    json!([{"name": "v", "mountPath": "/b"}, {"name": "w", "mountPath": "/w"}]))]
#[case::one_volume_twice(
    json!([]),
    json!([{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b"}]),
    json!([{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b"}]))]
#[case::a_path_that_is_taken(
    json!([{"name": "w", "mountPath": "/a"}]),
    json!([{"name": "v", "mountPath": "/a"}]),
    json!([{"name": "v", "mountPath": "/a"}]))]
fn mounts_replace_those_of_their_volume(
    #[case] own: Value,
    #[case] mounts: Value,
    #[case] expected: Value,
) {
    let own = json!({"name": "c", "volumeMounts": own});
    let container = container(&own, json!({"volumeMounts": mounts}));
    assert_eq!(container["volumeMounts"], expected);
}

#[rstest]
#[case::added(json!(null), json!([{"key": "k", "operator": "Exists"}]))]
#[case::there_already(json!([{"key": "k", "operator": "Exists"}]), json!([{"key": "k", "operator": "Exists"}]))]
#[case::beside_another(
    json!([{"key": "k", "operator": "Equal", "value": "v"}]),
    json!([{"key": "k", "operator": "Equal", "value": "v"}, {"key": "k", "operator": "Exists"}]))]
fn tolerations_are_added(#[case] own: Value, #[case] expected: Value) {
    let with = json!({"tolerations": [{"key": "k", "operator": "Exists"}]});
    let pod = merged(&json!({ "tolerations": own }), with);
    assert_eq!(pod["tolerations"], expected);
}

#[test]
fn resources_are_replaced_as_a_whole() {
    let own = json!({"name": "c", "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}});
    let with = json!({"resources": {"limits": {"memory": "1Gi"}}});
    assert_eq!(
        container(&own, with)["resources"],
        json!({"limits": {"memory": "1Gi"}})
    );
    let none = container(&own, json!({"resources": {}}));
    assert_eq!(none["resources"], json!({}));
}

#[rstest]
#[case::replaced(json!({"nodeSelector": {"b": "2"}}), json!({"b": "2"}))]
#[case::removed(json!({"nodeSelector": {}}), json!({}))]
#[case::left(json!({}), json!({"a": "1"}))]
fn the_node_selector_is_replaced(#[case] with: Value, #[case] expected: Value) {
    let pod = merged(&json!({"nodeSelector": {"a": "1"}}), with);
    assert_eq!(pod["nodeSelector"], expected);
}

#[rstest]
#[case::each_part_replaces_its_own(json!({"nodeAffinity": {"x": 1}}),
    Some(json!({"nodeAffinity": {"x": 1}, "podAffinity": {"p": 1}, "podAntiAffinity": {"q": 1}})))]
#[case::an_empty_part_removes_it(json!({"podAffinity": {}}),
    Some(json!({"nodeAffinity": {"n": 1}, "podAntiAffinity": {"q": 1}})))]
#[case::an_empty_anti_affinity_removes_no_more(json!({"podAntiAffinity": {}}),
    Some(json!({"nodeAffinity": {"n": 1}, "podAffinity": {"p": 1}})))]
#[case::null_leaves_it(json!({"podAffinity": null, "nodeAffinity": {}}),
    Some(json!({"podAffinity": {"p": 1}, "podAntiAffinity": {"q": 1}})))]
#[case::all_empty_removes_all(json!({"nodeAffinity": {}, "podAffinity": {}, "podAntiAffinity": {}}), None)]
#[case::empty_removes_all(json!({}), None)]
fn affinity_is_replaced_part_by_part(#[case] with: Value, #[case] expected: Option<Value>) {
    let own =
        json!({"nodeAffinity": {"n": 1}, "podAffinity": {"p": 1}, "podAntiAffinity": {"q": 1}});
    let pod = merged(&json!({ "affinity": own }), json!({ "affinity": with }));
    assert_eq!(pod.get("affinity"), expected.as_ref());
}

#[test]
fn affinity_is_added_where_there_is_none() {
    let pod = merged(&json!({}), json!({"affinity": {"nodeAffinity": {"x": 1}}}));
    assert_eq!(pod["affinity"], json!({"nodeAffinity": {"x": 1}}));
    assert_eq!(
        merged(&json!({}), json!({"affinity": {}})).get("affinity"),
        None
    );
}

#[test]
fn annotations_are_added_to_deployment_and_pods_and_replace_none() {
    let mut deployment = deployment(&json!({}));
    deployment["metadata"]["annotations"] = json!({"a": "own"});
    deployment["spec"]["template"]["metadata"]["annotations"] = json!({"b": "own"});
    let config = config(json!({"annotations": {"a": "1", "b": "2"}}));
    merge(&mut deployment, Some(&config), &[]).unwrap();
    assert_eq!(
        deployment["metadata"]["annotations"],
        json!({"a": "own", "b": "2"})
    );
    let pods = &deployment["spec"]["template"]["metadata"]["annotations"];
    assert_eq!(*pods, json!({"b": "own", "a": "1"}));
}

#[rstest]
#[case::selected(json!({"matchLabels": {"app": "d"}}), true)]
#[case::not_selected(json!({"matchLabels": {"app": "other"}}), false)]
#[case::by_expression(json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]}), true)]
#[case::empty(json!({}), true)]
fn only_selected_deployments_are_adjusted(#[case] selector: Value, #[case] is_adjusted: bool) {
    let pod = merged(
        &json!({}),
        json!({"selector": selector, "nodeSelector": {"a": "1"}}),
    );
    assert_eq!(pod.get("nodeSelector").is_some(), is_adjusted);
}

#[test]
fn a_selector_that_makes_no_sense_is_told() {
    let config =
        config(json!({"selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}));
    let error = merge(&mut deployment(&json!({})), Some(&config), &[]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("spec.config.selector of the Subscription"),
        "{error}"
    );
}

fn proxy() -> Vec<(String, String)> {
    let pairs = [
        ("HTTP_PROXY", "http://p"),
        ("HTTPS_PROXY", ""),
        ("NO_PROXY", "local"),
    ];
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
}

#[test]
fn the_proxy_of_the_cluster_is_told_to_every_container() {
    let mut deployment = deployment(&json!({}));
    let config = config(json!({"env": [{"name": "A", "value": "1"}]}));
    merge(&mut deployment, Some(&config), &proxy()).unwrap();
    for container in deployment["spec"]["template"]["spec"]["containers"]
        .as_array()
        .unwrap()
    {
        assert_eq!(
            container["env"],
            json!([
                {"name": "A", "value": "1"},
                {"name": "HTTP_PROXY", "value": "http://p"},
                {"name": "NO_PROXY", "value": "local"},
            ])
        );
    }
}

#[rstest]
#[case("HTTP_PROXY")]
#[case("HTTPS_PROXY")]
#[case("NO_PROXY")]
fn a_subscription_that_sets_one_proxy_variable_sets_the_proxy(#[case] name: &str) {
    let mut deployment = deployment(&json!({}));
    let config = config(json!({"env": [{"name": name, "value": "mine"}]}));
    merge(&mut deployment, Some(&config), &proxy()).unwrap();
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["env"], json!([{"name": name, "value": "mine"}]));
}

#[test]
fn a_deployment_that_is_not_selected_still_learns_of_the_proxy() {
    let mut deployment = deployment(&json!({}));
    let config = config(json!({
        "selector": {"matchLabels": {"app": "other"}},
        "env": [{"name": "HTTP_PROXY", "value": "mine"}],
    }));
    merge(&mut deployment, Some(&config), &proxy()).unwrap();
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["env"][0]["value"], "http://p");
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c"]).prop_map(ToOwned::to_owned)
}

fn parts() -> impl Strategy<Value = Value> {
    let env = prop::collection::vec((name(), name()), 0..3);
    let mounts = prop::collection::vec((name(), name()), 0..4);
    let volumes = prop::collection::vec((name(), name()), 0..3);
    let tolerations = prop::collection::vec(name(), 0..3);
    let affinity = prop::collection::btree_map(
        prop::sample::select(vec!["nodeAffinity", "podAffinity", "podAntiAffinity"]),
        prop::sample::select(vec![json!({}), json!(null), json!({"x": 1})]),
        0..3,
    );
    (env, mounts, volumes, tolerations, prop::option::of(affinity)).prop_map(
        |(env, mounts, volumes, tolerations, affinity)| {
            let list = |pairs: Vec<(String, String)>, one: &str, other: &str| {
                let pairs = pairs.into_iter();
                let items = pairs.map(|(name, value)| json!({one: name, other: value}));
                items.collect::<Vec<_>>()
            };
            let mut parts = json!({
                "env": list(env, "name", "value"),
                "volumeMounts": list(mounts, "name", "mountPath"),
                "volumes": list(volumes, "name", "kind"),
                "tolerations": tolerations.iter().map(|key| json!({"key": key})).collect::<Vec<_>>(),
                "envFrom": tolerations.iter().map(|key| json!({"prefix": key})).collect::<Vec<_>>(),
                "annotations": tolerations.iter().map(|key| (key.clone(), json!("x"))).collect::<Map<_, _>>(),
            });
            if let Some(affinity) = affinity {
                parts["affinity"] = json!(affinity);
            }
            parts
        },
    )
}

proptest! {
    #[test]
    fn merging_twice_is_merging_once(own in parts(), with in parts()) {
        let container = json!({"name": "c", "env": own["env"], "volumeMounts": own["volumeMounts"],
                               "envFrom": own["envFrom"]});
        let mut once = deployment(&json!({
            "containers": [container], "volumes": own["volumes"],
            "tolerations": own["tolerations"], "affinity": own["affinity"],
        }));
        let config = config(with);
        merge(&mut once, Some(&config), &proxy()).unwrap();
        let mut twice = once.clone();
        merge(&mut twice, Some(&config), &proxy()).unwrap();
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn no_path_is_mounted_twice(
        own in prop::collection::btree_map(name(), name(), 0..4), with in parts()
    ) {
        let own = own.iter().map(|(path, name)| json!({"name": name, "mountPath": path}));
        let own: Vec<Value> = own.collect();
        let mut one = deployment(&json!({"containers": [{"name": "c", "volumeMounts": own}]}));
        merge(&mut one, Some(&config(with)), &[]).unwrap();
        let mounts = &one["spec"]["template"]["spec"]["containers"][0]["volumeMounts"];
        let mut paths = Vec::new();
        for mount in mounts.as_array().unwrap() {
            prop_assert!(!paths.contains(&&mount["mountPath"]));
            paths.push(&mount["mountPath"]);
        }
    }
}
