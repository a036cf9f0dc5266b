//! What upper layers hide of those below them.

use std::collections::HashSet;

const WHITEOUT: &str = ".wh.";
const OPAQUE: &str = ".wh..wh..opq";

/// The layers above the one that is being read.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    above: Shadows,
    /// What the current layer hides; its own entries are not concerned.
    current: Shadows,
}

#[derive(Debug, Default)]
struct Shadows {
    /// Nothing at or below these is seen: files, links and whiteouts.
    covered: HashSet<String>,
    /// Nothing below these is seen: opaque folders.
    emptied: HashSet<String>,
    /// Only folders are seen here.
    folders: HashSet<String>,
}

impl Overlay {
    /// Takes note if an entry is a whiteout, and says whether it is one.
    pub(super) fn whiteout(&mut self, path: &str) -> bool {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if name == OPAQUE {
            self.current.emptied.insert(folder.to_owned());
            return true;
        }
        let Some(hidden) = name.strip_prefix(WHITEOUT) else {
            return false;
        };
        // `.wh..wh.` begins the names of a file system's own notes, which hide nothing.
        if !hidden.is_empty() && !hidden.starts_with(WHITEOUT) {
            let hidden = if folder.is_empty() {
                hidden.to_owned()
            } else {
                format!("{folder}/{hidden}")
            };
            self.current.covered.insert(hidden);
        }
        true
    }

    /// The layer being read has a folder here.
    pub(super) fn directory(&mut self, path: &str) {
        self.current.folders.insert(path.to_owned());
    }

    /// The layer being read has something here that is not a folder.
    pub(super) fn other(&mut self, path: &str) {
        self.current.covered.insert(path.to_owned());
    }

    /// Whether an upper layer hides this.
    pub(super) fn hides(&self, path: &str, is_folder: bool) -> bool {
        let above = &self.above;
        if !is_folder && above.folders.contains(path) {
            return true;
        }
        if above.covered.contains(path) {
            return true;
        }
        let mut folder = path;
        while let Some((parent, _)) = folder.rsplit_once('/') {
            if above.covered.contains(parent) || above.emptied.contains(parent) {
                return true;
            }
            folder = parent;
        }
        !path.is_empty() && above.emptied.contains("")
    }

    /// The current layer is read; the next one is below it.
    pub(super) fn next_layer(&mut self) {
        let current = std::mem::take(&mut self.current);
        self.above.covered.extend(current.covered);
        self.above.emptied.extend(current.emptied);
        self.above.folders.extend(current.folders);
    }
}
