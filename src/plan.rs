//! From a solution to a plan: what has to happen in the cluster, and whether it may.
//!
//! ```text
//! Solution + Contents of its bundles ─ build ─▶ InstallPlan
//! InstallPlan + Contents ─ object_of ─▶ object ─ prepare ─▶ what is applied, in order
//! statuses of the steps ─ progress ─▶ phase and conditions
//! ```
//!
//! A plan is all that is left of a decision: with it and the bundles it names by digest, every object
//! can be had again, also by a process that knows nothing else.
//!
//! Everything here is a function of what was read before: no client, no clock, no file. Only [`apply`]
//! talks to the cluster.

pub mod apply;
pub mod approval;
pub mod build;
pub mod contents;
pub mod crd;
pub mod name;
pub mod object;
pub mod order;
pub mod patience;
pub mod progress;
pub mod rbac;
pub mod reference;
pub mod retention;
pub mod steady;
pub mod step;
pub mod subscription;

pub use approval::{Approvals, decide};
pub use build::{BuildError, BundleInput, Input, Source, build};
pub use contents::{Contents, ContentsError};
pub use name::is_terminal;
pub use object::{ObjectError, Placement, prepare};
pub use patience::Patience;
pub use progress::Trouble;
pub use reference::{Manifest, ManifestError};
pub use step::{StepError, object_of};
