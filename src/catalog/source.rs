//! Where catalogs come from.

pub mod bundle_tree;
pub mod config_map;
pub mod grpc;
