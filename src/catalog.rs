//! Catalogs: what operators there are, in which versions, and how one leads to the next.

pub mod diff;
pub mod fbc;
pub mod graph;
pub mod index;
pub mod search;
pub mod source;
pub mod store;
pub mod template;
pub mod text;
