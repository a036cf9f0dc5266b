//! How an installation stands: what the phase of a ClusterServiceVersion is decided by.

/// How what the strategy asks for compares to what the cluster has.
///
/// Messages are OLM's without the words that a phase puts before them (`installing: …`,
/// `install failed: …`, `apiServices not installed: …`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installation {
    /// Something is missing or differs from what is asked for; installing (again) mends it.
    Differs {
        /// What it is.
        message: String,
    },
    /// All is there as asked for, and is on its way to be ready.
    Waiting {
        /// What is waited for.
        message: String,
        /// Whether its Pods fail: waiting helps only if they come to something by themselves.
        is_failing: bool,
    },
    /// It will not become ready by waiting (`ProgressDeadlineExceeded`).
    Stuck {
        /// What did not become ready.
        message: String,
    },
    /// All is there and ready.
    Ready,
}

/// The certificates of webhooks and owned APIServices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificates {
    /// The operator has neither webhooks nor APIs of its own.
    Unneeded,
    /// All are there and good for a while.
    Fine,
    /// One is about to expire.
    Due,
    /// One is not there or of no use.
    Missing {
        /// Which, and why.
        message: String,
    },
}

/// The owned APIServices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiServices {
    /// All are served, or there are none.
    Fine,
    /// One is not served.
    Unavailable {
        /// Which, and why.
        message: String,
        /// Whether Pods are being moved or rolled: it is worth waiting.
        since_disruption: bool,
    },
}
