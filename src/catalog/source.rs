//! Where catalogs come from.

pub mod bundle_tree;
pub mod grpc;
