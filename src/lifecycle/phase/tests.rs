//! Every row of OLM's table of transitions, and what is ours. A name such as
//! `SingleCSVNoneToPending/CRD` above a test is that of the row it shows.

mod fail_forward;
mod groups;
mod installing;
mod intersections;
mod ours;
mod pending;
mod replacing;
mod rest;
mod serving;
mod status;
mod updates;
mod world;
