//! From a folder to a tree of files.

use std::path::{Path, PathBuf};

use super::{Error, FileTree};

/// How much is read of a folder. The greatest real bundle has 105 files and 7 MB.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of one file.
    pub file: u64,
    /// Bytes of all files.
    pub total: u64,
    /// Number of files and folders.
    pub files: usize,
    /// Folders within folders.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file: 32 << 20,
            total: 128 << 20,
            files: 10_000,
            depth: 16,
        }
    }
}

/// Reads all files of a folder and of the folders in it.
///
/// A link is followed only to a place inside of the folder.
pub fn read_dir(root: &Path) -> Result<FileTree, Error> {
    read_dir_within(root, &Limits::default())
}

/// Like [`read_dir`], with limits of your own.
pub fn read_dir_within(root: &Path, limits: &Limits) -> Result<FileTree, Error> {
    let mut reader = Reader {
        real_root: fs_err::canonicalize(root)?,
        root,
        limits,
        total: 0,
        seen: 0,
        tree: FileTree::new(),
    };
    reader.folder(root, "", 0)?;
    Ok(reader.tree)
}

struct Reader<'a> {
    root: &'a Path,
    real_root: PathBuf,
    limits: &'a Limits,
    total: u64,
    seen: usize,
    tree: FileTree,
}

impl Reader<'_> {
    fn folder(&mut self, folder: &Path, inside: &str, depth: usize) -> Result<(), Error> {
        if depth > self.limits.depth {
            return Err(limit(
                folder,
                format!("more than {} folders deep", self.limits.depth),
            ));
        }
        for entry in fs_err::read_dir(folder)? {
            let entry = entry?;
            self.seen += 1;
            if self.seen > self.limits.files {
                let problem = format!("there are more than {} files", self.limits.files);
                return Err(limit(self.root, problem));
            }
            let path = entry.path();
            let Ok(name) = entry.file_name().into_string() else {
                return Err(limit(&path, "its name is not UTF-8".to_owned()));
            };
            if entry.file_type()?.is_symlink() {
                self.check_link(&path)?;
            }
            let meta = fs_err::metadata(&path)?;
            if meta.is_dir() {
                // A version control system keeps nothing here that belongs to a bundle.
                if name != ".git" {
                    self.folder(&path, &format!("{inside}{name}/"), depth + 1)?;
                }
            } else if meta.is_file() {
                self.file(&path, format!("{inside}{name}"), meta.len())?;
            }
        }
        Ok(())
    }

    fn check_link(&self, link: &Path) -> Result<(), Error> {
        let target = fs_err::canonicalize(link)?;
        if target.starts_with(&self.real_root) {
            return Ok(());
        }
        Err(Error::Outside {
            link: link.to_owned(),
            target,
            root: self.root.to_owned(),
        })
    }

    fn file(&mut self, path: &Path, inside: String, size: u64) -> Result<(), Error> {
        if size > self.limits.file {
            let problem = format!("the file has {size} bytes, more than {}", self.limits.file);
            return Err(limit(path, problem));
        }
        self.total += size;
        if self.total > self.limits.total {
            let problem = format!("the files have more than {} bytes", self.limits.total);
            return Err(limit(self.root, problem));
        }
        self.tree.insert(inside, fs_err::read(path)?);
        Ok(())
    }
}

fn limit(path: &Path, problem: String) -> Error {
    Error::Limit {
        path: path.to_owned(),
        problem,
    }
}
