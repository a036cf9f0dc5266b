//! Sets of whole numbers, for pubgrub.

use std::cell::Cell;
use std::fmt;
use std::ops::Bound;

use pubgrub::{Ranges, VersionSet};

/// A set of whole numbers, in which neighbours are one piece.
///
/// To [`Ranges`] there may always be something between 1 and 2, so that `{1, 2}` has two pieces and
/// what holds for ten thousand versions ten thousand. Here 1 stands for everything from 1 to before
/// 2, and `{1, 2}` for everything from 1 to before 3; and 0 for everything before 1, since nothing
/// is less.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Numbers(Ranges<u32>);

impl Numbers {
    /// The number, if it is the only one.
    pub(super) fn only(&self) -> Option<u32> {
        let mut pieces = self.0.iter();
        let (Some(piece), None) = (pieces.next(), pieces.next()) else {
            return None;
        };
        match piece {
            (Bound::Included(first), Bound::Excluded(behind)) => {
                (first.checked_add(1) == Some(*behind)).then_some(*first)
            }
            (Bound::Unbounded, Bound::Excluded(1)) => Some(0),
            _ => None,
        }
    }

    /// The smallest number.
    pub(super) fn first(&self) -> Option<u32> {
        match self.0.iter().next()? {
            (Bound::Included(first), _) => Some(*first),
            _ => Some(0),
        }
    }
}

thread_local! {
    /// What pubgrub does is comparing sets, and it says of nothing else how much it does.
    static COMPARISONS: Cell<usize> = const { Cell::new(0) };
}

/// How many comparisons this thread has done. Only differences tell anything.
pub(super) fn comparisons() -> usize {
    COMPARISONS.get()
}

fn count() {
    COMPARISONS.set(COMPARISONS.get().wrapping_add(1));
}

impl VersionSet for Numbers {
    type V = u32;

    fn empty() -> Self {
        Self(Ranges::empty())
    }

    fn singleton(number: u32) -> Self {
        Self(match (number, number.checked_add(1)) {
            (0, _) => Ranges::strictly_lower_than(1_u32),
            (_, Some(behind)) => Ranges::between(number, behind),
            (_, None) => Ranges::higher_than(number),
        })
    }

    fn complement(&self) -> Self {
        count();
        Self(self.0.complement())
    }

    fn intersection(&self, other: &Self) -> Self {
        count();
        Self(self.0.intersection(&other.0))
    }

    fn contains(&self, number: &u32) -> bool {
        count();
        self.0.contains(number)
    }

    fn full() -> Self {
        Self(Ranges::full())
    }

    fn union(&self, other: &Self) -> Self {
        count();
        Self(self.0.union(&other.0))
    }

    fn is_disjoint(&self, other: &Self) -> bool {
        count();
        self.0.is_disjoint(&other.0)
    }

    fn subset_of(&self, other: &Self) -> bool {
        count();
        self.0.subset_of(&other.0)
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: impl IntoIterator<Item = u32>) -> Numbers {
        let sets = numbers.into_iter().map(Numbers::singleton);
        sets.fold(Numbers::empty(), |all, one| all.union(&one))
    }

    #[test]
    fn neighbours_are_one_piece() {
        assert_eq!(of(0..10_000).0.iter().count(), 1);
        assert_eq!(of([1, 3]).0.iter().count(), 2);
    }

    #[test]
    fn a_set_knows_its_smallest_and_its_only_number() {
        assert_eq!(of([0]).only(), Some(0));
        assert_eq!(of([7]).only(), Some(7));
        assert_eq!(of([7, 8]).only(), None);
        assert_eq!(Numbers::empty().only(), None);
        assert_eq!(Numbers::full().only(), None);
        assert_eq!(of([9, 7]).first(), Some(7));
        assert_eq!(Numbers::full().first(), Some(0));
        assert_eq!(Numbers::empty().first(), None);
        assert_eq!(of([0, 1]).complement().first(), Some(2));
        assert_eq!(of([0]).complement().first(), Some(1));
        assert_eq!(of([0]).complement().complement(), of([0]));
    }

    #[test]
    fn the_greatest_number_is_a_number_like_others() {
        let greatest = Numbers::singleton(u32::MAX);
        assert!(greatest.contains(&u32::MAX));
        assert!(!greatest.complement().contains(&u32::MAX));
    }
}
