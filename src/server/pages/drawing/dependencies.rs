//! Who needs whom: those that need the package on the left, what it needs on the right, and beside
//! each need the packages that can meet it.

use crate::server::hub::views::{Dependency, DependencyGraph, PackageReference};

const BOX_WIDTH: usize = 220;
const BOX_HEIGHT: usize = 46;
const GAP: usize = 14;
const BETWEEN: usize = 64;
const MARGIN: usize = 10;
/// So many are drawn in a column of strangers; the list below the drawing has all.
const MOST: usize = 10;

/// A graph with places.
#[derive(Debug)]
pub(in crate::server::pages) struct DependencyDrawing {
    pub(in crate::server::pages) width: usize,
    pub(in crate::server::pages) height: usize,
    pub(in crate::server::pages) boxes: Vec<Tile>,
    pub(in crate::server::pages) arrows: Vec<Arrow>,
}

/// A package or a need.
#[derive(Debug)]
pub(in crate::server::pages) struct Tile {
    pub(in crate::server::pages) x: usize,
    pub(in crate::server::pages) y: usize,
    pub(in crate::server::pages) text_x: usize,
    pub(in crate::server::pages) first_line: usize,
    pub(in crate::server::pages) second_line: usize,
    pub(in crate::server::pages) class: &'static str,
    pub(in crate::server::pages) title: String,
    pub(in crate::server::pages) detail: String,
    /// All of it, where it was too long.
    pub(in crate::server::pages) words: String,
    /// The package it leads to.
    pub(in crate::server::pages) leads_to: Option<PackageReference>,
}

/// Who needs, to what is needed.
#[derive(Debug)]
pub(in crate::server::pages) struct Arrow {
    pub(in crate::server::pages) shape: String,
    pub(in crate::server::pages) tip: String,
}

/// A box that has no place yet, with the positions of the needs to its left.
struct Planned {
    meets: Vec<usize>,
    class: &'static str,
    title: String,
    detail: String,
    leads_to: Option<PackageReference>,
}

impl DependencyDrawing {
    /// Draws it; none if there is nothing to draw.
    pub(in crate::server::pages) fn of(graph: &DependencyGraph, version: &str) -> Option<Self> {
        if graph.dependencies.is_empty() && graph.dependents.is_empty() {
            return None;
        }
        let dependents = dependents(graph);
        let (needs, providers) = needs(&graph.dependencies);
        let tallest = dependents
            .len()
            .max(needs.len())
            .max(providers.len())
            .max(1);
        let height = tallest * (BOX_HEIGHT + GAP) - GAP + 2 * MARGIN;
        let mut drawing = Self {
            width: 0,
            height,
            boxes: Vec::new(),
            arrows: Vec::new(),
        };
        let mut column = 0;
        let self_column = usize::from(!dependents.is_empty());
        let own = drawing.place(self_column, 1, 0, "box self", &graph.package, version, None);
        if !dependents.is_empty() {
            for (at, planned) in dependents.iter().enumerate() {
                let one = drawing.place_planned(column, dependents.len(), at, planned);
                drawing.point(one, own);
            }
            column += 1;
        }
        column += 1;
        let places: Vec<usize> = needs
            .iter()
            .enumerate()
            .map(|(at, planned)| {
                let one = drawing.place_planned(column, needs.len(), at, planned);
                drawing.point(own, one);
                one
            })
            .collect();
        column += 1;
        for (at, planned) in providers.iter().enumerate() {
            let one = drawing.place_planned(column, providers.len(), at, planned);
            for need in planned.meets.iter().filter_map(|need| places.get(*need)) {
                drawing.point(*need, one);
            }
        }
        let right = drawing.boxes.iter().map(|one| one.x + BOX_WIDTH).max();
        drawing.width = right.unwrap_or_default() + MARGIN;
        Some(drawing)
    }

    fn place_planned(&mut self, column: usize, of: usize, at: usize, planned: &Planned) -> usize {
        self.place(
            column,
            of,
            at,
            planned.class,
            &planned.title,
            &planned.detail,
            planned.leads_to.clone(),
        )
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "where and what: one caller each way"
    )]
    fn place(
        &mut self,
        column: usize,
        of: usize,
        at: usize,
        class: &'static str,
        title: &str,
        detail: &str,
        leads_to: Option<PackageReference>,
    ) -> usize {
        let x = MARGIN + column * (BOX_WIDTH + BETWEEN);
        let column_height = of * (BOX_HEIGHT + GAP) - GAP;
        let y = (self.height - column_height) / 2 + at * (BOX_HEIGHT + GAP);
        let words = if detail.is_empty() {
            title.to_owned()
        } else {
            format!("{title}: {detail}")
        };
        self.boxes.push(Tile {
            x,
            y,
            text_x: x + 12,
            first_line: if detail.is_empty() { y + 28 } else { y + 20 },
            second_line: y + 36,
            class,
            title: super::shortened(title, 26),
            detail: super::shortened(detail, 32),
            words,
            leads_to,
        });
        self.boxes.len() - 1
    }

    fn point(&mut self, from: usize, to: usize) {
        let (Some(from), Some(to)) = (self.boxes.get(from), self.boxes.get(to)) else {
            return;
        };
        let (x1, y1) = (from.x + BOX_WIDTH, from.y + BOX_HEIGHT / 2);
        let (x2, y2) = (to.x, to.y + BOX_HEIGHT / 2);
        let bend = BETWEEN / 2;
        self.arrows.push(Arrow {
            shape: format!(
                "M{x1} {y1}C{} {y1} {} {y2} {} {y2}",
                x1 + bend,
                x2 - bend,
                x2 - 6
            ),
            tip: format!("M{} {}l8 4l-8 4z", x2 - 8, y2 - 4),
        });
    }
}

fn dependents(graph: &DependencyGraph) -> Vec<Planned> {
    let mut planned: Vec<Planned> = graph
        .dependents
        .iter()
        .take(MOST)
        .map(|dependent| Planned {
            meets: Vec::new(),
            class: "box",
            title: dependent.package.clone(),
            detail: dependent.needs.clone(),
            leads_to: Some(PackageReference {
                package: dependent.package.clone(),
                catalog: dependent.catalog.clone(),
            }),
        })
        .collect();
    let left = graph.dependents.len().saturating_sub(MOST);
    if left > 0 {
        planned.push(more(Vec::new(), left));
    }
    planned
}

/// What is needed, and who can meet it: each package once, however many needs it meets.
fn needs(dependencies: &[Dependency]) -> (Vec<Planned>, Vec<Planned>) {
    let mut needs = Vec::new();
    let mut providers: Vec<Planned> = Vec::new();
    for (need, dependency) in dependencies.iter().enumerate() {
        let is_itself = dependency
            .met_by
            .iter()
            .all(|one| one.package == dependency.package);
        let title = match &dependency.api {
            Some(api) => api.kind.clone(),
            None if dependency.package.is_empty() => dependency.needs.clone(),
            None => dependency.package.clone(),
        };
        let detail = match &dependency.api {
            Some(api) => format!("{}/{}", api.group, api.version),
            None => dependency.range.clone(),
        };
        let leads_to = dependency.met_by.first().filter(|_| is_itself).cloned();
        let class = match (dependency.met_by.is_empty(), is_itself) {
            (true, _) => "box missing",
            (false, true) => "box",
            (false, false) => "box need",
        };
        needs.push(Planned {
            meets: Vec::new(),
            class,
            title,
            detail,
            leads_to,
        });
        if is_itself {
            continue;
        }
        for one in dependency.met_by.iter().take(MOST) {
            let known = providers
                .iter_mut()
                .find(|planned| planned.leads_to.as_ref() == Some(one));
            match known {
                Some(known) => known.meets.push(need),
                None => providers.push(Planned {
                    meets: vec![need],
                    class: "box",
                    title: one.package.clone(),
                    detail: one.catalog.clone(),
                    leads_to: Some(one.clone()),
                }),
            }
        }
        let left = dependency.met_by.len().saturating_sub(MOST);
        if left > 0 {
            providers.push(more(vec![need], left));
        }
    }
    (needs, providers)
}

fn more(meets: Vec<usize>, left: usize) -> Planned {
    Planned {
        meets,
        class: "box",
        title: format!("and {left} more"),
        detail: "listed below".to_owned(),
        leads_to: None,
    }
}

#[cfg(test)]
mod tests {
    use super::DependencyDrawing;
    use crate::server::hub::views::{
        ApiName, Dependency, DependencyGraph, DependencyKind, Dependent, PackageReference,
    };

    fn reference(package: &str) -> PackageReference {
        PackageReference {
            package: package.to_owned(),
            catalog: "hub".to_owned(),
        }
    }

    fn graph(dependencies: Vec<Dependency>, dependents: usize) -> DependencyGraph {
        DependencyGraph {
            package: "gopher".to_owned(),
            bundle: "gopher.v1.0.0".to_owned(),
            dependencies,
            dependents: (0..dependents)
                .map(|at| Dependent {
                    package: format!("friend-{at}"),
                    catalog: "hub".to_owned(),
                    bundle: format!("friend-{at}.v1.0.0"),
                    needs: "gopher".to_owned(),
                })
                .collect(),
        }
    }

    fn needs_api(met_by: &[&str]) -> Dependency {
        Dependency {
            needs: "the API Burrow".to_owned(),
            kind: DependencyKind::Api,
            package: String::new(),
            range: String::new(),
            api: Some(ApiName {
                group: "example.com".to_owned(),
                version: "v1".to_owned(),
                kind: "Burrow".to_owned(),
            }),
            met_by: met_by.iter().map(|package| reference(package)).collect(),
        }
    }

    #[test]
    fn nothing_needed_and_nobody_in_need_is_no_drawing() {
        assert!(DependencyDrawing::of(&graph(Vec::new(), 0), "1.0.0").is_none());
    }

    #[test]
    fn an_api_stands_between_the_package_and_those_that_bring_it() {
        let drawing =
            DependencyDrawing::of(&graph(vec![needs_api(&["digger", "mole"])], 0), "1.0.0")
                .unwrap();
        let titles: Vec<&str> = drawing.boxes.iter().map(|one| one.title.as_str()).collect();
        assert_eq!(titles, ["gopher", "Burrow", "digger", "mole"]);
        assert_eq!(drawing.arrows.len(), 3);
        assert!(drawing.boxes[1].x < drawing.boxes[2].x);
    }

    #[test]
    fn who_meets_several_needs_is_drawn_once() {
        let needs = vec![needs_api(&["digger"]), needs_api(&["digger", "mole"])];
        let drawing = DependencyDrawing::of(&graph(needs, 0), "1.0.0").unwrap();
        let titles: Vec<&str> = drawing.boxes.iter().map(|one| one.title.as_str()).collect();
        assert_eq!(titles, ["gopher", "Burrow", "Burrow", "digger", "mole"]);
        assert_eq!(drawing.arrows.len(), 2 + 3);
    }

    #[test]
    fn a_need_that_nothing_meets_stands_out() {
        let drawing = DependencyDrawing::of(&graph(vec![needs_api(&[])], 0), "1.0.0").unwrap();
        assert_eq!(drawing.boxes[1].class, "box missing");
    }

    #[test]
    fn a_crowd_of_dependents_is_counted_rather_than_drawn() {
        let drawing = DependencyDrawing::of(&graph(Vec::new(), 25), "1.0.0").unwrap();
        assert!(drawing.boxes.iter().any(|one| one.title == "and 15 more"));
    }
}
