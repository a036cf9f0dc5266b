//! Whether a CRD may be replaced, in words.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use super::apiextensions::CustomResourceDefinition;
use super::change::{ChangeKind, SchemaChange, Severity};
use super::compare::{compare, is_between_versions};
use super::validate::{Checker, Violation, ratcheted};
use super::{converts_by_webhook, limits, text, version_of};

/// How many objects are named; the others are counted.
const NAMED: usize = 10;
/// How many violations of one object are told.
const TOLD: usize = 5;

/// An object that the new schema does not allow, or that loses something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadObject {
    /// `namespace/name`, or the name alone.
    pub name: String,
    /// The version it was looked at in.
    pub version: String,
    /// What is wrong with it.
    pub violations: Vec<Violation>,
}

/// A field that objects have, and lose with the next write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostField {
    /// The field, as `spec.nodes[].name`.
    pub field: String,
    /// The first objects that have it.
    pub objects: Vec<String>,
    /// How many more there are.
    pub more_objects: usize,
}

/// Whether a CRD may be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The name of the CRD.
    pub crd: String,
    /// Changes that are refused whatever the cluster holds.
    pub refused: Vec<SchemaChange>,
    /// The first objects that the new schema does not allow.
    pub objects: Vec<BadObject>,
    /// How many more there are.
    pub more_objects: usize,
    /// What live objects would lose, by field.
    pub lost: Vec<LostField>,
    /// Whether both only call for a warning, because a webhook converts the objects.
    pub is_converted: bool,
    /// What is worth knowing and refuses nothing.
    pub warnings: Vec<String>,
}

/// Judges whether `new` may replace `old`, given all objects with the version they were read in.
///
/// Refused is what [`compare`] refuses, whatever makes a live object invalid that was valid, and, which
/// OLM lets pass, whatever has a live object lose what somebody wrote into it. Where a webhook converts
/// objects, it may mend them on the way, so that this is a warning, as for OLM.
pub fn judge(
    old: &CustomResourceDefinition,
    new: &CustomResourceDefinition,
    objects: impl IntoIterator<Item = (String, Value)>,
) -> Verdict {
    let mut judge = Judge::new(old, new);
    for (version, object) in objects {
        judge.look_at(&version, &object);
    }
    judge.verdict()
}

/// [`judge`] for those who get the objects piece by piece and need not keep them.
pub struct Judge<'a> {
    changes: Vec<SchemaChange>,
    look: Look<'a>,
}

impl<'a> Judge<'a> {
    /// Compares the two CRDs; objects come later.
    pub fn new(old: &'a CustomResourceDefinition, new: &'a CustomResourceDefinition) -> Self {
        Self {
            changes: compare(old, new),
            look: Look::new(old, new),
        }
    }

    /// Whether the objects in the cluster make a difference: what is refused is refused without them,
    /// and what is harmless harms none of them.
    pub fn needs_objects(&self) -> bool {
        let worst = self.changes.iter().map(|change| change.severity).max();
        worst == Some(Severity::NeedsLiveCheck)
    }

    /// Looks at one object as it was read in a version.
    pub fn look_at(&mut self, version: &str, object: &Value) {
        self.look.at(version, object);
    }

    /// Whether so many objects are invalid that no more would be named.
    pub fn has_seen_enough(&self) -> bool {
        self.look.bad.len() >= NAMED
    }

    /// What came out.
    pub fn verdict(self) -> Verdict {
        let Self { changes, look } = self;
        let (refused, others): (Vec<SchemaChange>, Vec<SchemaChange>) = changes
            .into_iter()
            .partition(|change| change.severity == Severity::Refused);
        let mut warnings = Vec::new();
        let is_lasting = |change: &&SchemaChange| {
            let kind = matches!(
                change.kind,
                ChangeKind::VersionNoLongerServed
                    | ChangeKind::DefaultChanged
                    | ChangeKind::TooDeep
            );
            kind && !is_between_versions(change)
        };
        let lasting: Vec<String> = others
            .iter()
            .filter(is_lasting)
            .map(ToString::to_string)
            .collect();
        warnings.extend(lasting.iter().take(NAMED).cloned());
        if lasting.len() > NAMED {
            warnings.push(format!(
                "and {} more changes of this sort",
                lasting.len() - NAMED
            ));
        }
        warnings.extend(disagreement(&others));
        warnings.extend(look.unchecked.into_iter().take(NAMED));
        Verdict {
            crd: look.new.metadata.name.clone().unwrap_or_default(),
            refused,
            objects: look.bad,
            more_objects: look.more,
            lost: look.lost.into_values().collect(),
            is_converted: converts_by_webhook(look.new),
            warnings,
        }
    }
}

/// Whether objects that are read in a version matter: it is served, and it stays so or its objects become ones of
/// another version as they stand.
pub fn is_looked_at(
    old: &CustomResourceDefinition,
    new: &CustomResourceDefinition,
    version: &str,
) -> bool {
    let is_served = |crd| version_of(crd, version).is_some_and(|it| it.served);
    is_served(old) && (is_served(new) || stand_as_they_are(old, new, version))
}

/// Whether objects that are read in a version become ones of other versions as they stand: no webhook converts them,
/// and none did when they were read, unless they may be stored like that.
fn stand_as_they_are(
    old: &CustomResourceDefinition,
    new: &CustomResourceDefinition,
    version: &str,
) -> bool {
    let status = old.status.as_ref();
    let stored = status.and_then(|status| status.stored_versions.as_ref());
    let mut stored = stored.into_iter().flatten();
    !converts_by_webhook(new) && (!converts_by_webhook(old) || stored.any(|it| it == version))
}

/// What differs between versions that are served side by side, in one sentence.
fn disagreement(changes: &[SchemaChange]) -> Option<String> {
    let mut between = changes.iter().filter(|change| is_between_versions(change));
    let first = between.next()?;
    let others = match between.count() {
        0 => String::new(),
        many => format!(" (and {})", text::count(many, "other difference")),
    };
    Some(format!(
        "no webhook converts objects, and what is written in one version may not do in another: {first}{others}"
    ))
}

impl Verdict {
    /// Whether the CRD may be replaced.
    pub fn is_allowed(&self) -> bool {
        self.refused.is_empty() && (!self.harms_objects() || self.is_converted)
    }

    /// Whether live objects would be invalid or lose something.
    pub fn harms_objects(&self) -> bool {
        !self.objects.is_empty() || !self.lost.is_empty()
    }

    /// The verdict in one line.
    pub fn summary(&self) -> String {
        let crd = text::quote(&self.crd);
        if let Some(first) = self.refused.first() {
            let others = match self.refused.len() {
                1 => String::new(),
                many => format!(" (and {})", text::count(many - 1, "other reason")),
            };
            return format!("CRD {crd} cannot be updated: {}{others}", first.words);
        }
        let verdict = if self.is_converted {
            "can be updated, but"
        } else {
            "cannot be updated:"
        };
        if let (true, Some(first)) = (self.objects.is_empty(), self.lost.first()) {
            let others = match self.lost.len() {
                1 => String::new(),
                many => format!(" (and {})", text::count(many - 1, "other field")),
            };
            return format!(
                "CRD {crd} {verdict} the new schema does not know {}{others}, which {} would lose",
                text::quote(&first.field),
                first.owners(1)
            );
        }
        let Some(first) = self.objects.first() else {
            return match self.warnings.len() {
                0 => format!("CRD {crd} can be updated"),
                many => format!(
                    "CRD {crd} can be updated, with {}",
                    text::count(many, "warning")
                ),
            };
        };
        let all = text::count(self.objects.len() + self.more_objects, "object");
        let reason = first
            .violations
            .first()
            .map(ToString::to_string)
            .unwrap_or_default();
        format!(
            "CRD {crd} {verdict} {all} would be invalid, first {}: {reason}",
            text::quote(&first.name)
        )
    }

    /// The verdict in full: what is wrong, where, and what to do next.
    pub fn text(&self) -> String {
        let mut text = format!("{}.\n", self.summary());
        for change in &self.refused {
            let _ = writeln!(text, "- {change}.");
            let _ = writeln!(text, "  {}", advice(change.kind));
        }
        if !self.objects.is_empty() {
            let _ = writeln!(
                text,
                "The new schema does not allow what these objects have:"
            );
            for object in &self.objects {
                let _ = writeln!(
                    text,
                    "- {} (read as {})",
                    text::quote(&object.name),
                    text::quote(&object.version)
                );
                for violation in object.violations.iter().take(TOLD) {
                    let _ = writeln!(text, "    {violation}");
                }
                if object.violations.len() > TOLD {
                    let _ = writeln!(text, "    and {} more", object.violations.len() - TOLD);
                }
            }
            if self.more_objects > 0 {
                let _ = writeln!(
                    text,
                    "- and {}",
                    text::count(self.more_objects, "other object")
                );
            }
        }
        if !self.lost.is_empty() {
            let _ = writeln!(
                text,
                "The new schema does not know these fields, and objects lose them when written next:"
            );
            for lost in self.lost.iter().take(NAMED) {
                let field = text::quote(&lost.field);
                let _ = writeln!(text, "- {field} of {}", lost.owners(TOLD));
            }
            if self.lost.len() > NAMED {
                let more = text::count(self.lost.len() - NAMED, "other field");
                let _ = writeln!(text, "- and {more}");
            }
        }
        if self.harms_objects() {
            text.push_str(match (self.is_converted, self.lost.is_empty()) {
                (true, _) => {
                    "A webhook converts these objects, and may mend them; look at them after the update.\n"
                }
                (false, true) => {
                    "Change or delete them, and the update goes on by itself; or stay with the version that is installed.\n"
                }
                (false, false) => {
                    "Keep a copy of what is still needed, take it out of the objects, and the update goes on by itself; or stay with the version that is installed.\n"
                }
            });
        }
        for warning in &self.warnings {
            let _ = writeln!(text, "Warning: {warning}.");
        }
        text
    }
}

impl LostField {
    /// The objects that have it, so many of them by name.
    fn owners(&self, named: usize) -> String {
        let named: Vec<String> = self
            .objects
            .iter()
            .take(named)
            .map(|name| text::quote(name))
            .collect();
        let more = self.objects.len() - named.len() + self.more_objects;
        match more {
            0 => named.join(", "),
            more => format!(
                "{} and {}",
                named.join(", "),
                text::count(more, "other object")
            ),
        }
    }
}

/// What to do about a change that is refused.
fn advice(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::StoredVersionRemoved => {
            "Write every object once more, so that it is stored in the new version, then take the old one out of status.storedVersions of the CRD; the operator's release notes may name a tool for it."
        }
        ChangeKind::ScopeChanged | ChangeKind::KindChanged => {
            "Only deleting the CRD, and with it all its objects, makes room for the new one; keep a copy of them."
        }
        _ => "Stay with the version that is installed.",
    }
}

/// What objects of one version are held against.
struct Checkers<'a> {
    /// Their version as it was.
    before: Checker<'a>,
    /// The other version as it was, if they could be read in that already: what was wrong there was so before.
    beside: Option<Checker<'a>>,
    now: Checker<'a>,
}

/// Looks at one object after the other.
struct Look<'a> {
    old: &'a CustomResourceDefinition,
    new: &'a CustomResourceDefinition,
    /// By the version that objects are read in, and the one that they are held against.
    checkers: BTreeMap<(String, String), Checkers<'a>>,
    bad: Vec<BadObject>,
    more: usize,
    /// Fields that objects lose, by field.
    lost: BTreeMap<String, LostField>,
    unchecked: BTreeSet<String>,
}

impl<'a> Look<'a> {
    fn new(old: &'a CustomResourceDefinition, new: &'a CustomResourceDefinition) -> Self {
        Self {
            old,
            new,
            checkers: BTreeMap::new(),
            bad: Vec::new(),
            more: 0,
            lost: BTreeMap::new(),
            unchecked: BTreeSet::new(),
        }
    }

    fn at(&mut self, version: &str, object: &Value) {
        let mut violations = Vec::new();
        for target in self.targets(version) {
            let found = self.against(version, &target, object);
            if violations.is_empty() {
                violations = found;
            }
        }
        if violations.is_empty() {
            return;
        }
        if self.bad.len() < NAMED {
            self.bad.push(BadObject {
                name: name(object),
                version: version.to_owned(),
                violations,
            });
        } else {
            self.more += 1;
        }
    }

    /// The versions of the new CRD that an object of a version is held against: its namesake, and, where no webhook
    /// converts it, whatever it becomes as it stands. That is the version that it is stored in from now on, and,
    /// if nobody can ask for it in its own any more, every one that is served.
    fn targets(&self, version: &str) -> Vec<String> {
        let (old, new) = (self.old, self.new);
        let stays = version_of(new, version).is_some_and(|it| it.served);
        let was_stored_in = |name: &str| version_of(old, name).is_some_and(|it| it.storage);
        let stand_as_they_are = stand_as_they_are(old, new, version);
        let versions = new.spec.versions.iter().filter(|it| {
            let becomes =
                (!stays && (it.served || it.storage)) || (it.storage && !was_stored_in(&it.name));
            it.name == version || (becomes && stand_as_they_are)
        });
        versions.map(|it| it.name.clone()).collect()
    }

    /// What is wrong with an object of a version by another one. What it loses is noted.
    fn against(&mut self, version: &str, target: &str, object: &Value) -> Vec<Violation> {
        let (old, new) = (self.old, self.new);
        let stays = version_of(new, version).is_some_and(|it| it.served);
        let both = (version.to_owned(), target.to_owned());
        let checkers = self.checkers.entry(both).or_insert_with(|| Checkers {
            before: Checker::new(old, version),
            beside: version_of(old, target)
                .filter(|it| it.served && target != version)
                .map(|_| Checker::new(old, target)),
            now: Checker::new(new, target),
        });
        let Checkers {
            before,
            beside,
            now,
        } = checkers;
        let mut violations = Vec::new();
        // What is written in a version that stays is checked in that, whichever it is stored in.
        if target == version || !stays {
            let found = now.check(object);
            self.unchecked.extend(found.unchecked);
            violations = ratcheted(found.violations, || before.check(object).violations);
            if let Some(beside) = beside {
                violations = ratcheted(violations, || beside.check(object).violations);
            }
        }
        if !limits::value_is_too_deep(object) {
            let lost = now.loses(before, object);
            self.loses(&lost, object);
        }
        violations
    }

    /// Notes which fields an object has now and loses with the next write.
    fn loses(&mut self, fields: &[String], object: &Value) {
        let fields: BTreeSet<String> = fields.iter().map(|field| without_indices(field)).collect();
        // The status is the operator's own.
        let is_status = |field: &String| field == "status" || field.starts_with("status.");
        for field in fields.into_iter().filter(|field| !is_status(field)) {
            let lost = self.lost.entry(field.clone()).or_insert_with(|| LostField {
                field,
                ..LostField::default()
            });
            let name = name(object);
            // The same object is looked at in every version.
            if lost.objects.contains(&name) {
                continue;
            }
            if lost.objects.len() < NAMED {
                lost.objects.push(name);
            } else {
                lost.more_objects += 1;
            }
        }
    }
}

/// `namespace/name`, or the name alone.
fn name(object: &Value) -> String {
    let part = |name: &str| {
        let part = object
            .pointer(&format!("/metadata/{name}"))
            .and_then(Value::as_str);
        part.unwrap_or_default().to_owned()
    };
    match (part("namespace"), part("name")) {
        (namespace, name) if namespace.is_empty() => name,
        (namespace, name) => format!("{namespace}/{name}"),
    }
}

/// `spec.nodes[3].name` as `spec.nodes[].name`.
fn without_indices(path: &str) -> String {
    let mut short = String::new();
    let mut is_inside = false;
    for letter in path.chars() {
        match letter {
            '[' => is_inside = true,
            ']' => {
                is_inside = false;
                short.push_str("[]");
            }
            _ if !is_inside => short.push(letter),
            _ => {}
        }
    }
    short
}
