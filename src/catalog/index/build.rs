//! Building an index: blobs in, one file out.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use serde::{Deserialize, Serialize};

use super::Error;
use super::file::FileWriter;
use super::package::{Built, build};
use super::record::{Span, Summary, plain};
use super::spool::{Kind, Spool, Spooled};
use crate::catalog::search::SearchIndex;

/// How hard blobs are compressed: hardly. They shrink to a sixth all the same.
const COMPRESSION: i32 = 1;

/// A package that is not served, or a blob that belongs to none, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The package; empty when it is not known.
    pub package: String,
    /// What is wrong.
    pub message: String,
}

/// Where the tables of an index are.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Footer {
    pub(super) summaries: Span,
    pub(super) providers: Span,
    pub(super) search: Span,
    pub(super) problems: Span,
    pub(super) loose_blobs: Vec<Span>,
}

/// An index in the making.
pub struct Builder {
    spool: Spool,
    problems: Vec<Problem>,
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, default)]
    schema: std::borrow::Cow<'a, str>,
    #[serde(borrow, default)]
    package: std::borrow::Cow<'a, str>,
    #[serde(borrow, default)]
    name: std::borrow::Cow<'a, str>,
}

impl Builder {
    /// Begins an index; `folder` is where its temporary file may lie.
    pub fn new(folder: &Path) -> Result<Self, Error> {
        Ok(Self {
            spool: Spool::new(folder)?,
            problems: Vec::new(),
        })
    }

    /// Adds a blob, as JSON. A blob that is none is reported, not refused.
    pub fn add(&mut self, blob: &[u8]) -> Result<(), Error> {
        let head: Head<'_> = match serde_json::from_slice(blob) {
            Ok(head) => head,
            Err(error) => {
                self.report("", format!("a blob cannot be read: {error}"));
                return Ok(());
            }
        };
        let (kind, package) = match head.schema.as_ref() {
            "" => {
                self.report(&head.package, "a blob has no `schema`".to_owned());
                return Ok(());
            }
            "olm.package" => (Kind::Package, &head.name),
            "olm.channel" => (Kind::Channel, &head.package),
            "olm.bundle" => (Kind::Bundle, &head.package),
            "olm.deprecations" => (Kind::Deprecations, &head.package),
            _ => (Kind::Other, &head.package),
        };
        if package.is_empty() && kind != Kind::Other {
            self.report("", format!("a blob `{}` names no package", head.schema));
            return Ok(());
        }
        self.spool.add(package, kind, blob)
    }

    /// Reports a problem that was found on the way.
    pub fn report(&mut self, package: &str, message: String) {
        self.problems.push(Problem {
            package: package.to_owned(),
            message,
        });
    }

    /// Writes the index. The file appears under its name when it is whole, never before.
    pub fn finish(self, path: &Path) -> Result<Vec<Problem>, Error> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let temporary = tempfile::Builder::new()
            .prefix(".index-")
            .tempfile_in(folder)
            .map_err(Error::io(folder))?
            .into_temp_path();
        let spooled = self.spool.finish()?;
        let problems = write(&temporary, &spooled, self.problems)?;
        temporary
            .persist(path)
            .map_err(|error| Error::io(path)(error.error))?;
        Ok(problems)
    }
}

fn write(
    path: &Path,
    spooled: &Spooled,
    mut problems: Vec<Problem>,
) -> Result<Vec<Problem>, Error> {
    let mut output = Output {
        file: FileWriter::create(path)?,
        summaries: Vec::with_capacity(spooled.packages.len()),
        providers: BTreeMap::new(),
        loose_blobs: Vec::new(),
    };
    each_package(spooled, |name, built| {
        match built {
            Package::Built(built) => output.package(*built)?,
            Package::Loose(blobs) => output.loose(&blobs)?,
            Package::Broken(message) => problems.push(Problem {
                package: name.to_owned(),
                message,
            }),
        }
        Ok(())
    })?;
    output.finish(&problems)?;
    Ok(problems)
}

enum Package {
    Built(Box<Built>),
    /// Blobs of unknown schemas that belong to no package.
    Loose(Vec<Vec<u8>>),
    Broken(String),
}

/// Builds all packages on all cores, and hands them on in the order of their names, so that the
/// same catalog makes the same file.
fn each_package(
    spooled: &Spooled,
    mut each: impl FnMut(&str, Package) -> Result<(), Error>,
) -> Result<(), Error> {
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        // Bounded: a fast builder must not fill the memory while the disk is slow.
        let (sender, receiver) = mpsc::sync_channel::<(usize, Result<Package, Error>)>(2 * workers);
        for _ in 0..workers {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((name, blobs)) = spooled.packages.get(at) else {
                        break;
                    };
                    // The receiver is gone when writing failed; then there is nothing left to do.
                    if sender.send((at, build_one(spooled, name, blobs))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        let mut due = 0;
        for (at, built) in receiver {
            waiting.insert(at, built);
            while let Some(built) = waiting.remove(&due) {
                let name = spooled.packages.get(due).map_or("", |(name, _)| name);
                each(name, built?)?;
                due += 1;
            }
        }
        Ok(())
    })
}

fn build_one(spooled: &Spooled, name: &str, blobs: &[(Kind, Span)]) -> Result<Package, Error> {
    let blobs = blobs
        .iter()
        .map(|(kind, span)| Ok((*kind, spooled.read(*span)?)))
        .collect::<Result<Vec<_>, Error>>()?;
    if name.is_empty() {
        return Ok(Package::Loose(
            blobs.iter().map(|(_, blob)| compressed(blob)).collect(),
        ));
    }
    Ok(match build(name, blobs) {
        Ok(mut built) => {
            built.package_blob = compressed(&built.package_blob);
            for blob in built.bundle_blobs.iter_mut().chain(&mut built.other_blobs) {
                *blob = compressed(blob);
            }
            Package::Built(Box::new(built))
        }
        Err(message) => Package::Broken(message),
    })
}

/// Compression into memory cannot fail; were it to, the blob is stored as it is: `read` tells the
/// two apart by the first byte, which is `{` in JSON and never in a zstd frame.
fn compressed(blob: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(blob, COMPRESSION).unwrap_or_else(|_| blob.to_vec())
}

struct Output {
    file: FileWriter,
    summaries: Vec<Summary>,
    providers: BTreeMap<plain::Tuple, Vec<u32>>,
    loose_blobs: Vec<Span>,
}

impl Output {
    fn package(&mut self, built: Built) -> Result<(), Error> {
        let Built {
            mut summary,
            mut record,
            package_blob,
            bundle_blobs,
            other_blobs,
        } = built;
        record.package_blob = self.file.append(&package_blob)?;
        for (bundle, blob) in record.bundles.iter_mut().zip(&bundle_blobs) {
            bundle.blob = self.file.append(blob)?;
        }
        for blob in &other_blobs {
            record.other_blobs.push(self.file.append(blob)?);
        }
        summary.record = self.file.append_value(&record)?;
        let position = u32::try_from(self.summaries.len()).unwrap_or(u32::MAX);
        for api in record.bundles.iter().flat_map(|bundle| &bundle.provides) {
            let packages = self.providers.entry(plain::tuple(api)).or_default();
            if packages.last() != Some(&position) {
                packages.push(position);
            }
        }
        self.summaries.push(summary);
        Ok(())
    }

    fn loose(&mut self, blobs: &[Vec<u8>]) -> Result<(), Error> {
        for blob in blobs {
            self.loose_blobs.push(self.file.append(blob)?);
        }
        Ok(())
    }

    fn finish(mut self, problems: &Vec<Problem>) -> Result<(), Error> {
        let footer = Footer {
            summaries: self.file.append_value(&self.summaries)?,
            providers: self
                .file
                .append_value(&self.providers.into_iter().collect::<Vec<_>>())?,
            search: self.file.append_value(&SearchIndex::of(&self.summaries))?,
            problems: self.file.append_value(problems)?,
            loose_blobs: self.loose_blobs,
        };
        self.file.finish(&footer)
    }
}
