//! How versions lead to each other, drawn like the history of a repository: a row for each version,
//! the newest on top, and a lane for each channel.
//!
//! Channels that list the same versions in the same way share a lane, and lanes that are not beside each
//! other share a column. `replaces` is a line from
//! dot to dot; what skips is led along the side of the lane, because a version may skip
//! hundreds. A long history is folded where nothing is to be seen.

mod fold;
mod lanes;
mod lines;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::server::hub::views::{UpgradeGraph, UpgradeKind, UpgradeNode};
use fold::{Line, folded};
use lanes::{Lane, lanes, packed};
use lines::lines;

const ROW: usize = 28;
const LANE: usize = 26;
const MARGIN: usize = 18;
/// How far from its lane a skip runs.
const SIDE: usize = 11;
/// The width of a character of a version, about.
const LETTER: usize = 8;
/// Up to so many columns, all texts stand below each other.
const ALIGNED: usize = 4;
/// So many colours `graph.css` has for lanes.
const COLOURS: usize = 10;
/// So many channels are named beside a version.
const NAMED: usize = 3;

/// A graph with places.
#[derive(Debug)]
pub(in crate::server::pages) struct UpgradeDrawing {
    pub(in crate::server::pages) width: usize,
    pub(in crate::server::pages) height: usize,
    pub(in crate::server::pages) lanes: Vec<LaneName>,
    pub(in crate::server::pages) rows: Vec<Row>,
    pub(in crate::server::pages) edges: Vec<Path>,
    /// How many versions are folded away.
    pub(in crate::server::pages) folded: usize,
    /// Whether it has such lines, for the legend.
    pub(in crate::server::pages) has_skips: bool,
    pub(in crate::server::pages) has_ranges: bool,
}

/// A lane, for the legend.
#[derive(Debug)]
pub(in crate::server::pages) struct LaneName {
    pub(in crate::server::pages) colour: usize,
    pub(in crate::server::pages) channels: String,
}

/// A version, or a fold.
#[derive(Debug)]
pub(in crate::server::pages) struct Row {
    pub(in crate::server::pages) top: usize,
    pub(in crate::server::pages) middle: usize,
    pub(in crate::server::pages) baseline: usize,
    pub(in crate::server::pages) text_x: usize,
    pub(in crate::server::pages) text: String,
    /// The version to choose; empty for a fold, or if there is nothing to choose.
    pub(in crate::server::pages) version: String,
    pub(in crate::server::pages) class: String,
    pub(in crate::server::pages) dots: Vec<Dot>,
    pub(in crate::server::pages) tags: Vec<Tag>,
    pub(in crate::server::pages) is_fold: bool,
}

#[derive(Debug)]
pub(in crate::server::pages) struct Dot {
    pub(in crate::server::pages) x: usize,
    pub(in crate::server::pages) colour: usize,
    pub(in crate::server::pages) is_head: bool,
    pub(in crate::server::pages) channels: String,
}

/// A word beside a version.
#[derive(Debug)]
pub(in crate::server::pages) struct Tag {
    pub(in crate::server::pages) x: usize,
    pub(in crate::server::pages) text: String,
    pub(in crate::server::pages) class: String,
}

/// A line of the drawing.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::server::pages) struct Path {
    pub(in crate::server::pages) class: String,
    pub(in crate::server::pages) shape: String,
}

impl UpgradeDrawing {
    /// Draws a graph. `heads` says which channels a bundle is the head of; the chosen bundle is
    /// marked and never folded away.
    pub(in crate::server::pages) fn of(
        graph: &UpgradeGraph,
        heads: &BTreeMap<String, Vec<String>>,
        default_channel: &str,
        chosen: &str,
        unfold: bool,
    ) -> Self {
        let mut lanes = lanes(graph, default_channel);
        let story = folded(graph, heads, chosen, unfold);
        let places = places(&story);
        let columns = packed(&mut lanes, &places);
        let mut drawing = Self {
            width: 0,
            height: story.len() * ROW + 8,
            lanes: lanes.iter().enumerate().map(LaneName::of).collect(),
            rows: Vec::new(),
            edges: Vec::new(),
            folded: story.iter().map(Line::hidden).sum(),
            has_skips: graph
                .edges
                .iter()
                .any(|edge| edge.kind == UpgradeKind::Skips),
            has_ranges: graph
                .edges
                .iter()
                .any(|edge| edge.kind == UpgradeKind::SkipRange),
        };
        for (at, line) in story.iter().enumerate() {
            let text_x = MARGIN + LANE * text_column(&lanes, columns, at);
            let row = match line {
                Line::Version(node) => {
                    let heads = heads.get(&node.name).map_or(&[][..], Vec::as_slice);
                    Row::of_version(at, node, &lanes, heads, text_x, node.name == chosen)
                }
                Line::Fold(nodes) => Row::of_fold(at, nodes.len(), text_x),
            };
            drawing.width = drawing.width.max(row.right());
            drawing.rows.push(row);
        }
        drawing.edges = lines(graph, &lanes, &places);
        drawing
    }
}

/// Where the text of a row begins. Texts stand below each other, unless that is too far from the
/// lanes of most of them.
fn text_column(lanes: &[Lane], columns: usize, row: usize) -> usize {
    if columns <= ALIGNED {
        return columns;
    }
    let here = lanes.iter().filter(|lane| lane.spans(row));
    here.map(|lane| lane.column + 1).max().unwrap_or(1)
}

/// The row of each bundle; those that are folded away have that of the fold.
fn places<'a>(lines: &[Line<'a>]) -> BTreeMap<&'a str, usize> {
    let mut places = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        match line {
            Line::Version(node) => {
                places.insert(node.name.as_str(), at);
            }
            Line::Fold(nodes) => places.extend(nodes.iter().map(|node| (node.name.as_str(), at))),
        }
    }
    places
}

impl LaneName {
    fn of((at, lane): (usize, &Lane)) -> Self {
        Self {
            colour: colour(at),
            channels: lane.channels.join(", "),
        }
    }
}

impl Row {
    fn of_version(
        at: usize,
        node: &UpgradeNode,
        lanes: &[Lane],
        heads: &[String],
        text_x: usize,
        is_chosen: bool,
    ) -> Self {
        let mut row = Self::empty(at, text_x);
        let in_lanes = lanes
            .iter()
            .enumerate()
            .filter(|(_, lane)| lane.bundles.contains(&node.name));
        row.dots = in_lanes
            .map(|(at, lane)| Dot {
                x: lane_x(lane),
                colour: colour(at),
                is_head: heads.iter().any(|head| lane.channels.contains(head)),
                channels: lane.channels.join(", "),
            })
            .collect();
        let label = if node.version.is_empty() {
            &node.name
        } else {
            &node.version
        };
        row.text = super::shortened(label, 34);
        row.version.clone_from(&node.version);
        if node.channels.is_empty() {
            row.version.clear();
            row.class.push_str(" gone");
        }
        if is_chosen {
            row.class.push_str(" chosen");
        }
        if node.is_deprecated {
            row.class.push_str(" deprecated");
        }
        row.tag(node, heads, lanes);
        row
    }

    fn of_fold(at: usize, hidden: usize, text_x: usize) -> Self {
        let mut row = Self::empty(at, text_x);
        row.text = format!("{hidden} more versions: show all");
        row.is_fold = true;
        row
    }

    fn empty(at: usize, text_x: usize) -> Self {
        Self {
            top: at * ROW + 4,
            middle: row_middle(at),
            baseline: row_middle(at) + 4,
            text_x,
            text: String::new(),
            version: String::new(),
            class: "row".to_owned(),
            dots: Vec::new(),
            tags: Vec::new(),
            is_fold: false,
        }
    }

    fn tag(&mut self, node: &UpgradeNode, heads: &[String], lanes: &[Lane]) {
        let mut tags: Vec<(String, String)> = heads
            .iter()
            .take(NAMED)
            .map(|channel| {
                let lane = lanes
                    .iter()
                    .position(|lane| lane.channels.contains(channel));
                let class = format!("lane-name lane-{}", colour(lane.unwrap_or_default()));
                (super::shortened(channel, 30), class)
            })
            .collect();
        if heads.len() > NAMED {
            tags.push((
                format!("and {} more", heads.len() - NAMED),
                "small".to_owned(),
            ));
        }
        if node.is_installed {
            tags.push(("installed".to_owned(), "small".to_owned()));
        }
        if node.is_deprecated {
            tags.push(("deprecated".to_owned(), "small tag".to_owned()));
        }
        if node.channels.is_empty() {
            tags.push(("not in the catalog".to_owned(), "small".to_owned()));
        }
        let mut x = self.text_x + self.text.chars().count() * LETTER + 18;
        for (text, class) in tags {
            let width = text.chars().count() * LETTER;
            self.tags.push(Tag { x, text, class });
            x += width + 12;
        }
    }

    fn right(&self) -> usize {
        let text = self.text_x + self.text.chars().count() * LETTER;
        let tags = self
            .tags
            .iter()
            .map(|tag| tag.x + tag.text.chars().count() * LETTER);
        tags.chain([text]).max().unwrap_or_default() + MARGIN
    }
}

fn lane_x(lane: &Lane) -> usize {
    MARGIN + lane.column * LANE
}

fn row_middle(at: usize) -> usize {
    at * ROW + 4 + ROW / 2
}

/// There are ten colours; an eleventh lane begins with the first again.
fn colour(lane: usize) -> usize {
    lane % COLOURS
}
