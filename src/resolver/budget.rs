//! How much work a question is worth.

use std::cell::Cell;

/// Steps that are left. Steps are counted, and not seconds, so that the answer is the same on a slow
/// machine as on a fast one.
#[derive(Debug)]
pub(super) struct Budget {
    whole: usize,
    left: Cell<usize>,
}

impl Budget {
    pub(super) fn new(steps: usize) -> Self {
        Self {
            whole: steps,
            left: Cell::new(steps),
        }
    }

    /// Takes steps; `false` once there are not enough, and then for ever.
    pub(super) fn spend(&self, steps: usize) -> bool {
        let left = self.left.get().saturating_sub(steps);
        self.left.set(left);
        left > 0
    }

    /// Whether there was not enough.
    pub(super) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }

    /// Whether what was done could be done so often with as many steps as there were.
    pub(super) fn affords(&self, times: usize) -> bool {
        self.spent().saturating_mul(times) <= self.whole
    }

    /// How many steps were taken.
    pub(super) fn spent(&self) -> usize {
        self.whole - self.left.get()
    }
}

/// What the search for a solution, and the proof that there is none, may take for one group of
/// Subscriptions. A sound catalog takes a thousandth of it; problems that are as hard as this are made
/// to be hard, and are given up after a second or two.
#[derive(Debug)]
pub(super) struct Effort {
    /// Candidates that are looked at.
    pub(super) search: Budget,
    /// Sets that pubgrub compares.
    pub(super) proof: Budget,
}

impl Effort {
    pub(super) fn new() -> Self {
        Self {
            search: Budget::new(20_000_000),
            proof: Budget::new(10_000_000),
        }
    }
}
