//! Where catalogs come from.

pub mod grpc;
