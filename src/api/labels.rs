//! Every label, annotation and finalizer that OLM's users and tools rely on.
//!
//! Labels first, then annotations, then the rest; a key that depends on a name or a hash is made by
//! a function. Keys that only appear on one kind of object say so.
use super::gvk::GroupVersionKind;

/// Label, value `true`, on everything Chandler creates; it limits the caches of the controllers.
pub const MANAGED: &str = "olm.managed";
/// Label: name of the owner of an object that cannot have an owner reference to it, because the
/// object is cluster-scoped or lives in another namespace.
pub const OWNER: &str = "olm.owner";
/// Label: namespace of the [`OWNER`].
pub const OWNER_NAMESPACE: &str = "olm.owner.namespace";
/// Label: kind of the [`OWNER`].
pub const OWNER_KIND: &str = "olm.owner.kind";
/// Label on a copied ClusterServiceVersion, Role or RoleBinding: namespace of the original.
pub const COPIED_FROM: &str = "olm.copiedFrom";
/// Label on a Deployment: hash of the spec it was last given.
pub const DEPLOYMENT_SPEC_HASH: &str = "olm.deployment-spec-hash";
/// Label on (Cluster)Roles and their bindings: hash of what they grant and to whom.
pub const PERMISSIONS_HASH: &str = "olm.permissions.hash";
/// Label on a webhook configuration: `generateName` of the description it was made from.
pub const WEBHOOK_GENERATE_NAME: &str = "olm.webhook-description-generate-name";
/// Label on a webhook configuration: hash of the description it was made from.
pub const WEBHOOK_HASH: &str = "olm.webhook-description-hash";
/// Label on catalog Pods, Services and NetworkPolicies: name of their CatalogSource.
pub const CATALOG_SOURCE: &str = "olm.catalogSource";
/// Label on a catalog Pod that only checks for a newer image: name of its CatalogSource.
pub const CATALOG_SOURCE_UPDATE: &str = "catalogsource.operators.coreos.com/update";
/// Label on a catalog Pod: hash of the spec it was made from.
pub const POD_SPEC_HASH: &str = "olm.pod-spec-hash";
/// Label on a catalog Service: hash of the spec it was made from.
pub const SERVICE_SPEC_HASH: &str = "olm.service-spec-hash";
/// Label on the Pod of a ConfigMap catalog: resource version of the ConfigMap it serves.
pub const CONFIG_MAP_RESOURCE_VERSION: &str = "olm.configMapResourceVersion";
/// Label on an unpack Job: the ConfigMap it fills.
pub const BUNDLE_UNPACK_REF: &str = "operatorframework.io/bundle-unpack-ref";
/// Label on the Pods of an unpack Job: name of the Job.
pub const JOB_NAME: &str = "job-name";
/// Label on a PackageManifest: name of its CatalogSource.
pub const PACKAGE_CATALOG: &str = "catalog";
/// Label on a PackageManifest: namespace of its CatalogSource.
pub const PACKAGE_CATALOG_NAMESPACE: &str = "catalog-namespace";
/// Label on a PackageManifest: name of the provider of the package.
pub const PACKAGE_PROVIDER: &str = "provider";
/// Label on a PackageManifest: address of the provider of the package.
pub const PACKAGE_PROVIDER_URL: &str = "provider-url";
/// Label on an InstallPlan: hash of what it installs, without regard to its generation. Ours: by it
/// a plan that already does what is wanted is found again.
pub const PLAN_CONTENT_HASH: &str = "chandler.plan-content-hash";
/// Annotation on an InstallPlan: hash of the solution it was made for. Ours: by it is seen, before any
/// bundle was read, whether a plan is still what is wanted.
pub const PLAN_SOLUTION: &str = "chandler.solution-hash";
/// Annotation on an object that belongs to an installation: hash of what was last asked for. Ours: by it
/// is seen that something is no longer asked for, which comparing what is asked for does not show.
pub const CONTENT_HASH: &str = "chandler.content-hash";
/// Annotation on a copied ClusterServiceVersion: hash of what was copied. Ours: by it is seen whether the
/// copy is up to date without keeping its spec.
pub const COPY_HASH: &str = "chandler.copy-hash";
/// Annotation on a ClusterRole or ClusterRoleBinding: the Role or RoleBinding that it was made of, since its
/// operator serves all namespaces. Ours: by it is seen that it goes when the operator does not any more.
pub const LIFTED_FROM: &str = "chandler.lifted-from";
/// Label on the Lease of a Chandler, whatever it is called. Ours: by it is seen whether somebody is there.
pub const LEASE: &str = "chandler.lease";
/// Annotation on the Lease of a Chandler that cares for some namespaces only: which, joined by commas.
pub const WATCHED_NAMESPACES: &str = "chandler.watched-namespaces";
/// Annotation, value `true`, on an object that was there before the first plan that brought it. Ours: by it
/// is seen that it stays when its operator is removed.
pub const FOUND: &str = "chandler.found";
/// Annotation, value `true`, on a Subscription: the dependencies that were installed for it go with it.
/// Ours, as the next one; both add to `spec.policy.removal`.
pub const PRUNE_DEPENDENCIES: &str = "chandler.prune-dependencies";
/// Annotation on a Subscription: CRDs that go with it, by name, joined by commas, and all their objects. No
/// other goes that has objects, and none that is not of its package. `deploy/base/admission.yaml` says who may
/// write it.
pub const DELETE_CRDS: &str = "chandler.delete-crds";
/// Annotation on a Subscription that is about to be deleted with a wish: what it said about its removal
/// before, as JSON. Ours: by it that is put back if it is not deleted after all.
pub const BEFORE_REMOVAL: &str = "chandler.before-removal";
/// Prefix of the labels that name an operating system a package supports.
pub const OS_PREFIX: &str = "operatorframework.io/os.";
/// Prefix of the labels that name a processor architecture a package supports.
pub const ARCH_PREFIX: &str = "operatorframework.io/arch.";
/// Value of an [`OS_PREFIX`] or [`ARCH_PREFIX`] label.
pub const SUPPORTED: &str = "supported";
/// The value of [`OWNER`] for an owner of this name, or of [`WEBHOOK_GENERATE_NAME`] for a webhook: the
/// name, or a hash of one that is too long for a label. OLM writes the long name all the same, and the
/// API server refuses the object.
pub fn owner_value(name: &str) -> String {
    if name.len() > LONGEST_VALUE {
        super::hash::base62_sha224(name.as_bytes())
    } else {
        name.to_owned()
    }
}

/// Kubernetes' limit for the value of a label.
const LONGEST_VALUE: usize = 63;

/// Prefix of the labels that mark the components of an Operator; see [`component`].
pub const COMPONENT_PREFIX: &str = "operators.coreos.com/";
/// Prefix of the labels on the namespaces an OperatorGroup targets; see [`operator_group_member`].
pub const OPERATOR_GROUP_PREFIX: &str = "olm.operatorgroup.uid/";
/// Prefix of the labels on OperatorGroups that name the APIs of their members; see [`api`].
pub const API_PREFIX: &str = "olm.api.";

/// Annotation on a ClusterServiceVersion: name of its OperatorGroup.
pub const OPERATOR_GROUP: &str = "olm.operatorGroup";
/// Annotation on a ClusterServiceVersion: namespace its operator runs in.
pub const OPERATOR_NAMESPACE: &str = "olm.operatorNamespace";
/// Annotation on a ClusterServiceVersion: namespaces its operator watches, sorted and joined by
/// commas; empty for all.
pub const TARGET_NAMESPACES: &str = "olm.targetNamespaces";
/// Annotation on an OperatorGroup: the APIs its members provide; see
/// [`format_provided_apis`](super::gvk::format_provided_apis).
pub const PROVIDED_APIS: &str = "olm.providedAPIs";
/// Annotation on an OperatorGroup, value `true`: do not use the catalogs of the global namespace.
pub const EXCLUDE_GLOBAL_NAMESPACE: &str =
    "olm.operatorframework.io/exclude-global-namespace-resolution";
/// Annotation on an OperatorGroup: how long unpacking a bundle may take.
pub const BUNDLE_UNPACK_TIMEOUT: &str = "operatorframework.io/bundle-unpack-timeout";
/// Annotation on an OperatorGroup: how long to wait before a failed bundle is unpacked again.
pub const BUNDLE_UNPACK_MIN_RETRY_INTERVAL: &str =
    "operatorframework.io/bundle-unpack-min-retry-interval";
/// Annotation on a ClusterServiceVersion: range of versions it can replace.
pub const SKIP_RANGE: &str = "olm.skipRange";
/// Annotation on a ClusterServiceVersion: properties of its bundle, as JSON.
pub const PROPERTIES: &str = "operatorframework.io/properties";
/// Annotation on a Subscription made for a dependency: the InstallPlan that made it.
pub const GENERATED_BY: &str = "olm.generated-by";
/// Annotation on the ConfigMap of an unpacked bundle: how its `binaryData` is packed; OLM knows
/// `gzip+base64`.
pub const CONTENT_ENCODING: &str = "olm.contentEncoding";
/// Annotation on a CatalogSource: template of `spec.image` with the cluster's version filled in.
pub const CATALOG_IMAGE_TEMPLATE: &str = "olm.catalogImageTemplate";
/// Annotation on a CatalogSource: priority class of its Pod, when `spec.grpcPodConfig` names none.
pub const PRIORITY_CLASS: &str = "operatorframework.io/priorityclass";
/// Annotation, value `true`, on a catalog Pod: the autoscaler may move it.
pub const SAFE_TO_EVICT: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";
/// Annotation on the Secret of a serving certificate and on the Pods that mount it: hash of the CA.
pub const CA_HASH: &str = "olmcahash";
/// Prefix of the annotations on a CRD that name the ClusterServiceVersions it was installed with;
/// see [`installed_alongside`].
pub const INSTALLED_ALONGSIDE_PREFIX: &str = "operatorframework.io/installed-alongside-";

/// Finalizer on a ClusterServiceVersion: its cluster-scoped objects are still to be removed.
pub const CSV_CLEANUP_FINALIZER: &str = "operators.coreos.com/csv-cleanup";
/// Finalizer on a Subscription whose policy is to remove what it installed. Ours.
pub const REMOVAL_FINALIZER: &str = "operators.coreos.com/removal";
/// Key of the CA certificate in the Secret of a serving certificate.
pub const CA_SECRET_KEY: &str = "olmCAKey";
/// Key of the CA certificate before that, in the Secret of a serving certificate. Ours: whoever calls
/// trusts both, so that Pods may go on with the former certificate until they are replaced.
pub const FORMER_CA_SECRET_KEY: &str = "chandlerFormerCA";

/// Kubernetes' limit for the part of a label key after the slash.
const LABEL_NAME_LIMIT: usize = 63;

/// Name of the Operator object of a package installed in a namespace.
pub fn operator_name(package: &str, namespace: &str) -> String {
    if namespace.is_empty() {
        package.to_owned()
    } else {
        format!("{package}.{namespace}")
    }
}

/// Label on every component of the operator of this name (see [`operator_name`]); its value is
/// empty.
///
/// The name is cut to what a label key may hold, without a trailing dot, underscore or hyphen.
pub fn component(operator: &str) -> String {
    let name = match operator
        .char_indices()
        .find(|(at, c)| at + c.len_utf8() > LABEL_NAME_LIMIT)
    {
        Some((end, _)) => operator[..end].trim_end_matches(['.', '_', '-']),
        None => operator,
    };
    format!("{COMPONENT_PREFIX}{name}")
}

/// Label on the namespaces that the OperatorGroup of this uid targets; its value is empty.
pub fn operator_group_member(uid: &str) -> String {
    format!("{OPERATOR_GROUP_PREFIX}{uid}")
}

/// Label on an OperatorGroup for an API that a member provides or requires; its value says which.
pub fn api(gvk: &GroupVersionKind) -> String {
    format!("{API_PREFIX}{:x}", fnv64a(&gvk.to_string()))
}

/// Label on the ClusterRole of a provided API, collected by the `admin`, `edit` or `view`
/// ClusterRole of an OperatorGroup.
pub fn aggregate_to_operator_group(gvk: &GroupVersionKind, role: &str) -> String {
    format!(
        "olm.opgroup.permissions/aggregate-to-{:x}-{role}",
        fnv64a(&gvk.to_string())
    )
}

/// Label, value `true`, on the ClusterRole of a provided API, collected by Kubernetes' own `admin`,
/// `edit` or `view` ClusterRole.
pub fn aggregate_to_cluster(role: &str) -> String {
    format!("rbac.authorization.k8s.io/aggregate-to-{role}")
}

/// Annotation on a CRD for one ClusterServiceVersion it was installed with; its value is
/// `namespace/name`.
pub fn installed_alongside(namespace: &str, csv: &str) -> String {
    format!(
        "{INSTALLED_ALONGSIDE_PREFIX}{:x}",
        fnv64a(&format!("{namespace}/{csv}"))
    )
}

/// The 64-bit FNV-1a hash.
fn fnv64a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn a_component_label_names_package_and_namespace() {
        let operator = operator_name("etcd", "operators");
        assert_eq!(component(&operator), "operators.coreos.com/etcd.operators");
        assert_eq!(
            component(&operator_name("etcd", "")),
            "operators.coreos.com/etcd"
        );
    }

    #[test]
    fn a_component_label_is_cut_to_63_characters() {
        let name = "a".repeat(63);
        assert_eq!(component(&name), format!("operators.coreos.com/{name}"));
        assert_eq!(
            component(&format!("{name}b")),
            format!("operators.coreos.com/{name}")
        );
    }

    #[test]
    fn a_cut_component_label_does_not_end_with_punctuation() {
        let name = format!("{}._-", "a".repeat(60));
        assert_eq!(
            component(&operator_name(&name, "ns")),
            format!("operators.coreos.com/{}", "a".repeat(60))
        );
    }

    #[test]
    fn a_short_component_label_keeps_its_punctuation() {
        assert_eq!(component("etcd-"), "operators.coreos.com/etcd-");
    }

    #[test]
    fn a_name_that_is_not_ascii_is_cut_between_characters() {
        let name = format!("{}é", "a".repeat(62));
        assert_eq!(
            component(&name),
            format!("operators.coreos.com/{}", "a".repeat(62))
        );
    }

    #[rstest]
    #[case("", 0xcbf2_9ce4_8422_2325)]
    #[case("a", 0xaf63_dc4c_8601_ec8c)]
    #[case("foobar", 0x8594_4171_f739_67e8)]
    fn hashes_follow_the_published_fnv_vectors(#[case] text: &str, #[case] hash: u64) {
        assert_eq!(fnv64a(text), hash);
    }

    #[test]
    fn hashed_keys_are_lower_case_hexadecimal_without_padding() {
        let gvk = GroupVersionKind::new("g", "v1", "K");
        let hash = format!("{:x}", fnv64a("K.v1.g"));
        assert_eq!(api(&gvk), format!("olm.api.{hash}"));
        assert_eq!(
            aggregate_to_operator_group(&gvk, "admin"),
            format!("olm.opgroup.permissions/aggregate-to-{hash}-admin")
        );
        let alongside = format!("{:x}", fnv64a("ns/csv.v1"));
        assert_eq!(
            installed_alongside("ns", "csv.v1"),
            format!("operatorframework.io/installed-alongside-{alongside}")
        );
    }
}
