//! Real bundles of OperatorHub.io, for those who have them.
//!
//! `CHANDLER_TEST_DATA` names the folder with `community.tar.zst`; without it, `shared/data` beside
//! the repository is looked at.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use super::cluster::repository;

/// A file of the archive.
pub struct DataFile {
    /// Its path in the archive.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// Calls `each` for every YAML file of the archive, in its order. False, with a line that says so,
/// when the archive is not there.
pub fn each_yaml_file(test: &str, mut each: impl FnMut(DataFile)) -> anyhow::Result<bool> {
    let folder = std::env::var_os("CHANDLER_TEST_DATA")
        .map_or_else(|| repository().join("../shared/data"), PathBuf::from);
    let archive = folder.join("community.tar.zst");
    if !archive.exists() {
        skipped(
            test,
            "community.tar.zst is not there (see CONTRIBUTING.md, test data)",
        );
        return Ok(false);
    }
    let decoder = zstd::Decoder::new(fs_err::File::open(&archive)?)?;
    let mut files = tar::Archive::new(decoder);
    for file in files.entries()? {
        let mut file = file?;
        let path = file.path()?.to_string_lossy().into_owned();
        let extension = std::path::Path::new(&path).extension();
        if extension.is_some_and(|extension| extension == "yaml" || extension == "yml") {
            let mut content = String::new();
            file.read_to_string(&mut content)?;
            each(DataFile {
                path,
                text: content,
            });
        }
    }
    Ok(true)
}

/// Says that a test did not run, past the harness, which hides what passing tests print.
pub fn skipped(test: &str, reason: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {reason}");
}
