//! Files to disk: whole, or not at all.

use std::io::{self, Write as _};
use std::path::{Component, Path};

use super::Error;
use crate::bundle::FileTree;

/// Fills a folder that is not there yet, or is empty.
pub(super) fn new_folder(folder: &Path, files: &FileTree) -> Result<(), Error> {
    let is_empty = match fs_err::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(error.into()),
    };
    if !is_empty {
        return Err(Error::Exists(folder.to_owned()));
    }
    let parent = parent_of(folder);
    fs_err::create_dir_all(parent)?;
    let beside = tempfile::Builder::new()
        .prefix(".chandler-")
        .tempdir_in(parent)?;
    for (path, content) in files {
        let relative = Path::new(path);
        if !relative
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
        {
            return Err(Error::Input(format!("`{path}` is no path in a folder")));
        }
        let path = beside.path().join(relative);
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent)?;
        }
        fs_err::write(path, content)?;
    }
    set_mode(beside.path(), 0o755)?;
    if folder.exists() {
        fs_err::remove_dir(folder)?;
    }
    fs_err::rename(beside.path(), folder)?;
    // It is somewhere else now, and stays.
    let _ = beside.keep();
    Ok(())
}

/// Writes a file that may be there. Whoever reads it meanwhile finds the old one or the new one.
pub(super) fn replace(path: &Path, text: &str) -> Result<(), Error> {
    // A link stays a link; what it leads to is replaced.
    let path = match fs_err::canonicalize(path) {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error.into()),
    };
    let parent = parent_of(&path);
    fs_err::create_dir_all(parent)?;
    let mut beside = tempfile::Builder::new()
        .prefix(".chandler-")
        .tempfile_in(parent)?;
    beside.write_all(text.as_bytes())?;
    beside.as_file().sync_all()?;
    match fs_err::metadata(&path) {
        Ok(old) => fs_err::set_permissions(beside.path(), old.permissions())?,
        Err(_) => set_mode(beside.path(), 0o644)?,
    }
    beside.persist(&path).map_err(|error| error.error)?;
    Ok(())
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Temporary files are for their owner only; what is published is for everybody.
#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs_err::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}
