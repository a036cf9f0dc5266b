//! All that goes and all that stays, before anything is done.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::anyhow;
use kube::ResourceExt as _;
use serde::Serialize;
use serde_json::{Value, json};

use super::outside;
use crate::api::conditions::subscription::NOT_READABLE;
use crate::api::subscription::Subscription;
use crate::cli::failure::Failure;
use crate::cli::printer::visible;
use crate::controller::removal::{Remover, Surroundings};
use crate::lifecycle::removal::{
    Goes, Reference, Removal, Stays, Step, Wish, plan, trail, wish_for,
};
use crate::server::writes::{ObjectName, RemovalStep, Removing, Staying};

/// What goes with a Subscription and with those that it hands over.
pub(in crate::cli) struct Preview {
    pub(in crate::cli) subscription: Arc<Subscription>,
    pub(in crate::cli) name: String,
    pub(in crate::cli) namespace: String,
    policy: String,
    /// The removal of the Subscription itself first, then those of dependencies.
    pub(in crate::cli) removals: Vec<Part>,
    /// What goes by itself with all of that.
    trail: Vec<Goes>,
    /// What the API server does not let the user look at.
    unread: Vec<String>,
    /// What of it may have a say in what goes: operators elsewhere, and CRDs.
    hidden: Vec<String>,
    /// Why CRDs are not known, if they are not.
    hidden_crds: Option<String>,
}

/// What goes with one Subscription.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct Part {
    pub(in crate::cli) subscription: String,
    pub(in crate::cli) package: String,
    #[serde(flatten)]
    pub(in crate::cli) removal: Removal,
}

impl Preview {
    pub(in crate::cli) async fn read(
        remover: &Remover,
        subscription: Arc<Subscription>,
        wish: &Wish,
    ) -> Result<Self, Failure> {
        let namespace = subscription.namespace().unwrap_or_default();
        let seen = Surroundings::visible(&remover.client, &namespace).await;
        let (surroundings, hidden) = seen.map_err(outside)?;
        let mut preview = Self {
            name: subscription.name_any(),
            policy: wish.policy.to_string(),
            subscription: subscription.clone(),
            namespace,
            removals: Vec::new(),
            trail: Vec::new(),
            unread: Vec::new(),
            hidden,
            hidden_crds: None,
        };
        let mut leaving = std::collections::BTreeSet::new();
        let mut left = vec![(subscription, wish.clone())];
        while let Some((next, wish)) = left.pop() {
            let read = remover.visible(next.clone(), &surroundings, &wish).await;
            let (mut facts, hidden_crds) = read.map_err(outside)?;
            preview.hidden_crds = preview.hidden_crds.or(hidden_crds);
            facts.leaving.clone_from(&leaving);
            let swept = remover.sweep(&next).await.map_err(outside)?;
            facts.marked = swept.marked;
            facts.unlisted = swept.unlisted;
            preview.unread.extend(swept.unread);
            let removal = plan(&facts, &wish);
            let unlisted = removal.unlisted.iter();
            preview.unread.extend(unlisted.map(ToString::to_string));
            for stage in &removal.stages {
                let keys = stage.objects.iter().map(|it| &it.object);
                match stage.step {
                    Step::DeleteOperator => {
                        leaving.extend(keys.map(|it| format!("{}/{}", it.namespace, it.name)));
                    }
                    Step::HandOverDependencies => {
                        let names: Vec<&Reference> = keys.collect();
                        let all = surroundings.subscriptions.iter();
                        let handed = all.filter(|it| {
                            names.contains(&&Reference::subscription(it))
                                && !preview.has(&it.name_any())
                        });
                        left.extend(handed.map(|it| (it.clone(), wish_for(it, &facts, &wish))));
                    }
                    _ => {}
                }
            }
            preview.removals.push(Part {
                subscription: next.name_any(),
                package: next.spec.name.clone(),
                removal,
            });
        }
        let swept = remover.sweep_trail(&preview.namespace).await;
        let swept = swept.map_err(outside)?;
        preview.trail = trail(preview.listed().map(|(_, it)| it), &swept.marked);
        preview.unread.extend(swept.unread);
        preview.hidden.extend(preview.hidden_crds.clone());
        preview.unread.extend(preview.hidden.iter().cloned());
        preview.unread.sort();
        preview.unread.dedup();
        Ok(preview)
    }

    fn has(&self, subscription: &str) -> bool {
        self.removals
            .iter()
            .any(|it| it.subscription == subscription)
    }

    /// Refuses what cannot be done.
    pub(in crate::cli) fn check(&self, wish: &Wish) -> Result<(), Failure> {
        let Some(own) = self.removals.first() else {
            return Ok(());
        };
        if let Some(blocker) = own.removal.blockers.first() {
            let hint = if blocker.reason == NOT_READABLE {
                "mend that first; CRDs that are not named are left alone"
            } else {
                "`chandler list` tells what runs"
            };
            let failure = anyhow!("{} cannot be removed: {}", self.name, blocker.message);
            return Err(Failure::no(failure).hint(hint));
        }
        if let (Some(why), Some(name)) = (&self.hidden_crds, wish.crds.first()) {
            return Err(Failure::no(anyhow!(
                "nobody can say what would go with CRD {name}: {why}"
            ))
            .hint("leave it out of --delete-crds, or ask somebody who may look at CRDs"));
        }
        for name in &wish.crds {
            let stays =
                own.removal.stays.iter().find(|it| {
                    it.object.kind == "CustomResourceDefinition" && it.object.name == *name
                });
            if let Some(stays) = stays {
                return Err(
                    Failure::no(anyhow!("CRD {name} cannot be removed: {}", stays.why))
                        .hint("leave it out of --delete-crds"),
                );
            }
            let goes = self.goes().any(|(_, it)| it.object.name == *name);
            if !goes {
                return Err(Failure::no(anyhow!("there is no CRD {name}"))
                    .hint("`kubectl get crds` lists those that are there"));
            }
        }
        Ok(())
    }

    /// Refuses to take CRDs along that nobody here may look at: they would go without being shown, with or without
    /// objects.
    pub(in crate::cli) fn check_crds(&self) -> Result<(), Failure> {
        let Some(why) = &self.hidden_crds else {
            return Ok(());
        };
        Err(Failure::no(anyhow!(
            "nothing was removed: nobody can say which CRDs would go with {}: {why}",
            self.name
        ))
        .hint("leave --everything out, and CRDs stay; or ask somebody who may look at CRDs"))
    }

    /// Refuses what nobody else does and what cannot be done from here either: it would begin, and never end.
    pub(in crate::cli) fn check_rights(&self, is_deserted: bool) -> Result<(), Failure> {
        if !is_deserted || self.hidden.is_empty() {
            return Ok(());
        }
        Err(Failure::no(anyhow!(
            "nothing was removed: no Chandler looks after the namespace, and you lack rights to do it from here: {}",
            self.hidden.join("; ")
        ))
        .hint("start Chandler, or ask somebody who may look at the whole cluster"))
    }

    /// Refuses to leave CRDs behind without a word that have objects and were not named: whoever asks for
    /// everything has to say whether that is meant as well.
    pub(in crate::cli) fn check_names(&self) -> Result<(), Failure> {
        let unnamed = self.unnamed();
        if unnamed.is_empty() {
            return Ok(());
        }
        let names = unnamed.join(",");
        Err(Failure::no(anyhow!(
            "nothing was removed: these CRDs have objects, and go with them only by name: {names}"
        ))
        .hint(format!(
            "to remove all these objects as well, add `--delete-crds {names}`; to keep them, leave \
             --everything out (--prune-dependencies removes what was installed for it)"
        )))
    }

    /// CRDs that stay only because they have objects and nobody named them.
    fn unnamed(&self) -> Vec<&str> {
        let goes: Vec<&str> = self.goes().map(|(_, it)| it.object.name.as_str()).collect();
        let parts = self.removals.iter();
        let unnamed = parts.flat_map(|it| it.removal.unnamed.iter().map(String::as_str));
        let mut unnamed: Vec<&str> = unnamed.filter(|name| !goes.contains(name)).collect();
        unnamed.sort_unstable();
        unnamed.dedup();
        unnamed
    }

    /// What goes, with its title: what goes by itself comes after what is deleted.
    fn goes(&self) -> impl Iterator<Item = (&'static str, &Goes)> {
        let listed = self.listed();
        let listed = listed.map(|(step, it)| (title(step).unwrap_or_default(), it));
        listed.chain(self.trail.iter().map(|it| (TRAIL, it)))
    }

    /// What stages of the removals take.
    fn listed(&self) -> impl Iterator<Item = (Step, &Goes)> {
        let stages = self.removals.iter().flat_map(|it| &it.removal.stages);
        stages
            .filter(|stage| {
                !matches!(
                    stage.step,
                    Step::HandOverDependencies
                        | Step::AwaitCustomResources
                        | Step::AwaitOthers
                        | Step::Unmark
                )
            })
            .flat_map(|stage| stage.objects.iter().map(|it| (stage.step, it)))
    }

    /// The names of the ClusterServiceVersions that go.
    pub(in crate::cli) fn operators(&self) -> impl Iterator<Item = &str> {
        let goes = self.listed();
        goes.filter(|(step, _)| *step == Step::DeleteOperator)
            .map(|(_, it)| it.object.name.as_str())
    }

    fn stays(&self) -> Vec<&Stays> {
        let goes: Vec<&Reference> = self.goes().map(|(_, it)| &it.object).collect();
        let stays = self.removals.iter().flat_map(|it| &it.removal.stays);
        let mut stays: Vec<&Stays> = stays.filter(|it| !goes.contains(&&it.object)).collect();
        stays.sort();
        stays.dedup();
        stays
    }

    /// For people: in groups on a terminal, one line for each object in a pipe.
    pub(in crate::cli) fn text(&self, is_for_people: bool) -> String {
        let text = if is_for_people {
            self.groups()
        } else {
            self.lines()
        };
        text + &self.notes()
    }

    fn groups(&self) -> String {
        let mut text = String::new();
        for part in &self.removals {
            let of = if part.subscription == self.name {
                format!("{} in namespace {}", part.subscription, self.namespace)
            } else {
                format!("{}, which was installed for it", part.subscription)
            };
            // Writing to a string does not fail; here and below.
            let _ = writeln!(text, "What goes with {}:", visible(&of));
            let mut number = 0;
            for stage in &part.removal.stages {
                let Some(title) = title(stage.step) else {
                    continue;
                };
                number += 1;
                let _ = writeln!(text, "  {number}. {title}");
                let rows = stage.objects.iter().map(|it| &it.object);
                text.push_str(&columns(rows.map(|it| (it, ""))));
            }
        }
        if !self.trail.is_empty() {
            let _ = writeln!(text, "What goes {TRAIL}:");
            let rows = self.trail.iter().map(|it| &it.object);
            text.push_str(&columns(rows.map(|it| (it, ""))));
        }
        let stays = self.stays();
        if !stays.is_empty() {
            text.push_str("What stays:\n");
            text.push_str(&columns(
                stays.iter().map(|it| (&it.object, it.why.as_str())),
            ));
        }
        text
    }

    fn lines(&self) -> String {
        let mut text = String::new();
        for (title, it) in self.goes() {
            let line = format!("goes\t{}\t{}\t{title}", it.object.kind, place(&it.object));
            let _ = writeln!(text, "{}", shown(&line));
        }
        for it in self.stays() {
            let line = format!(
                "stays\t{}\t{}\t{}",
                it.object.kind,
                place(&it.object),
                it.why
            );
            let _ = writeln!(text, "{}", shown(&line));
        }
        text
    }

    fn notes(&self) -> String {
        let mut text = String::new();
        let prunable = self.removals.iter().flat_map(|it| &it.removal.stays);
        let prunable = prunable
            .filter(|it| {
                it.object.kind == "Subscription" && it.why.contains("nobody else needs it")
            })
            .count();
        if prunable > 0 {
            let _ = writeln!(
                text,
                "note: {prunable} of what stays {} installed for it, and nobody else needs it; \
                 --prune-dependencies removes that as well",
                if prunable == 1 { "was" } else { "were" }
            );
        }
        let unnamed = self.unnamed();
        if !unnamed.is_empty() {
            let names = unnamed.join(",");
            let _ = writeln!(
                text,
                "note: CRDs that have objects go only by name; --delete-crds {} removes them and all these \
                 objects",
                visible(&names)
            );
        }
        for hidden in &self.hidden {
            let _ = writeln!(text, "note: not looked at: {}", visible(hidden));
        }
        let others = self.unread.iter().filter(|it| !self.hidden.contains(it));
        let others = others.count();
        if others > 0 {
            let _ = writeln!(
                text,
                "note: {others} more {} not looked at, and some may go as well; `-o json` lists them",
                if others == 1 {
                    "kind was"
                } else {
                    "kinds were"
                }
            );
        }
        text
    }

    /// How it ended.
    pub(in crate::cli) fn summary(&self, outcome: &str) -> String {
        let count = self.goes().count();
        let count = if self.unread.is_empty() {
            count.to_string()
        } else {
            format!("at least {count}")
        };
        let stays = if self.hidden.is_empty() {
            format!(", {} stay", self.stays().len())
        } else {
            String::new()
        };
        let name = visible(&self.name);
        match outcome {
            "removed" => format!("{name} is removed: {count} objects are gone{stays}\n"),
            _ => format!("the removal of {name} has begun: {count} objects go{stays}\n"),
        }
    }

    /// For the page.
    pub(in crate::cli) fn view(&self) -> Removing {
        let mut goes: Vec<RemovalStep> = Vec::new();
        for (title, it) in self.goes() {
            let object = object(&it.object);
            match goes.last_mut().filter(|last| last.title == title) {
                Some(last) => last.objects.push(object),
                None => goes.push(RemovalStep {
                    title: title.to_owned(),
                    objects: vec![object],
                }),
            }
        }
        let stays = self.stays().into_iter().map(|it| Staying {
            object: object(&it.object),
            why: it.why.clone(),
        });
        Removing {
            subscription: self.name.clone(),
            namespace: self.namespace.clone(),
            goes,
            stays: stays.collect(),
            not_looked_at: self.unread.clone(),
        }
    }

    /// For programs.
    pub(in crate::cli) fn document(&self, outcome: &str) -> Value {
        json!({
            "subscription": self.name,
            "namespace": self.namespace,
            "policy": self.policy,
            "outcome": outcome,
            "removals": self.removals,
            "goesByItself": self.trail,
            "notLookedAt": self.unread,
        })
    }
}

/// What is called that no stage takes. Pods of Deployments and the like go as well, and nobody has to be told.
const TRAIL: &str = "by itself with all of that";

/// What a stage is called, if there is something to see.
fn title(step: Step) -> Option<&'static str> {
    Some(match step {
        Step::StopPlans => "InstallPlans at work",
        Step::DeleteCustomResources => "custom resources, while the operator still runs",
        Step::DeleteOperator => "the operator",
        Step::DeleteLeftovers => "what it has",
        Step::DeleteRemainingResources => "custom resources that another operator has until then",
        Step::DeleteDefinitions => "CRDs",
        Step::Afterwards => "at last",
        Step::HandOverDependencies
        | Step::AwaitCustomResources
        | Step::AwaitOthers
        | Step::Unmark => return None,
    })
}

fn object(reference: &Reference) -> ObjectName {
    ObjectName {
        kind: reference.kind.clone(),
        namespace: reference.namespace.clone(),
        name: reference.name.clone(),
    }
}

fn place(object: &Reference) -> String {
    if object.namespace.is_empty() {
        return object.name.clone();
    }
    format!("{}/{}", object.namespace, object.name)
}

/// The words of strangers, without what moves the cursor; tabs are ours.
fn shown(line: &str) -> String {
    let fields: Vec<_> = line.split('\t').map(visible).collect();
    fields.join("\t")
}

/// How many objects of a kind are named; the others are counted.
const NAMED: usize = 20;

/// One line for each object, kinds and names below each other.
fn columns<'a>(rows: impl Iterator<Item = (&'a Reference, &'a str)>) -> String {
    let mut by_kind: BTreeMap<&str, Vec<(String, &str)>> = BTreeMap::new();
    for (object, why) in rows {
        let of_kind = by_kind.entry(&object.kind).or_default();
        of_kind.push((place(object), why));
    }
    let kind_width = by_kind.keys().map(|kind| kind.len()).max().unwrap_or(0);
    let names = by_kind.values().flatten().map(|(name, _)| name.len());
    let name_width = names.max().unwrap_or(0).min(60);
    let mut text = String::new();
    for (kind, objects) in by_kind {
        for (name, why) in objects.iter().take(NAMED) {
            let line = format!("     {kind:<kind_width$}  {name:<name_width$}  {why}");
            let _ = writeln!(text, "{}", visible(line.trim_end()));
        }
        let more = objects.len().saturating_sub(NAMED);
        if more > 0 {
            let _ = writeln!(
                text,
                "     {kind:<kind_width$}  and {more} more, which `-o json` lists"
            );
        }
    }
    text
}
