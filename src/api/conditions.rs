//! Every phase, state, condition type and reason, in one place.
//!
//! A value that has a field of its own (a phase, a step's status, the reason of a
//! ClusterServiceVersion) is an enum. Types and reasons that live in the free strings of a
//! [`Condition`], or that are copied from one object to another, are constants in the module of
//! their kind.
use super::lenient::{empty, lenient};
use super::open_enum::open_enum;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Pattern of a condition's type: a name with an optional domain before a slash.
const TYPE_PATTERN: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
/// Pattern of a condition's reason.
const REASON_PATTERN: &str = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";

/// One aspect of the state of an object, as Kubernetes writes it.
///
/// The same as Kubernetes' own type, except that the time may be absent: administrators write
/// OperatorCondition overrides without it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Type of the condition, such as Upgradeable.
    #[serde(rename = "type", default, deserialize_with = "lenient")]
    #[schemars(required, !default, length(max = 316), extend("pattern" = TYPE_PATTERN))]
    pub type_: String,
    /// True, False or Unknown.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default, extend("enum" = ConditionStatus::KNOWN))]
    pub status: ConditionStatus,
    /// Generation of the object that the condition is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// When the status last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(required, !default)]
    pub last_transition_time: Option<Time>,
    /// One word that says why the status last changed.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default, length(min = 1, max = 1024), extend("pattern" = REASON_PATTERN))]
    pub reason: String,
    /// An explanation for people; may be empty.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default, length(max = 32768))]
    pub message: String,
}

/// One aspect of the state of an object, in the older form that OLM uses for bundle lookups and
/// for the components of an Operator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LegacyCondition {
    /// Type of the condition.
    #[serde(rename = "type", default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub type_: String,
    /// True, False or Unknown.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub status: ConditionStatus,
    /// One word that says why the status last changed.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub reason: String,
    /// An explanation for people.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "empty")]
    pub message: String,
    /// When the condition was last looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,
    /// When the status last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
}

open_enum! {
    /// Whether a condition holds.
    pub enum ConditionStatus {
        /// It holds.
        True = "True",
        /// It does not hold.
        False = "False",
        /// Nobody can tell.
        Unknown = "Unknown",
    }
}

open_enum! {
    /// State of the connection to the registry of a catalog, in the words of gRPC.
    pub enum ConnectionState {
        /// Not connected, because nobody asked anything.
        Idle = "IDLE",
        /// A connection is being made.
        Connecting = "CONNECTING",
        /// Connected; clients wait for this.
        Ready = "READY",
        /// The last attempt failed, another will follow.
        TransientFailure = "TRANSIENT_FAILURE",
        /// The connection was given up.
        Shutdown = "SHUTDOWN",
    }
}

open_enum! {
    /// Why a CatalogSource does not work.
    pub enum CatalogSourceReason {
        /// The spec makes no sense.
        SpecInvalid = "SpecInvalidError",
        /// The ConfigMap is missing or cannot be read.
        ConfigMap = "ConfigMapError",
        /// The registry cannot be started or asked.
        RegistryServer = "RegistryServerError",
        /// The polling interval is not a duration; the default is used.
        InvalidInterval = "InvalidIntervalError",
    }
}

/// Conditions of a CatalogSource, both about its image template, and Events.
pub mod catalog_source {
    /// Type: every placeholder of the template had a value.
    pub const TEMPLATES_HAVE_RESOLVED: &str = "TemplatesHaveResolved";
    /// Type: the message is the image the template resolved to.
    pub const RESOLVED_IMAGE: &str = "ResolvedImage";
    /// Reason of both: no placeholder is left.
    pub const ALL_TEMPLATES_RESOLVED: &str = "AllTemplatesResolved";
    /// Reason of both: a placeholder is unknown or has no value.
    pub const UNABLE_TO_RESOLVE: &str = "UnableToResolve";
    /// Reason of the Event that the catalog can be read again.
    pub const CATALOG_READY: &str = "CatalogReady";
}

open_enum! {
    /// How far a Subscription is.
    pub enum SubscriptionState {
        /// The upgrade failed.
        UpgradeFailed = "UpgradeFailed",
        /// An upgrade exists. No current release writes this.
        UpgradeAvailable = "UpgradeAvailable",
        /// An upgrade is under way or waits for approval.
        UpgradePending = "UpgradePending",
        /// The newest known version is installed.
        AtLatestKnown = "AtLatestKnown",
    }
}

open_enum! {
    /// Why a Subscription is in its state. No current release writes this.
    pub enum SubscriptionReason {
        /// The catalog cannot be used.
        InvalidCatalog = "InvalidCatalog",
        /// The upgrade succeeded.
        UpgradeSucceeded = "UpgradeSucceeded",
    }
}

open_enum! {
    /// Type of a Subscription's condition. OLM's name something wrong, so that True is bad; the last
    /// four are ours. `Resolved`, `Installed` and `Healthy` say that something is as it should be, so that
    /// `kubectl wait` can be used.
    pub enum SubscriptionConditionType {
        /// A catalog that could serve the Subscription does not work.
        CatalogSourcesUnhealthy = "CatalogSourcesUnhealthy",
        /// The InstallPlan of the Subscription is gone.
        InstallPlanMissing = "InstallPlanMissing",
        /// The InstallPlan of the Subscription is not finished.
        InstallPlanPending = "InstallPlanPending",
        /// The InstallPlan of the Subscription failed.
        InstallPlanFailed = "InstallPlanFailed",
        /// No set of versions satisfies the Subscriptions of the namespace.
        ResolutionFailed = "ResolutionFailed",
        /// Bundles are being fetched and unpacked.
        BundleUnpacking = "BundleUnpacking",
        /// A bundle could not be fetched or unpacked.
        BundleUnpackFailed = "BundleUnpackFailed",
        /// Package, channel or bundle is deprecated; sums up the three below.
        Deprecated = "Deprecated",
        /// The package is deprecated.
        PackageDeprecated = "PackageDeprecated",
        /// The channel is deprecated.
        ChannelDeprecated = "ChannelDeprecated",
        /// The installed version is deprecated.
        BundleDeprecated = "BundleDeprecated",
        /// It is known what the Subscription gets.
        Resolved = "Resolved",
        /// What the Subscription gets is installed, and nothing else is under way.
        Installed = "Installed",
        /// The installed operator runs.
        Healthy = "Healthy",
        /// The Subscription was deleted, and what it installed is being removed.
        Removing = "Removing",
    }
}

/// Reasons of a Subscription's conditions.
///
/// `InstallPlanPending` takes its reason from the InstallPlan's phase, `InstallPlanFailed` from the
/// InstallPlan's condition, and `Healthy` from the ClusterServiceVersion. `Resolved` and `Installed`
/// that are False also take the reason of the condition that says what is wrong.
pub mod subscription {
    /// `CatalogSourcesUnhealthy` is False: every catalog works.
    pub const ALL_CATALOG_SOURCES_HEALTHY: &str = "AllCatalogSourcesHealthy";
    /// `CatalogSourcesUnhealthy`: one catalog does not work or is missing.
    pub const UNHEALTHY_CATALOG_SOURCE_FOUND: &str = "UnhealthyCatalogSourceFound";
    /// `CatalogSourcesUnhealthy`: a catalog appeared.
    pub const CATALOG_SOURCES_ADDED: &str = "CatalogSourcesAdded";
    /// `CatalogSourcesUnhealthy`: the health of a catalog changed.
    pub const CATALOG_SOURCES_UPDATED: &str = "CatalogSourcesUpdated";
    /// `CatalogSourcesUnhealthy`: a catalog went away.
    pub const CATALOG_SOURCES_DELETED: &str = "CatalogSourcesDeleted";
    /// `CatalogSourcesUnhealthy`: there is no catalog at all.
    pub const NO_CATALOG_SOURCES_FOUND: &str = "NoCatalogSourcesFound";
    /// `InstallPlanMissing`: the object that the status names does not exist.
    pub const REFERENCED_INSTALL_PLAN_NOT_FOUND: &str = "ReferencedInstallPlanNotFound";
    /// `InstallPlanPending`: the InstallPlan has no phase yet.
    pub const INSTALL_PLAN_NOT_YET_RECONCILED: &str = "InstallPlanNotYetReconciled";
    /// `InstallPlanFailed`: the InstallPlan does not say why.
    pub const INSTALL_PLAN_FAILED: &str = "InstallPlanFailed";
    /// `ResolutionFailed`: the requirements contradict each other; trying again does not help.
    pub const CONSTRAINTS_NOT_SATISFIABLE: &str = "ConstraintsNotSatisfiable";
    /// `ResolutionFailed`: something went wrong on the way; it is tried again.
    pub const ERROR_PREVENTED_RESOLUTION: &str = "ErrorPreventedResolution";
    /// `BundleUnpacking`: it is under way.
    pub const UNPACKING_IN_PROGRESS: &str = "UnpackingInProgress";
    /// `BundleUnpackFailed`: fetching or unpacking failed.
    pub const BUNDLE_UNPACK_FAILED: &str = "BundleUnpackFailed";
    /// `BundleUnpackFailed`: the content of the bundle is unusable.
    pub const ERROR_PREVENTED_UNPACKING: &str = "ErrorPreventedUnpacking";
    /// `BundleUnpackFailed`: the InstallPlan could not be written.
    pub const ENSURE_INSTALL_PLAN_FAILED: &str = "EnsureInstallPlanFailed";
    /// `Resolved` is True: there is a solution.
    pub const SOLUTION_FOUND: &str = "SolutionFound";
    /// `Resolved` is Unknown: nobody has looked for a solution yet.
    pub const RESOLUTION_PENDING: &str = "ResolutionPending";
    /// `Resolved` is False: a field of the Subscription cannot be understood.
    pub const INVALID_SPEC: &str = "InvalidSpec";
    /// `Resolved` is False: an annotation of the OperatorGroup cannot be understood.
    pub const INVALID_OPERATOR_GROUP: &str = "InvalidOperatorGroup";
    /// `Installed` is True: the ClusterServiceVersion is there.
    pub const CSV_PRESENT: &str = "ClusterServiceVersionPresent";
    /// `Installed` and `Healthy` are False: somebody deleted the ClusterServiceVersion.
    pub const CSV_MISSING: &str = "ClusterServiceVersionMissing";
    /// `Installed` is False, `Healthy` is Unknown: nothing was installed so far.
    pub const NOT_INSTALLED: &str = "NotInstalled";
    /// `Installed` is False: it is known what to install, and the InstallPlan is about to be made.
    pub const INSTALL_PLAN_AWAITED: &str = "InstallPlanAwaited";
    /// `Installed` is Unknown: something is installed, but what should be is not known.
    pub const NOT_RESOLVED: &str = "NotResolved";
    /// `Removing`: somebody else needs what is to be removed.
    pub const STILL_NEEDED: &str = "StillNeeded";
    /// `Removing`: what is to be removed cannot be looked at.
    pub const NOT_READABLE: &str = "NotReadable";
    /// `Removing`: an InstallPlan is being carried out.
    pub const INSTALL_PLAN_UNDERWAY: &str = "InstallPlanUnderway";
    /// `Removing`: custom resources have to be gone first.
    pub const CUSTOM_RESOURCES_PRESENT: &str = "CustomResourcesPresent";
    /// `Removing`: the ClusterServiceVersion and what it has are on their way out.
    pub const OPERATOR_PRESENT: &str = "OperatorPresent";
    /// `Removing`: CRDs are on their way out.
    pub const CRDS_PRESENT: &str = "CustomResourceDefinitionsPresent";
    /// `Healthy` is Unknown: the operator is on its way to run, or to be replaced.
    pub const PROGRESSING: &str = "Progressing";
}

open_enum! {
    /// How far an InstallPlan is.
    pub enum InstallPlanPhase {
        /// The steps are being found. No current release writes this.
        Planning = "Planning",
        /// Waits until somebody sets `spec.approved`.
        RequiresApproval = "RequiresApproval",
        /// The steps are being applied.
        Installing = "Installing",
        /// Every step is applied.
        Complete = "Complete",
        /// A step failed for good.
        Failed = "Failed",
    }
}

open_enum! {
    /// Type of an InstallPlan's condition.
    pub enum InstallPlanConditionType {
        /// The steps are known.
        Resolved = "Resolved",
        /// The steps are applied.
        Installed = "Installed",
    }
}

open_enum! {
    /// Reason of an InstallPlan's condition.
    pub enum InstallPlanReason {
        /// The plan is not known.
        PlanUnknown = "PlanUnknown",
        /// The plan may not be carried out, for example without a ServiceAccount.
        InstallCheckFailed = "InstallCheckFailed",
        /// Dependencies contradict each other.
        DependenciesConflict = "DependenciesConflict",
        /// A step failed.
        InstallComponentFailed = "InstallComponentFailed",
    }
}

/// Reasons of the Events about an InstallPlan.
pub mod install_plan {
    /// The API server took an object, and warned of something.
    pub const APPLIED_WITH_WARNINGS: &str = "AppliedWithWarnings";
    /// A CRD was replaced, and something about its objects is doubtful.
    pub const CRD_VALIDATION: &str = "CRDValidation";
    /// All steps are done.
    pub const INSTALL_PLAN_COMPLETE: &str = "InstallPlanComplete";
    /// An object was refused that the operator does not depend on.
    pub const STEP_LEFT_OUT: &str = "StepLeftOut";
}

open_enum! {
    /// How far one step of an InstallPlan is.
    pub enum StepStatus {
        /// Not looked at yet.
        Unknown = "Unknown",
        /// The object does not exist.
        NotPresent = "NotPresent",
        /// The object existed before and is up to date.
        Present = "Present",
        /// The object was created.
        Created = "Created",
        /// The object was not created, because the step is optional.
        NotCreated = "NotCreated",
        /// The cluster does not serve the API of the object yet.
        WaitingForApi = "WaitingForApi",
        /// Objects of this kind cannot be installed.
        UnsupportedResource = "UnsupportedResource",
    }
}

/// Conditions of a bundle lookup in an InstallPlan.
///
/// `BundleLookupFailed` takes its reason from the Job that unpacked the bundle.
pub mod bundle_lookup {
    /// Type: the steps of the bundle are not in the plan yet.
    pub const NOT_PERSISTED: &str = "BundleLookupNotPersisted";
    /// Type: the bundle is not unpacked yet.
    pub const PENDING: &str = "BundleLookupPending";
    /// Type: the bundle cannot be unpacked.
    pub const FAILED: &str = "BundleLookupFailed";
    /// Reason of [`NOT_PERSISTED`]: the bundle is not unpacked.
    pub const BUNDLE_NOT_UNPACKED: &str = "BundleNotUnpacked";
    /// Reason of [`PENDING`]: the Job does not exist yet.
    pub const JOB_NOT_STARTED: &str = "JobNotStarted";
    /// Reason of [`PENDING`]: the Job is not finished.
    pub const JOB_INCOMPLETE: &str = "JobIncomplete";
    /// Reason of [`PENDING`]: the CatalogSource is gone.
    pub const CATALOG_SOURCE_MISSING: &str = "CatalogSourceMissing";
    /// Reason of [`FAILED`]: the Job took too long.
    pub const DEADLINE_EXCEEDED: &str = "DeadlineExceeded";
    /// Reason of [`FAILED`]: the Job failed too often.
    pub const BACKOFF_LIMIT_EXCEEDED: &str = "BackoffLimitExceeded";
}

open_enum! {
    /// How far a ClusterServiceVersion is.
    pub enum CsvPhase {
        /// Requirements are missing.
        Pending = "Pending",
        /// Requirements are met, nothing is installed yet.
        InstallReady = "InstallReady",
        /// The operator is being installed.
        Installing = "Installing",
        /// The operator runs.
        Succeeded = "Succeeded",
        /// The operator could not be installed, or broke.
        Failed = "Failed",
        /// The state cannot be told.
        Unknown = "Unknown",
        /// A newer version is taking over.
        Replacing = "Replacing",
        /// A newer version has taken over; this one is about to go.
        Deleting = "Deleting",
    }
}

open_enum! {
    /// Why a ClusterServiceVersion is in its phase.
    pub enum CsvReason {
        /// Requirements were not looked at yet.
        RequirementsUnknown = "RequirementsUnknown",
        /// Requirements are missing.
        RequirementsNotMet = "RequirementsNotMet",
        /// Requirements are met.
        AllRequirementsMet = "AllRequirementsMet",
        /// Another operator owns one of its APIs.
        OwnerConflict = "OwnerConflict",
        /// A part could not be installed; it is tried again.
        InstallComponentFailed = "InstallComponentFailed",
        /// A part could not be installed; trying again does not help.
        InstallComponentFailedNoRetry = "InstallComponentFailedNoRetry",
        /// The install strategy cannot be read.
        InvalidInstallStrategy = "InvalidInstallStrategy",
        /// The Deployments are not available yet.
        InstallWaiting = "InstallWaiting",
        /// Everything is installed and available.
        InstallSucceeded = "InstallSucceeded",
        /// The Deployments did not become available.
        InstallCheckFailed = "InstallCheckFailed",
        /// A part that worked stopped working.
        ComponentUnhealthy = "ComponentUnhealthy",
        /// A newer version is taking over.
        BeingReplaced = "BeingReplaced",
        /// A newer version has taken over.
        Replaced = "Replaced",
        /// The spec changed, it has to be installed again.
        NeedsReinstall = "NeedsReinstall",
        /// The serving certificates are about to expire.
        NeedsCertRotation = "NeedsCertRotation",
        /// An object that belongs to an APIService is wrong.
        APIServiceResourceIssue = "APIServiceResourceIssue",
        /// The objects of the APIServices have to be installed again.
        APIServiceResourcesNeedReinstall = "APIServiceResourcesNeedReinstall",
        /// An APIService could not be installed.
        APIServiceInstallFailed = "APIServiceInstallFailed",
        /// This is a copy; the operator runs in another namespace.
        Copied = "Copied",
        /// The list of install modes makes no sense.
        InvalidInstallModes = "InvalidInstallModes",
        /// The OperatorGroup selects no namespace.
        NoTargetNamespaces = "NoTargetNamespaces",
        /// The operator does not support the namespaces of the OperatorGroup.
        UnsupportedOperatorGroup = "UnsupportedOperatorGroup",
        /// The namespace has no OperatorGroup.
        NoOperatorGroup = "NoOperatorGroup",
        /// The namespace has more than one OperatorGroup.
        TooManyOperatorGroups = "TooManyOperatorGroups",
        /// An OperatorGroup with common namespaces provides the same API.
        InterOperatorGroupOwnerConflict = "InterOperatorGroupOwnerConflict",
        /// The OperatorGroup fixes its APIs and lacks one of these.
        CannotModifyStaticOperatorGroupProvidedAPIs = "CannotModifyStaticOperatorGroupProvidedAPIs",
        /// Objects in the cluster changed, everything is checked again.
        DetectedClusterChange = "DetectedClusterChange",
        /// A webhook description makes no sense.
        InvalidWebhookDescription = "InvalidWebhookDescription",
        /// The installed operator says that it must not be upgraded now.
        OperatorConditionNotUpgradeable = "OperatorConditionNotUpgradeable",
        /// It was deleted, and something that goes with it is still there. No current release of OLM writes this.
        WaitingOnCleanup = "WaitingOnCleanup",
    }
}

open_enum! {
    /// State of a requirement of a ClusterServiceVersion, or of what a requirement depends on.
    pub enum RequirementState {
        /// It exists.
        Present = "Present",
        /// It does not exist.
        NotPresent = "NotPresent",
        /// It exists, but not in the right form.
        PresentNotSatisfied = "PresentNotSatisfied",
        /// The CRD exists but is not served.
        PresentNotAvailable = "PresentNotAvailable",
        /// The Deployment behind an owned APIService exists.
        DeploymentFound = "DeploymentFound",
        /// The Deployment behind an owned APIService is missing.
        DeploymentNotFound = "DeploymentNotFound",
        /// A permission is granted.
        Satisfied = "Satisfied",
        /// A permission is missing.
        NotSatisfied = "NotSatisfied",
    }
}

/// Conditions of an OperatorGroup.
pub mod operator_group {
    /// Type: the namespace has more than one OperatorGroup.
    pub const MULTIPLE_OPERATOR_GROUP: &str = "MultipleOperatorGroup";
    /// Type: the ServiceAccount of the group is unusable.
    pub const SERVICE_ACCOUNT: &str = "OperatorGroupServiceAccount";
    /// Reason of [`MULTIPLE_OPERATOR_GROUP`].
    pub const MULTIPLE_OPERATOR_GROUPS_FOUND: &str = "MultipleOperatorGroupsFound";
    /// Type: something is wrong with the namespaces of the group. Not known to OLM, which only logs
    /// it.
    pub const TARGET_NAMESPACES: &str = "OperatorGroupTargetNamespaces";
    /// Reason of [`SERVICE_ACCOUNT`].
    pub const SERVICE_ACCOUNT_NOT_FOUND: &str = "ServiceAccountNotFound";
    /// Reason of [`TARGET_NAMESPACES`]: they cannot be told.
    pub const TARGET_NAMESPACES_INVALID: &str = "TargetNamespacesInvalid";
    /// Reason of [`TARGET_NAMESPACES`]: one of them cannot be labelled.
    pub const TARGET_NAMESPACES_REFUSED: &str = "TargetNamespacesRefused";
    /// Reason of [`TARGET_NAMESPACES`]: there is no namespace of a name that is given.
    pub const TARGET_NAMESPACES_NOT_FOUND: &str = "TargetNamespacesNotFound";
}

/// Conditions an operator reports in its OperatorCondition.
pub mod operator_condition {
    /// Type: the operator may be upgraded now.
    pub const UPGRADEABLE: &str = "Upgradeable";
}

/// Conditions of the OLMConfig.
pub mod olm_config {
    /// Type: ClusterServiceVersions are not copied.
    pub const DISABLED_COPIED_CSVS: &str = "DisabledCopiedCSVs";
    /// Reason: they are copied.
    pub const COPIED_CSVS_ENABLED: &str = "CopiedCSVsEnabled";
    /// Reason: they are not copied.
    pub const COPIED_CSVS_DISABLED: &str = "CopiedCSVsDisabled";
}
