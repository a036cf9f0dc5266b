//! Which files of a folder belong to the catalog.

use std::io;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The file that says which others to leave out, in the syntax of `.gitignore`. It counts for the
/// folder it is in and all below.
pub const INDEX_IGNORE: &str = ".indexignore";

/// The files below `dir` that make up its catalog, relative to `dir` and in order: every file,
/// whatever its name, but for [`INDEX_IGNORE`] and what it leaves out. Links to folders are not
/// followed.
pub fn walk(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs_err::read_dir(dir.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(path);
            } else if !(kind.is_symlink() && entry.path().is_dir()) {
                found.push(path);
            }
        }
    }
    found.sort();
    let mut rules = Rules::default();
    for path in found.iter().filter(|path| is_index_ignore(path)) {
        rules.add(path, &fs_err::read_to_string(dir.join(path))?);
    }
    found.retain(|path| !rules.leave_out(path));
    Ok(found)
}

/// Opens a file of a catalog. A pipe would be waited for, and a device has no end: neither is one.
pub fn open(path: &Path) -> io::Result<fs_err::File> {
    if fs_err::metadata(path)?.is_file() {
        return fs_err::File::open(path);
    }
    let problem = format!("{} is not a regular file", path.display());
    Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
}

/// What the [`INDEX_IGNORE`] files of a folder say.
#[derive(Default)]
pub(crate) struct Rules {
    by_folder: Vec<(PathBuf, Gitignore)>,
}

impl Rules {
    /// Takes in the file at `path`. Lines that are no pattern say nothing, as in git.
    pub(crate) fn add(&mut self, path: &Path, text: &str) {
        let mut builder = GitignoreBuilder::new("");
        for line in text.lines() {
            let _ = builder.add_line(None, line.trim());
        }
        if let Ok(rules) = builder.build() {
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            self.by_folder.push((folder, rules));
        }
    }

    /// Whether this file is not part of the catalog. The nearest file with something to say about
    /// it decides.
    pub(crate) fn leave_out(&self, path: &Path) -> bool {
        if is_index_ignore(path) {
            return true;
        }
        let mut nearest: Option<(usize, bool)> = None;
        for (folder, rules) in &self.by_folder {
            let Ok(inside) = path.strip_prefix(folder) else {
                continue;
            };
            let depth = folder.components().count();
            let said = match rules.matched_path_or_any_parents(inside, false) {
                Match::None => continue,
                Match::Ignore(_) => true,
                Match::Whitelist(_) => false,
            };
            if nearest.is_none_or(|(other, _)| other <= depth) {
                nearest = Some((depth, said));
            }
        }
        nearest.is_some_and(|(_, leave_out)| leave_out)
    }
}

pub(super) fn is_index_ignore(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == INDEX_IGNORE)
}
