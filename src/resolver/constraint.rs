//! Reading what a bundle needs from its properties.
//!
//! As in OLM, `olm.constraint` is read strictly, and the older types are not: fields they do not
//! know are passed over, missing ones are empty. Names of fields may be in any case, as everywhere
//! in Go's JSON.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value as Json;

use crate::api::gvk::GroupVersionKind;
use crate::bundle::property::{CONSTRAINT, GVK_REQUIRED, PACKAGE_REQUIRED};
use crate::version::Range;

use super::cel::{MAX_PATTERNS, Rule};
use super::predicate::{Predicate, Requirement};

/// A word that an operator carries for others to ask for.
pub(super) const LABEL: &str = "olm.label";
const LABEL_REQUIRED: &str = "olm.label.required";

/// How long the value of a constraint may be, as in OLM.
const MAX_SIZE: usize = 2 << 16;
/// How deep constraints may nest. OLM has no such limit; nobody writes more than three.
const MAX_DEPTH: usize = 24;

/// A property that says what a bundle needs, and cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("property {property} cannot be understood: {path}{problem}")]
pub struct ConstraintError {
    /// The type of the property.
    pub property: String,
    /// What is wrong.
    pub problem: String,
    /// The way to it, such as `all.constraints[2]: `.
    path: Path,
}

/// The needs among a bundle's properties, in their order, each once.
///
/// Types that are no need are ignored.
pub fn requirements<'a>(
    properties: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Vec<Requirement>, ConstraintError> {
    let mut reader = Reader {
        path: Path::default(),
        patterns: MAX_PATTERNS,
    };
    let mut seen = BTreeSet::new();
    let mut requirements = Vec::new();
    for (kind, value) in properties {
        let requirement = reader
            .property(kind, value)
            .map_err(|problem| ConstraintError {
                property: kind.to_owned(),
                problem,
                path: std::mem::take(&mut reader.path),
            })?;
        requirements.extend(requirement.filter(|requirement| seen.insert(requirement.clone())));
    }
    Ok(requirements)
}

struct Reader {
    path: Path,
    /// How many patterns rules may still have.
    patterns: usize,
}

impl Reader {
    fn property(&mut self, kind: &str, value: &str) -> Result<Option<Requirement>, String> {
        let known = [GVK_REQUIRED, PACKAGE_REQUIRED, LABEL_REQUIRED, CONSTRAINT];
        if !known.contains(&kind) {
            return Ok(None);
        }
        if value.len() > MAX_SIZE {
            return Err(format!(
                "it has {} bytes, more than {MAX_SIZE}",
                value.len()
            ));
        }
        let value: Json = serde_json::from_str(value).map_err(|error| {
            // The only limit that a value of valid JSON can meet.
            if error.to_string().starts_with("recursion limit") {
                too_deep()
            } else {
                format!("it is not valid JSON: {error}")
            }
        })?;
        let predicate = match kind {
            GVK_REQUIRED => {
                let fields = Fields::of(&value, &["group", "version", "kind"])?;
                Predicate::Api(fields.api()?)
            }
            PACKAGE_REQUIRED => package(&Fields::of(&value, &["packageName", "versionRange"])?)?,
            LABEL_REQUIRED => Predicate::Label(Fields::of(&value, &["label"])?.text(0)?.to_owned()),
            _ => {
                let (predicate, message) = self.constraint(&value, 0, true)?;
                return Ok(predicate.map(|predicate| Requirement::new(predicate, message)));
            }
        };
        Ok(Some(Requirement::new(predicate, None)))
    }

    /// A constraint and its failure message. Of several kinds at once the first in OLM's order is
    /// meant; of the others only the fields are looked at, and they come to nothing.
    fn constraint(
        &mut self,
        value: &Json,
        depth: usize,
        is_meant: bool,
    ) -> Result<(Option<Predicate>, Option<String>), String> {
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        let names = [
            "failureMessage",
            "gvk",
            "package",
            "all",
            "any",
            "not",
            "cel",
        ];
        let fields = Fields::of(value, &names)?.strict()?;
        let message = Some(fields.text(0)?.to_owned()).filter(|text| !text.is_empty());
        let mut found = None;
        for (index, name) in names.iter().enumerate().skip(1) {
            let Some(value) = fields.get(index) else {
                continue;
            };
            self.path.0.push(Step::Field(name));
            let meant = is_meant && found.is_none();
            let predicate = match *name {
                "gvk" => {
                    let fields = Fields::of(value, &["group", "version", "kind"])?.strict()?;
                    Some(Predicate::Api(fields.api()?))
                }
                "package" => {
                    let fields = Fields::of(value, &["packageName", "versionRange"])?.strict()?;
                    fields.text(0).and(fields.text(1))?;
                    meant.then(|| package(&fields)).transpose()?
                }
                "cel" => {
                    let fields = Fields::of(value, &["rule"])?.strict()?;
                    let text = fields.text(0)?;
                    meant
                        .then(|| self.rule(text, message.clone()))
                        .transpose()?
                }
                _ => Some(self.compound(name, value, depth, meant)?),
            };
            self.path.0.pop();
            found = found.or(predicate);
        }
        if is_meant && found.is_none() {
            return Err("the constraint is empty".to_owned());
        }
        Ok((found, message))
    }

    /// `all`, `any` or `not`.
    fn compound(
        &mut self,
        name: &str,
        value: &Json,
        depth: usize,
        is_meant: bool,
    ) -> Result<Predicate, String> {
        let fields = Fields::of(value, &["constraints"])?.strict()?;
        let items = match fields.get(0) {
            None => &[],
            Some(Json::Array(items)) => items.as_slice(),
            Some(other) => return Err(mismatch("constraints", "a list", other)),
        };
        let mut parts = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            self.path.0.push(Step::Item(index));
            parts.extend(self.constraint(item, depth + 1, is_meant)?.0);
            self.path.0.pop();
        }
        Ok(match name {
            "all" => Predicate::All(parts),
            "any" => Predicate::Any(parts),
            _ => Predicate::Not(parts),
        })
    }

    fn rule(&mut self, text: &str, message: Option<String>) -> Result<Predicate, String> {
        let rule = Rule::compile(text, &mut self.patterns)?;
        Ok(Predicate::Cel {
            rule,
            text: text.to_owned(),
            message,
        })
    }
}

fn package(fields: &Fields<'_>) -> Result<Predicate, String> {
    let (name, range) = (fields.text(0)?, fields.text(1)?);
    let range = Range::parse(range).map_err(|error| error.to_string())?;
    Ok(Predicate::Package(name.to_owned(), range))
}

fn too_deep() -> String {
    format!("constraints nest more than {MAX_DEPTH} levels deep")
}

fn mismatch(field: &str, expected: &str, found: &Json) -> String {
    let found = match found {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    };
    format!("`{field}` has to be {expected}, but is {found}")
}

/// The fields of an object, as Go finds them: in any case, and `null` is as good as none.
pub(super) struct Fields<'a> {
    names: &'a [&'static str],
    values: Vec<Option<&'a Json>>,
    unknown: Option<&'a str>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(value: &'a Json, names: &'a [&'static str]) -> Result<Self, String> {
        let mut fields = Self {
            names,
            values: vec![None; names.len()],
            unknown: None,
        };
        let object = match value {
            Json::Object(object) => object,
            Json::Null => return Ok(fields),
            other => return Err(mismatch("value", "an object", other)),
        };
        for (key, value) in object {
            let slot = names
                .iter()
                .zip(&mut fields.values)
                .find_map(|(name, slot)| name.eq_ignore_ascii_case(key).then_some(slot));
            match slot {
                Some(slot) if !value.is_null() => *slot = Some(value),
                Some(_) => (),
                None => fields.unknown = fields.unknown.or(Some(key)),
            }
        }
        Ok(fields)
    }

    fn strict(self) -> Result<Self, String> {
        match self.unknown {
            None => Ok(self),
            Some(field) => Err(format!("unknown field `{field}`")),
        }
    }

    fn get(&self, index: usize) -> Option<&'a Json> {
        self.values.get(index).copied().flatten()
    }

    /// The text of a field, empty if there is none.
    pub(super) fn text(&self, index: usize) -> Result<&'a str, String> {
        match self.get(index) {
            None => Ok(""),
            Some(Json::String(text)) => Ok(text),
            Some(other) => {
                let name = self.names.get(index).copied().unwrap_or_default();
                Err(mismatch(name, "a string", other))
            }
        }
    }

    /// The API that the fields group, version and kind name.
    pub(super) fn api(&self) -> Result<GroupVersionKind, String> {
        Ok(GroupVersionKind::new(
            self.text(0)?,
            self.text(1)?,
            self.text(2)?,
        ))
    }
}

/// The way to what is wrong in a constraint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Path(Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(&'static str),
    Item(usize),
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            let dot = if index == 0 { "" } else { "." };
            match step {
                Step::Field(name) => write!(f, "{dot}{name}")?,
                Step::Item(index) => write!(f, ".constraints[{index}]")?,
            }
        }
        if self.0.is_empty() {
            Ok(())
        } else {
            f.write_str(": ")
        }
    }
}
