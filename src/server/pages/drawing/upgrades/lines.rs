//! The lines between versions.

use std::collections::{BTreeMap, BTreeSet};

use super::lanes::Lane;
use super::{Path, SIDE, colour, lane_x, row_middle};
use crate::server::hub::views::{UpgradeGraph, UpgradeKind};

/// How far a curve reaches up or down.
const BEND: usize = 8;

/// The lines of all lanes. A version may skip a hundred others, and so may the next: what passes
/// versions runs along the side of the lane, where lines of a kind become one, and each version has
/// a curve out to it or back.
pub(super) fn lines(
    graph: &UpgradeGraph,
    lanes: &[Lane],
    places: &BTreeMap<&str, usize>,
) -> Vec<Path> {
    let mut paths = BTreeSet::new();
    for (at, lane) in lanes.iter().enumerate() {
        let mut sides: BTreeMap<UpgradeKind, Side> = BTreeMap::new();
        for edge in &graph.edges {
            let is_here = edge
                .channels
                .iter()
                .any(|channel| lane.channels.contains(channel));
            let ends = (places.get(edge.from.as_str()), places.get(edge.to.as_str()));
            let (true, (Some(&from), Some(&to))) = (is_here, ends) else {
                continue;
            };
            let has_both = lane.rows.contains(&from) && lane.rows.contains(&to);
            if from == to || !has_both {
                continue;
            }
            let between = lane.rows.range(from.min(to) + 1..from.max(to));
            if edge.kind == UpgradeKind::Replaces && between.count() == 0 {
                let shape = format!("M{} {}V{}", lane_x(lane), row_middle(from), row_middle(to));
                paths.insert(Path {
                    class: class(at, edge.kind),
                    shape,
                });
            } else {
                sides.entry(edge.kind).or_default().add(from, to);
            }
        }
        for (kind, side) in sides {
            let shapes = side.shapes(lane_x(lane)).into_iter();
            paths.extend(shapes.map(|shape| Path {
                class: class(at, kind),
                shape,
            }));
        }
    }
    paths.into_iter().collect()
}

fn class(lane: usize, kind: UpgradeKind) -> String {
    let style = match kind {
        UpgradeKind::Replaces => "",
        UpgradeKind::Skips => " skips",
        UpgradeKind::SkipRange => " range",
    };
    format!("edge lane-{}{style}", colour(lane))
}

/// Lines of a kind beside a lane, by rows.
#[derive(Default)]
struct Side {
    /// Rows and whether the line goes on above them.
    ends: BTreeSet<(usize, bool)>,
    /// From where above to where below it runs.
    runs: Vec<(usize, usize)>,
}

impl Side {
    fn add(&mut self, from: usize, to: usize) {
        let (top, bottom) = (from.min(to), from.max(to));
        self.ends.insert((top, false));
        self.ends.insert((bottom, true));
        self.runs.push((top, bottom));
    }

    fn shapes(mut self, x: usize) -> Vec<String> {
        let side = x + SIDE;
        self.runs.sort_unstable();
        let mut merged: Vec<(usize, usize)> = Vec::new();
        for (top, bottom) in self.runs {
            match merged.last_mut() {
                Some((_, last)) if top < *last => *last = bottom.max(*last),
                _ => merged.push((top, bottom)),
            }
        }
        let runs = merged.into_iter().map(|(top, bottom)| {
            format!(
                "M{side} {}V{}",
                row_middle(bottom) - BEND,
                row_middle(top) + BEND
            )
        });
        let ends = self.ends.into_iter().map(|(row, goes_up)| {
            let y = row_middle(row);
            let bend = if goes_up { y - BEND } else { y + BEND };
            format!("M{x} {y}Q{side} {y} {side} {bend}")
        });
        runs.chain(ends).collect()
    }
}
