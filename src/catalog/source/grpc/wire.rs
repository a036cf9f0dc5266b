//! The messages of `api.Registry` that we send and receive; unknown fields are passed over.

use prost::Message;

/// `ListPackageRequest` and `ListBundlesRequest`: nothing to say.
#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct Empty {}

#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct PackageName {
    #[prost(string, tag = "1")]
    pub(super) name: String,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct GetPackageRequest {
    #[prost(string, tag = "1")]
    pub(super) name: String,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct GetBundleInChannelRequest {
    #[prost(string, tag = "1")]
    pub(super) package: String,
    #[prost(string, tag = "2")]
    pub(super) channel: String,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct Package {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, repeated, tag = "2")]
    pub(super) channels: Vec<Channel>,
    #[prost(string, tag = "3")]
    pub(super) default_channel: String,
    #[prost(message, optional, tag = "4")]
    pub(super) deprecation: Option<Deprecation>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct Channel {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    /// The bundle at its head.
    #[prost(string, tag = "2")]
    pub(super) head: String,
    #[prost(message, optional, tag = "3")]
    pub(super) deprecation: Option<Deprecation>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct Deprecation {
    #[prost(string, tag = "1")]
    pub(super) message: String,
}

/// A bundle in one of its channels.
#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct Bundle {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) package: String,
    #[prost(string, tag = "3")]
    pub(super) channel: String,
    #[prost(string, tag = "4")]
    pub(super) csv: String,
    #[prost(string, repeated, tag = "5")]
    pub(super) objects: Vec<String>,
    #[prost(string, tag = "6")]
    pub(super) image: String,
    #[prost(message, repeated, tag = "7")]
    pub(super) provided_apis: Vec<Api>,
    #[prost(message, repeated, tag = "8")]
    pub(super) required_apis: Vec<Api>,
    #[prost(string, tag = "9")]
    pub(super) version: String,
    #[prost(string, tag = "10")]
    pub(super) skip_range: String,
    #[prost(message, repeated, tag = "11")]
    pub(super) dependencies: Vec<TypedValue>,
    #[prost(message, repeated, tag = "12")]
    pub(super) properties: Vec<TypedValue>,
    #[prost(string, tag = "13")]
    pub(super) replaces: String,
    #[prost(string, repeated, tag = "14")]
    pub(super) skips: Vec<String>,
    #[prost(message, optional, tag = "15")]
    pub(super) deprecation: Option<Deprecation>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct Api {
    #[prost(string, tag = "1")]
    pub(super) group: String,
    #[prost(string, tag = "2")]
    pub(super) version: String,
    #[prost(string, tag = "3")]
    pub(super) kind: String,
}

/// A property or a dependency: its value is JSON.
#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct TypedValue {
    #[prost(string, tag = "1")]
    pub(super) kind: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}
