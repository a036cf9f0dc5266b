//! Building an index: blobs in, one file out.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use serde::{Deserialize, Serialize};

use super::Error;
use super::file::FileWriter;
use super::head::Head;
use super::package::{Built, build};
use super::record::{Span, Summary, plain};
use super::spool::{Kind, Spool, Spooled};
use crate::catalog::fbc::{self, Meta, RawSink};
use crate::catalog::search::SearchIndex;

/// How hard blobs are compressed: hardly. They shrink to a sixth all the same.
const COMPRESSION: i32 = 1;

/// A package, or a channel of one, that is not served, or a blob that belongs to none, and why.
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

impl Builder {
    /// Begins an index; `folder` is where its temporary file may lie.
    pub fn new(folder: &Path) -> Result<Self, Error> {
        Ok(Self {
            spool: Spool::new(folder)?,
            problems: Vec::new(),
        })
    }

    /// Forgets everything that was added.
    pub fn clear(&mut self) {
        self.problems.clear();
        self.spool.clear();
    }

    /// Adds all blobs of a file, whose name stands in problems. What cannot be read is reported,
    /// and the package it belongs to is left out.
    pub fn add_file(&mut self, name: &str, reader: impl Read) -> Result<(), Error> {
        fbc::read(name, reader).feed(self)
    }

    /// Adds a blob.
    pub fn add(&mut self, blob: &Meta) -> Result<(), Error> {
        let kind = match blob {
            Meta::Package(_) => Kind::Package,
            Meta::Channel(_) => Kind::Channel,
            Meta::Bundle(_) => Kind::Bundle,
            Meta::Deprecations(_) => Kind::Deprecations,
            Meta::Other(_) => Kind::Other,
        };
        let text = fbc::meta_to_value(blob).to_string();
        self.spool.add(blob.package(), kind, text.as_bytes())
    }

    /// Reports what was found wrong on the way; the package, if one is named, is left out.
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

impl RawSink for Builder {
    type Error = Error;

    /// Bundles are by far the most and the largest: copied as they are, and understood later.
    fn text(&mut self, text: &[u8]) -> Result<bool, Error> {
        match Head::read(text) {
            Some(head) if head.is_plain_bundle() => {
                self.spool.add(&head.package, Kind::Bundle, text)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn blob(&mut self, blob: Result<fbc::Blob, fbc::Error>) -> Result<(), Error> {
        match blob {
            Ok(blob) => self.add(&blob.meta)?,
            Err(error) => self.report(error.package().unwrap_or_default(), error.to_string()),
        }
        Ok(())
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
    let unreadable: BTreeSet<String> = problems
        .iter()
        .map(|problem| problem.package.clone())
        .collect();
    each_package(spooled, |name, built| {
        match built {
            // Something of it is missing, and nobody knows what that was.
            Package::Built(_) if unreadable.contains(name) => {}
            Package::Built(mut built) => {
                report(&mut problems, name, std::mem::take(&mut built.problems));
                output.package(*built)?;
            }
            Package::Loose(blobs) => output.loose(&blobs)?,
            Package::Broken(messages) => report(&mut problems, name, messages),
        }
        Ok(())
    })?;
    output.finish(&problems)?;
    Ok(problems)
}

fn report(problems: &mut Vec<Problem>, package: &str, messages: Vec<String>) {
    problems.extend(messages.into_iter().map(|message| Problem {
        package: package.to_owned(),
        message,
    }));
}

enum Package {
    Built(Box<Built>),
    /// Blobs of unknown schemas that belong to no package.
    Loose(Vec<Vec<u8>>),
    Broken(Vec<String>),
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
        let nameless = blobs
            .iter()
            .filter(|(kind, _)| *kind != Kind::Other)
            .count();
        if nameless > 0 {
            return Ok(Package::Broken(vec![format!(
                "{nameless} blobs name no package"
            )]));
        }
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
        Err(messages) => Package::Broken(messages),
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
            provides,
            problems: _,
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
        for api in &provides {
            let packages = self.providers.entry(plain::tuple(api)).or_default();
            packages.push(position);
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
