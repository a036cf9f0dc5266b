//! What is different between two versions.

use std::sync::Arc;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::failure::Failure;
use super::frame::{Frame, PackageChoice, Tab};
use super::name::Name;
use super::permissions::{framed, why_unknown};
use super::rights::Right;
use super::shell::Shell;
use super::versions::older;
use super::words::{Tally, mode_label, with_query};
use crate::server::hub::Hub;
use crate::server::hub::views::{ChangeKind, CrdChange, CrdDetail, VersionDiff};

#[derive(Template)]
#[template(path = "diff.html")]
struct DiffPage {
    shell: Shell,
    frame: Frame,
    from: String,
    to: String,
    swap_link: String,
    /// Nothing where a package has one version only.
    diff: Option<VersionDiff>,
    unknown: Option<String>,
    is_same: bool,
    tally: Vec<Tally>,
    gained: Vec<Right>,
    lost: Vec<Right>,
    crds: Vec<Change>,
    others: Vec<Line>,
}

/// How a CRD changes.
struct Change {
    name: String,
    class: &'static str,
    words: &'static str,
    details: Vec<Detail>,
}

/// One difference in a CRD.
struct Detail {
    place: String,
    words: String,
    is_breaking: bool,
}

/// Something else that is different.
struct Line {
    class: &'static str,
    words: String,
}

pub(super) async fn page(
    State(hub): State<Arc<Hub>>,
    Name(package): Name,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let choice = PackageChoice::parse(query.as_deref());
    let frame = framed(&hub, package, query.as_deref(), Tab::Diff).await?;
    let to = choice
        .to
        .unwrap_or_else(|| frame.number_of_version().to_owned());
    let from = choice.from.unwrap_or_else(|| older(&frame));
    let diff = if from == to {
        None
    } else {
        let name = &frame.page.card.name;
        Some(hub.diff(name, Some(frame.catalog()), &from, &to).await?)
    };
    let swapped = frame
        .kept()
        .into_iter()
        .chain([("from", to.as_str()), ("to", from.as_str())]);
    let swap_link = with_query(&frame.path(Tab::Diff), swapped);
    let mut page = DiffPage {
        shell: Frame::shell(&hub),
        unknown: diff
            .as_ref()
            .and_then(|diff| why_unknown(diff.knowledge.clone())),
        is_same: false,
        tally: Vec::new(),
        gained: Vec::new(),
        lost: Vec::new(),
        crds: Vec::new(),
        others: Vec::new(),
        frame,
        from,
        to,
        swap_link,
        diff: None,
    };
    if let Some(diff) = diff {
        page.tell(&diff);
        page.diff = Some(diff);
    }
    super::html(&page)
}

impl DiffPage {
    fn tell(&mut self, diff: &VersionDiff) {
        self.gained = Right::all(&diff.rights_added);
        self.lost = Right::all(&diff.rights_removed);
        self.crds = diff.crds.iter().map(Change::of).collect();
        self.others = others(diff);
        let breaking = diff.crds.iter().flat_map(|crd| &crd.details);
        let breaking = breaking.filter(|detail| detail.is_breaking).count();
        let tally = |label, count| Tally {
            count,
            label,
            class: "",
        };
        self.tally = vec![
            tally("rights added", diff.rights_added.len()),
            tally("rights given up", diff.rights_removed.len()),
            tally("APIs changed", diff.crds.len()),
            tally("breaking changes", breaking),
            tally(
                "images changed",
                diff.images_added.len() + diff.images_removed.len(),
            ),
        ];
        let is_quiet = self.tally.iter().all(|tally| tally.count == 0);
        self.is_same = is_quiet && self.others.is_empty();
    }
}

impl Change {
    fn of(change: &CrdChange) -> Self {
        let (class, words) = match change.change {
            ChangeKind::Added => ("added", "is new"),
            ChangeKind::Removed => ("removed", "is gone"),
            ChangeKind::Changed => ("changed", ""),
        };
        let details = change.details.iter().map(Detail::of).collect();
        Self {
            name: change.name.clone(),
            class,
            words,
            details,
        }
    }
}

impl Detail {
    /// `spec.versions[v1].schema.spec.size` is what people write as `spec.size` in `v1`.
    fn of(detail: &CrdDetail) -> Self {
        let inner = detail
            .path
            .strip_prefix("spec.versions[")
            .and_then(|rest| rest.split_once("].schema"));
        let place =
            inner.map(|(version, field)| format!("{version} {}", field.trim_start_matches('.')));
        let words = detail.words.strip_prefix("it ").unwrap_or(&detail.words);
        Self {
            place: place.unwrap_or_else(|| detail.path.clone()),
            words: words.to_owned(),
            is_breaking: detail.is_breaking,
        }
    }
}

fn others(diff: &VersionDiff) -> Vec<Line> {
    let line = |class| move |words: String| Line { class, words };
    let needs = |need: &String| format!("Needs {need}");
    let serves = |mode: &crate::server::hub::views::InstallModeName| {
        format!("Can serve {}", mode_label(*mode))
    };
    let mut lines = Vec::new();
    lines.extend(diff.requires_added.iter().map(needs).map(line("added")));
    lines.extend(diff.requires_removed.iter().map(needs).map(line("removed")));
    lines.extend(
        diff.install_modes_added
            .iter()
            .map(serves)
            .map(line("added")),
    );
    lines.extend(
        diff.install_modes_removed
            .iter()
            .map(serves)
            .map(line("removed")),
    );
    lines
}
