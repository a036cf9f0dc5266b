//! What the test binaries share.

#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "test code, although not in a test function"
)]
#![allow(unreachable_pub, reason = "the binaries include this module")]

pub mod case;
pub mod clerk;
pub mod cluster;
pub mod controllers;
pub mod csv;
mod custom_resources;
pub mod data;
mod dump;
pub mod expiring;
pub mod fleet;
pub mod gateway;
pub mod hub;
pub mod install;
pub mod inventory;
pub mod killing;
pub mod life;
pub mod load;
pub mod opm;
pub mod oracle;
pub mod packages;
pub mod process;
pub mod proxy;
pub mod random;
pub mod real;
pub mod registry;
pub mod scenario;
pub mod scene;
pub mod snapshot;
pub mod stand_in;
pub mod wares;
