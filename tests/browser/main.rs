//! The page in Debian's Chromium. `make test-browser` brings what these tests need.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may panic as tests do"
)]

#[path = "../support/support.rs"]
mod support;

mod access;
mod browse;
mod gophers;
mod hostile;
mod installed;
mod looks;
mod package;
mod real;
mod stage;
mod stock;
mod wire;
mod writes;
