//! What can be wrong with a bundle.

use std::fmt;
use std::path::PathBuf;

use crate::yaml;

/// Why a bundle cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A folder or file could not be read; the message names it.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Something leads out of the folder of the bundle.
    #[error("{} is a link to {}, which is outside of {}", link.display(), target.display(), root.display())]
    Outside {
        /// The link.
        link: PathBuf,
        /// Where it leads.
        target: PathBuf,
        /// The folder that was to be read.
        root: PathBuf,
    },
    /// There is more in a folder than a bundle has.
    #[error("{}: {problem}", path.display())]
    Limit {
        /// Where the limit was passed.
        path: PathBuf,
        /// Which limit.
        problem: String,
    },
    /// No file says which package the bundle belongs to.
    #[error(
        "no annotations in {folder}: expected a file such as {folder}annotations.yaml with \
         `operators.operatorframework.io.bundle.package.v1`"
    )]
    NoAnnotations {
        /// The folder that was searched.
        folder: String,
    },
    /// The annotations do not name a package.
    #[error("{file}: expected the annotation `operators.operatorframework.io.bundle.package.v1`")]
    NoPackage {
        /// The file with the annotations.
        file: String,
    },
    /// There is no operator in the bundle.
    #[error("no ClusterServiceVersion in {folder}{}", because(warnings))]
    NoCsv {
        /// The folder that was searched.
        folder: String,
        /// What may be the reason.
        warnings: Vec<Warning>,
    },
    /// A text is not YAML or does not fit; the message names file and line.
    #[error(transparent)]
    Yaml(#[from] yaml::Error),
    /// An object is not what its kind promises.
    #[error("{file}: {path}: {problem}")]
    Object {
        /// The file.
        file: String,
        /// The way to the part that is wrong.
        path: String,
        /// What was found and what was expected.
        problem: String,
    },
    /// The operator says that it owns an API which the bundle does not bring.
    #[error(
        "{file}: spec.customresourcedefinitions.owned: {api} is in no CustomResourceDefinition of the bundle"
    )]
    OwnedNotShipped {
        /// The file of the `ClusterServiceVersion`.
        file: String,
        /// The API.
        api: String,
    },
    /// A property of the bundle cannot be read.
    #[error("{what}: {problem}")]
    Property {
        /// Which one.
        what: String,
        /// What was found and what was expected.
        problem: String,
    },
    /// A folder is not a package in the package-manifest format.
    #[error(
        "no package manifest in {folder}: expected a file such as {folder}NAME.package.yaml with `packageName`"
    )]
    NoPackageManifest {
        /// The folder that was searched.
        folder: String,
    },
}

fn because(warnings: &[Warning]) -> String {
    warnings
        .first()
        .map_or_else(String::new, |first| format!(" ({first})"))
}

/// Something that looks like a mistake but does not make a bundle useless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The file.
    pub file: String,
    /// The line, where it is known.
    pub line: Option<usize>,
    /// What was found and what was expected.
    pub problem: String,
}

impl Warning {
    pub(super) fn new(file: &str, problem: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line: None,
            problem: problem.into(),
        }
    }

    pub(super) fn at(file: &str, line: usize, problem: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            ..Self::new(file, problem)
        }
    }

    pub(super) fn of_yaml(file: &str, error: &yaml::Error) -> Self {
        let problem = match error {
            yaml::Error::Syntax { problem, .. } | yaml::Error::Limit { problem, .. } => {
                problem.clone()
            }
            other => other.to_string(),
        };
        Self {
            file: file.to_owned(),
            line: error.place().map(|place| place.line),
            problem,
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.problem),
            None => write!(f, "{}: {}", self.file, self.problem),
        }
    }
}
