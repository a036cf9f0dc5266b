//! Reading an index.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::Error;
use super::build::{Footer, Problem};
use super::file::FileReader;
use super::record::{BundleRecord, PackageRecord, Span, Summary, plain};
use crate::api::gvk::GroupVersionKind;
use crate::catalog::search::{Hit, SearchIndex};
use crate::catalog::text;

/// The largest blob that is unpacked: a damaged length must not take all memory.
const LARGEST_BLOB: usize = 256 << 20;

/// So many of what is left out are kept in memory, and so much of why.
const MOST_LEFT_OUT: usize = 100;
const LONGEST_WHY: usize = 300;

/// What of a catalog is not served, as far as people want to read it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// How many packages, and blobs that belong to none.
    pub count: usize,
    /// The first of them, each with the first thing that is wrong with it.
    pub first: Vec<Problem>,
}

impl LeftOut {
    fn of(problems: Vec<Problem>) -> Self {
        let mut packages = BTreeSet::new();
        let mut left_out = Self::default();
        for problem in problems {
            let is_new = problem.package.is_empty() || packages.insert(problem.package.clone());
            if !is_new {
                continue;
            }
            left_out.count += 1;
            if left_out.first.len() < MOST_LEFT_OUT {
                left_out.first.push(Problem {
                    package: text::name(&problem.package),
                    message: text::label(&problem.message, LONGEST_WHY),
                });
            }
        }
        left_out
    }
}

/// A catalog that can be asked.
#[derive(Debug)]
pub struct Index {
    file: FileReader,
    footer: Footer,
    summaries: Vec<Summary>,
    providers: Vec<(plain::Tuple, Vec<u32>)>,
    search: SearchIndex,
    left_out: LeftOut,
}

impl Index {
    /// Opens a file that [`Builder::finish`](super::Builder::finish) wrote.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let (file, footer) = FileReader::open::<Footer>(path)?;
        Ok(Self {
            summaries: file.read_value(footer.summaries)?,
            providers: file.read_value(footer.providers)?,
            search: file.read_value(footer.search)?,
            left_out: LeftOut::of(file.read_value(footer.problems)?),
            file,
            footer,
        })
    }

    /// The cards of all packages, by name.
    pub fn packages(&self) -> &[Summary] {
        &self.summaries
    }

    /// The card of a package.
    pub fn summary(&self, name: &str) -> Option<&Summary> {
        let at = self
            .summaries
            .binary_search_by(|summary| summary.name.as_str().cmp(name))
            .ok()?;
        self.summaries.get(at)
    }

    /// All of a package but its large blobs.
    pub fn package(&self, name: &str) -> Result<Option<PackageRecord>, Error> {
        self.summary(name)
            .map(|summary| self.file.read_value(summary.record))
            .transpose()
    }

    /// The cards of the packages that have a bundle which provides an API.
    pub fn providers(&self, api: &GroupVersionKind) -> impl Iterator<Item = &Summary> {
        let at = self
            .providers
            .binary_search_by(|(provided, _)| provided.cmp(&plain::tuple(api)))
            .ok();
        let packages = at
            .and_then(|at| self.providers.get(at))
            .map_or(&[][..], |(_, packages)| packages);
        packages
            .iter()
            .filter_map(|at| self.summaries.get(*at as usize))
    }

    /// The packages that fit a few words best, the best first.
    pub fn search(&self, words: &str) -> Vec<(&Summary, Hit)> {
        let found = self.search.find(words).into_iter();
        found
            .filter_map(|hit| Some((self.summaries.get(hit.document as usize)?, hit)))
            .collect()
    }

    /// What is not served, for people.
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// What is not served, and why.
    pub fn problems(&self) -> Result<Vec<Problem>, Error> {
        self.file.read_value(self.footer.problems)
    }

    /// The blob `olm.package` of a package.
    pub fn package_blob(&self, record: &PackageRecord) -> Result<Value, Error> {
        self.blob(record.package_blob)
    }

    /// The blob `olm.bundle` of a bundle, with everything its author wrote.
    pub fn bundle_blob(&self, bundle: &BundleRecord) -> Result<Value, Error> {
        self.blob(bundle.blob)
    }

    /// The same as JSON, for whoever needs a part of it only.
    pub fn bundle_json(&self, bundle: &BundleRecord) -> Result<Vec<u8>, Error> {
        self.json(bundle.blob)
    }

    /// Every blob of a package: itself, then channels and the like, then its bundles.
    pub fn blobs(&self, record: &PackageRecord) -> impl Iterator<Item = Result<Value, Error>> {
        (0..record.blobs()).map(|at| self.nth_blob(record, at))
    }

    /// One of the blobs of a package, which are in the order of [`Self::blobs`].
    pub fn nth_blob(&self, record: &PackageRecord, at: usize) -> Result<Value, Error> {
        let span = record.span(at).unwrap_or_default();
        self.blob(span)
    }

    /// The blobs of unknown schemas that belong to no package.
    pub fn loose_blobs(&self) -> impl Iterator<Item = Result<Value, Error>> {
        self.footer.loose_blobs.iter().map(|span| self.blob(*span))
    }

    fn blob(&self, span: Span) -> Result<Value, Error> {
        serde_json::from_slice(&self.json(span)?).map_err(|error| self.damaged(&error))
    }

    fn json(&self, span: Span) -> Result<Vec<u8>, Error> {
        let bytes = self.file.read(span)?;
        if bytes.first() == Some(&b'{') {
            return Ok(bytes);
        }
        zstd::bulk::decompress(&bytes, LARGEST_BLOB.min(size_of_frame(&bytes)))
            .map_err(|error| self.damaged(&error))
    }

    fn damaged(&self, error: &dyn std::fmt::Display) -> Error {
        self.file.corrupt(&format!("a blob: {error}"))
    }
}

/// The size that a zstd frame says it unpacks to.
fn size_of_frame(bytes: &[u8]) -> usize {
    let size = zstd::zstd_safe::get_frame_content_size(bytes)
        .ok()
        .flatten();
    size.and_then(|size| usize::try_from(size).ok())
        .unwrap_or(LARGEST_BLOB)
}
