//! Objects in files, as `kubectl get -o yaml` writes them and people do.

use std::collections::HashSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use kube::ResourceExt;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cli::failure::Failure;
use crate::yaml::{self, Document};

const GROUP: &str = "operators.coreos.com/";

/// A file with objects. A standard input can be read only once.
pub(super) struct Manifests {
    name: String,
    objects: Vec<Found>,
    /// Whether there was anything but empty lists.
    is_empty: bool,
}

struct Found {
    /// Where it is, for messages.
    place: String,
    kind: String,
    object: Object,
}

enum Object {
    Document(Document),
    /// From within a list.
    Item(Value),
}

impl Manifests {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let (name, text) = text_of(path)?;
        let mut manifests = Self {
            objects: Vec::new(),
            is_empty: true,
            name,
        };
        for document in yaml::documents(&manifests.name.clone(), &text) {
            let document = document.map_err(|error| {
                Failure::usage(error).hint("the file has to be YAML or JSON that kubectl reads")
            })?;
            manifests.add(document);
        }
        Ok(manifests)
    }

    fn add(&mut self, document: Document) {
        let line = document.line();
        let value = document.clone().into_value();
        let place = format!("{}:{line}", self.name);
        let text = |value: &Value, key: &str| {
            let text = value.get(key).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let (api, kind) = (text(&value, "apiVersion"), text(&value, "kind"));
        let Some((of_items, items)) = kind.strip_suffix("List").zip(items_of(&value)) else {
            self.is_empty = false;
            if api.starts_with(GROUP) {
                self.objects.push(Found {
                    place,
                    kind,
                    object: Object::Document(document),
                });
            }
            return;
        };
        for (number, item) in items.iter().enumerate() {
            self.is_empty = false;
            // A list of one kind may leave it out of its items.
            let of = |own: String, list: &str| if own.is_empty() { list.to_owned() } else { own };
            let kind = of(text(item, "kind"), of_items);
            if of(text(item, "apiVersion"), &api).starts_with(GROUP) {
                self.objects.push(Found {
                    place: format!("{place}: items[{number}]"),
                    kind,
                    object: Object::Item(item.clone()),
                });
            }
        }
    }

    /// All objects of a kind. Others may be there too, but a file in which there are only others is
    /// a mistake.
    pub(super) fn needed<T: DeserializeOwned + ResourceExt>(
        &self,
        kind: &str,
    ) -> Result<Vec<T>, Failure> {
        let objects = self.all(kind)?;
        if objects.is_empty() && !self.is_empty {
            let error = anyhow!("{} has no {kind} in it", self.name);
            return Err(Failure::usage(error).hint(format!(
                "expected objects with `apiVersion: operators.coreos.com/v1alpha1` and \
                 `kind: {kind}`, as `kubectl get {}s -o yaml` prints them",
                kind.to_lowercase()
            )));
        }
        Ok(objects)
    }

    /// All objects of a kind.
    pub(super) fn all<T: DeserializeOwned + ResourceExt>(
        &self,
        kind: &str,
    ) -> Result<Vec<T>, Failure> {
        let mut objects: Vec<T> = Vec::new();
        let mut names = HashSet::new();
        for found in self.objects.iter().filter(|found| found.kind == kind) {
            let wrong = |error: anyhow::Error| {
                Failure::usage(error).hint(format!(
                    "`kubectl explain {}` has its fields",
                    kind.to_lowercase()
                ))
            };
            let object: T = match &found.object {
                Object::Document(document) => document
                    .clone()
                    .decode()
                    .with_context(|| format!("{} is no {kind} that can be read", found.place)),
                Object::Item(value) => serde_json::from_value(value.clone())
                    .with_context(|| format!("{} is no {kind} that can be read", found.place)),
            }
            .map_err(wrong)?;
            if object.name_any().is_empty() {
                return Err(wrong(anyhow!(
                    "{}: the {kind} has no metadata.name",
                    found.place
                )));
            }
            if !names.insert((object.namespace(), object.name_any())) {
                return Err(Failure::usage(anyhow!(
                    "{}: there is another {kind} named {}",
                    found.place,
                    object.name_any()
                ))
                .hint("remove one of them"));
            }
            objects.push(object);
        }
        Ok(objects)
    }
}

fn items_of(value: &Value) -> Option<&Vec<Value>> {
    value.get("items")?.as_array()
}

fn text_of(path: &Path) -> Result<(String, String), Failure> {
    let (name, bytes) = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .context("cannot read standard input")
            .map_err(Failure::outside)?;
        ("standard input".to_owned(), bytes)
    } else {
        let bytes = fs_err::read(path).map_err(|error| {
            Failure::outside(error).hint("name a file that you may read, or `-` for standard input")
        })?;
        (path.display().to_string(), bytes)
    };
    match String::from_utf8(bytes) {
        Ok(text) => Ok((name, text)),
        Err(error) => {
            let sound = error.utf8_error().valid_up_to();
            let before = error.as_bytes().iter().take(sound);
            let line = before.filter(|byte| **byte == b'\n').count() + 1;
            let error = anyhow!("{name}:{line} is not text in UTF-8");
            Err(Failure::usage(error)
                .hint("the file has to be YAML or JSON that kubectl reads; save it as UTF-8"))
        }
    }
}

/// Standard input can be read only once.
pub(super) fn check_standard_input(files: &[Option<&PathBuf>]) -> Result<(), Failure> {
    let from_input = files
        .iter()
        .flatten()
        .filter(|path| path.as_os_str() == "-");
    if from_input.count() > 1 {
        return Err(Failure::usage(anyhow!("only one file can be `-`"))
            .hint("write the other one to a file"));
    }
    Ok(())
}
