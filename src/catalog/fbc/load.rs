//! A whole catalog from its files, and what of it can be served.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use super::catalog::Catalog;
use super::error::Error;
use super::read::read;
use super::validate::{Problem, Rule, validate};
use super::walk::{Rules, is_index_ignore, walk};
use crate::bundle::FileTree;

/// What the files of a catalog hold, sound or not.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Every blob that could be read.
    pub catalog: Catalog,
    /// Why the others could not.
    pub errors: Vec<Error>,
}

/// What of a catalog can be served, and why the rest cannot.
#[derive(Debug, Default)]
pub struct Checked {
    /// The sound packages.
    pub catalog: Catalog,
    /// The packages that were left out, each with everything that is wrong with it.
    pub broken: BTreeMap<String, Vec<Problem>>,
    /// What is not as it should be in the sound packages.
    pub warnings: Vec<Problem>,
    /// What could not be read, whether or not it is known to which package it belongs.
    pub errors: Vec<Error>,
}

/// Loads the catalog in a folder, or in a single file. An error only if there is nothing to read;
/// files that cannot be read are listed beside the rest.
pub fn load_dir(path: &Path) -> Result<Loaded, Error> {
    let failed = |path: &Path, source| Error::Io {
        file: path.to_string_lossy().into(),
        source,
    };
    let mut loaded = Loaded::default();
    if path.is_file() {
        let file = super::walk::open(path).map_err(|source| failed(path, source))?;
        loaded.read(&path.to_string_lossy(), file);
        return Ok(loaded);
    }
    for inside in walk(path).map_err(|source| failed(path, source))? {
        match super::walk::open(&path.join(&inside)) {
            Ok(file) => loaded.read(&inside.to_string_lossy(), file),
            Err(source) => loaded.errors.push(failed(&inside, source)),
        }
    }
    Ok(loaded)
}

/// Loads the catalog in a folder that is in memory.
pub fn load_tree(files: &FileTree) -> Loaded {
    let mut rules = Rules::default();
    for (path, content) in files {
        if is_index_ignore(Path::new(path)) {
            rules.add(Path::new(path), &String::from_utf8_lossy(content));
        }
    }
    let mut files: Vec<(&Path, &Vec<u8>)> = files
        .iter()
        .map(|(path, content)| (Path::new(path), content))
        .filter(|(path, _)| !rules.leave_out(path))
        .collect();
    files.sort();
    let mut loaded = Loaded::default();
    for (path, content) in files {
        loaded.read(&path.to_string_lossy(), content.as_slice());
    }
    loaded
}

impl Loaded {
    /// Takes in what a file holds.
    pub fn read(&mut self, name: &str, reader: impl Read) {
        for blob in read(name, reader) {
            match blob {
                Ok(blob) => self.catalog.add(blob.meta),
                Err(error) => self.errors.push(error),
            }
        }
    }

    /// Leaves out the packages that are broken: opm would refuse them, or a part of them could not
    /// be read.
    pub fn check(self) -> Checked {
        let mut checked = Checked {
            catalog: Catalog {
                others: self.catalog.others,
                ..Catalog::default()
            },
            errors: self.errors,
            ..Checked::default()
        };
        for error in &checked.errors {
            if let Some(package) = error.package() {
                let problems = checked.broken.entry(package.to_owned()).or_default();
                problems.push(Problem::unreadable(package, error));
            }
        }
        for (name, blobs) in self.catalog.packages {
            let (refusals, warnings): (Vec<Problem>, Vec<Problem>) = validate(&name, &blobs)
                .into_iter()
                .partition(|problem| problem.rule.refuses());
            checked.warnings.extend(warnings);
            if refusals.is_empty() && !checked.broken.contains_key(&name) {
                checked.catalog.packages.insert(name, blobs);
            } else {
                checked.broken.entry(name).or_default().extend(refusals);
            }
        }
        checked
    }
}

impl Problem {
    fn unreadable(package: &str, error: &Error) -> Self {
        Self {
            rule: Rule::Unreadable,
            package: package.to_owned(),
            channel: None,
            bundle: None,
            problem: format!("a blob of it cannot be read: {error}"),
            advice: "correct that file".to_owned(),
        }
    }
}
