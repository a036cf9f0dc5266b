//! Tests on a real registry.
