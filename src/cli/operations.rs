//! What commands and visitors of the page have done in a cluster: looked at first, done then, with the
//! rights of whoever asks.

pub(super) mod approve;
pub(super) mod install;
pub(super) mod uninstall;
