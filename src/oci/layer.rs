//! From the layers of an image to the files in it.
//!
//! Layers lie on top of each other: a file hides the one of the same name below it, and a
//! *whiteout* (`.wh.NAME`) hides without putting anything in its place. So the top layer is read
//! first: what it shows is final, and every layer is streamed exactly once and never held.
//! Only a link makes another round necessary, when it leads to something that has gone by.
//!
//! Layers come from strangers. Absolute paths, `..`, links that lead out of the image, devices
//! and anything larger than the [`Limits`] are refused, and nothing is ever written to disk here.

mod overlay;
mod reader;

use std::collections::BTreeSet;
use std::io::{self, Read};

use tar::EntryType;

use self::overlay::Overlay;
use self::reader::LayerReader;
use super::Error;

/// What a layer may be at most.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of all layers together, unpacked, files that nobody wanted included.
    pub total_bytes: u64,
    /// Bytes of one wanted file.
    pub file_bytes: u64,
    /// Bytes of all wanted files together, each as often as links lead to it, and of all names that
    /// have to be remembered meanwhile: for whoever keeps what is handed over.
    pub wanted_bytes: u64,
    /// Entries of all layers together.
    pub entries: u64,
    /// How many bytes may come out of each byte of a layer, on average. Only looked at once
    /// [`RATIO_GRACE`] bytes came out: a small layer of zeros is no danger.
    pub ratio: u64,
}

/// How many bytes a layer may unpack to before its compression ratio matters.
pub const RATIO_GRACE: u64 = 64 * 1024 * 1024;

impl Default for Limits {
    /// Ten times what the largest real catalog needs (213 MB of JSON, packed by 10 to 50).
    fn default() -> Self {
        Self {
            total_bytes: 4 * 1024 * 1024 * 1024,
            file_bytes: 512 * 1024 * 1024,
            wanted_bytes: 4 * 1024 * 1024 * 1024,
            entries: 1_000_000,
            ratio: 400,
        }
    }
}

/// A layer that can be read, more than once if need be.
pub struct Layer<'a> {
    /// Its digest, for messages.
    pub digest: String,
    /// Its media type, which tells that it is an archive of files.
    pub media_type: String,
    /// Opens it, compressed as it is.
    pub open: Box<dyn Fn() -> Result<Box<dyn Read>, Error> + 'a>,
}

/// Takes a file: its path below the folder that was asked for, its content and its size.
///
/// A path can come twice when an archive names a file twice; then the later one counts.
pub type Sink<'a> = dyn FnMut(&str, &mut dyn Read, u64) -> Result<(), Error> + 'a;

/// How many times links may lead elsewhere.
const MAX_ROUNDS: usize = 8;
/// How many places may be looked for at once.
const MAX_REQUESTS: usize = 1000;
/// How large the names of one entry may be.
const MAX_HEADER: u64 = 1024 * 1024;

/// Hands every file below a folder of an image to a sink. Layers are given lowest first, as a
/// manifest has them; `folder` is relative to the image's root, a leading `/` is allowed, and an
/// empty one is the root.
///
/// What the sink got is only good when this succeeds: a layer's digest is known at its end.
pub fn walk(
    layers: &[Layer<'_>],
    folder: &str,
    limits: &Limits,
    sink: &mut Sink<'_>,
) -> Result<(), Error> {
    let request = Request::new(folder, "")?;
    follow(layers, BTreeSet::from([request]), limits, sink)
}

/// Hands every file below any of these folders to a sink, by its path in the image as the names of
/// the folders begin it. The layers are read once for all of them.
pub fn walk_folders(
    layers: &[Layer<'_>],
    folders: &[String],
    limits: &Limits,
    sink: &mut Sink<'_>,
) -> Result<(), Error> {
    let requests = folders
        .iter()
        .map(|folder| Request::new(folder, folder.trim_matches('/')))
        .collect::<Result<_, Error>>()?;
    follow(layers, requests, limits, sink)
}

/// Reads the layers for what is asked for, and again for where links lead.
fn follow(
    layers: &[Layer<'_>],
    mut requests: BTreeSet<Request>,
    limits: &Limits,
    sink: &mut Sink<'_>,
) -> Result<(), Error> {
    let roots: BTreeSet<String> = requests.iter().map(|it| it.target.clone()).collect();
    let mut used = Used::default();
    let mut seen = BTreeSet::new();
    for _ in 0..MAX_ROUNDS {
        let mut found = BTreeSet::new();
        let mut overlay = Overlay::default();
        for layer in layers.iter().rev() {
            let mut round = Round {
                layer,
                limits,
                requests: &requests,
                roots: &roots,
                overlay: &mut overlay,
                used: &mut used,
                found: &mut found,
            };
            round.read(sink)?;
            overlay.next_layer();
        }
        seen.extend(requests);
        requests = found.difference(&seen).cloned().collect();
        if requests.is_empty() {
            return Ok(());
        }
        if requests.len() > MAX_REQUESTS {
            break;
        }
    }
    let tangled = requests.first();
    Err(Error::Entry {
        layer: layers
            .last()
            .map_or_else(String::new, |layer| layer.digest.clone()),
        entry: tangled.map_or_else(String::new, |request| request.target.clone()),
        reason: "its links lead in a circle, or through too many others".into(),
    })
}

/// Something to look for: what is at or below `source` becomes `target` and what is below that.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Request {
    source: String,
    target: String,
}

impl Request {
    fn new(folder: &str, target: &str) -> Result<Self, Error> {
        let source = normalise(folder.trim_start_matches('/'));
        Ok(Self {
            source: source.map_err(|_| Error::Path(folder.to_owned()))?,
            target: target.to_owned(),
        })
    }
}

/// What was consumed so far, over all rounds.
#[derive(Debug, Default)]
struct Used {
    bytes: u64,
    entries: u64,
    wanted: u64,
}

/// One reading of one layer.
struct Round<'a> {
    layer: &'a Layer<'a>,
    limits: &'a Limits,
    requests: &'a BTreeSet<Request>,
    /// The folders that were asked for, as the sink knows them.
    roots: &'a BTreeSet<String>,
    overlay: &'a mut Overlay,
    used: &'a mut Used,
    found: &'a mut BTreeSet<Request>,
}

impl Round<'_> {
    fn read(&mut self, sink: &mut Sink<'_>) -> Result<(), Error> {
        let reader = LayerReader::open(self.layer, self.limits, self.used.bytes)?;
        let result = self.read_archive(&reader, sink);
        // What went wrong below the archive is the cause of what the archive says.
        if let Some(error) = reader.take_error() {
            return Err(error);
        }
        result?;
        self.used.bytes += reader.finish()?;
        Ok(())
    }

    fn read_archive(&mut self, reader: &LayerReader, sink: &mut Sink<'_>) -> Result<(), Error> {
        let mut archive = tar::Archive::new(reader.handle());
        let broken = |error: io::Error| Error::Layer {
            layer: self.layer.digest.clone(),
            reason: format!("it cannot be read: {error}"),
        };
        let mut entries = archive.entries().map_err(broken)?;
        loop {
            reader.expect_header(MAX_HEADER);
            let Some(entry) = entries.next() else {
                return Ok(());
            };
            let mut entry = entry.map_err(|error| Error::Layer {
                layer: self.layer.digest.clone(),
                reason: format!("it cannot be read: {error}"),
            })?;
            reader.expect_content();
            self.used.entries += 1;
            if self.used.entries > self.limits.entries {
                return Err(Error::Layer {
                    layer: self.layer.digest.clone(),
                    reason: format!(
                        "the image has more than {} entries, which is the limit",
                        self.limits.entries
                    ),
                });
            }
            self.entry(&mut entry, sink)?;
            io::copy(&mut entry, &mut io::sink()).map_err(|error| Error::Layer {
                layer: self.layer.digest.clone(),
                reason: format!("it cannot be read: {error}"),
            })?;
        }
    }

    fn entry(
        &mut self,
        entry: &mut tar::Entry<'_, impl Read>,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let kind = entry.header().entry_type();
        if matches!(kind, EntryType::XGlobalHeader) {
            return Ok(());
        }
        let raw = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let path = normalise(&raw).map_err(|reason| self.refuse(&raw, reason))?;
        if matches!(kind, EntryType::Block | EntryType::Char | EntryType::Fifo) {
            return Err(self.refuse(&raw, "it is a device or a pipe"));
        }
        // Only what lies on the way to something wanted, or below it, has to be remembered.
        let concerns = self
            .requests
            .iter()
            .any(|request| covers(&request.source, &path) || covers(&path, &request.source));
        let is_whiteout = self.overlay.whiteout(&path);
        if is_whiteout || concerns {
            self.keep(path.len() as u64)?;
        }
        if is_whiteout || !concerns || self.overlay.hides(&path, kind.is_dir()) {
            return Ok(());
        }
        if kind.is_dir() {
            self.overlay.directory(&path);
            return Ok(());
        }
        self.overlay.other(&path);
        if matches!(kind, EntryType::Symlink | EntryType::Link) {
            let link = entry.link_name_bytes().unwrap_or_default();
            let link = String::from_utf8_lossy(&link).into_owned();
            return self.link(&raw, &path, &link, kind);
        }
        // One folder may be in another one that is asked for as well.
        let targets: BTreeSet<String> = self
            .requests
            .iter()
            .filter_map(|request| {
                below(&request.source, &path).map(|rest| join(&request.target, rest))
            })
            .collect();
        let targets: Vec<String> = targets.into_iter().collect();
        self.file(entry, &raw, &targets, sink)
    }

    /// Takes note of where a link leads, for the next round.
    fn link(&mut self, raw: &str, path: &str, link: &str, kind: EntryType) -> Result<(), Error> {
        for request in self.requests {
            let found = if let Some(rest) = below(&request.source, path) {
                Request {
                    source: self.follow(raw, path, link, kind)?,
                    target: join(&request.target, rest),
                }
            } else if let Some(rest) = below(path, &request.source) {
                // The way to the folder leads through a link.
                Request {
                    source: join(&self.follow(raw, path, link, kind)?, rest),
                    target: request.target.clone(),
                }
            } else {
                continue;
            };
            self.found.insert(found);
        }
        Ok(())
    }

    fn file(
        &mut self,
        entry: &mut tar::Entry<'_, impl Read>,
        raw: &str,
        targets: &[String],
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let size = entry.size();
        if targets.is_empty() {
            return Ok(());
        }
        if targets.iter().any(|target| self.roots.contains(target)) {
            return Err(self.refuse(raw, "it is a file where a folder is expected"));
        }
        if size > self.limits.file_bytes {
            return Err(Error::TooLarge {
                reference: self.layer.digest.clone(),
                what: format!("the file `{raw}`"),
                limit: self.limits.file_bytes,
            });
        }
        if raw.contains(char::REPLACEMENT_CHARACTER) {
            return Err(self.refuse(raw, "its name is not UTF-8"));
        }
        for _ in targets {
            self.keep(size)?;
        }
        if let [target] = targets {
            return sink(target, entry, size);
        }
        // Several links lead here, and the content goes by only once.
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        for target in targets {
            self.used.bytes += size;
            if self.used.bytes > self.limits.total_bytes {
                return Err(Error::TooLarge {
                    reference: self.layer.digest.clone(),
                    what: "the unpacked image, with its links resolved,".into(),
                    limit: self.limits.total_bytes,
                });
            }
            sink(target, &mut content.as_slice(), size)?;
        }
        Ok(())
    }

    /// Takes note of what somebody has to keep in memory.
    fn keep(&mut self, bytes: u64) -> Result<(), Error> {
        self.used.wanted += bytes;
        if self.used.wanted <= self.limits.wanted_bytes {
            return Ok(());
        }
        let folders: Vec<&str> = self.roots.iter().map(String::as_str).collect();
        Err(Error::TooLarge {
            reference: self.layer.digest.clone(),
            what: match folders.join(", ").as_str() {
                "" => "what is wanted of the image".to_owned(),
                folders => format!("what is in {folders}, unpacked and all together,"),
            },
            limit: self.limits.wanted_bytes,
        })
    }

    /// Where a link leads, relative to the image's root.
    fn follow(&self, raw: &str, path: &str, link: &str, kind: EntryType) -> Result<String, Error> {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        // Hard links name their target from the root, symlinks from where they are; a leading
        // slash is the root of the image, as it would be in a container.
        let from_root = kind.is_hard_link() || link.starts_with('/');
        let mut parts: Vec<&str> = if from_root || parent.is_empty() {
            Vec::new()
        } else {
            parent.split('/').collect()
        };
        for part in link.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    if parts.pop().is_none() {
                        let reason = format!("it links to `{link}`, out of the image");
                        return Err(self.refuse(raw, &reason));
                    }
                }
                part => parts.push(part),
            }
        }
        Ok(parts.join("/"))
    }

    fn refuse(&self, entry: &str, reason: &str) -> Error {
        Error::Entry {
            layer: self.layer.digest.clone(),
            entry: entry.to_owned(),
            reason: reason.to_owned(),
        }
    }
}

/// A path of plain names, without `.` and empty parts.
fn normalise(path: &str) -> Result<String, &'static str> {
    if path.starts_with('/') {
        return Err("its path is absolute");
    }
    if path.contains('\0') {
        return Err("its path holds a NUL");
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return Err("its path holds `..`"),
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

/// Whether `path` is `folder` or below it.
fn covers(folder: &str, path: &str) -> bool {
    below(folder, path).is_some()
}

/// The rest of a path that is a folder's, or below it.
fn below<'p>(folder: &str, path: &'p str) -> Option<&'p str> {
    if folder.is_empty() {
        return Some(path);
    }
    let rest = path.strip_prefix(folder)?;
    if rest.is_empty() {
        Some(rest)
    } else {
        rest.strip_prefix('/')
    }
}

fn join(folder: &str, rest: &str) -> String {
    match (folder, rest) {
        ("", rest) => rest.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, rest) => format!("{folder}/{rest}"),
    }
}

#[cfg(test)]
mod tests;
