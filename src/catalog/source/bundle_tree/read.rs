//! From folders to versions that are ready for the catalog, several at a time.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::graph::{Heads, Node};
use super::layout::{Content, PackageFolder};
use super::{Options, Problem};
use crate::bundle::{self, Limits, package_manifest};
use crate::catalog::fbc;
use crate::version::{Range, Version};

/// What one thread reads at a time: a version, or a package in the older format.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit<'a> {
    path: &'a Path,
    older_format: bool,
}

impl<'a> Unit<'a> {
    pub(super) fn of(folder: &'a PackageFolder) -> Box<dyn Iterator<Item = Self> + 'a> {
        match &folder.content {
            Content::Versions(versions) => Box::new(versions.iter().map(|path| Self {
                path,
                older_format: false,
            })),
            Content::PackageManifest => Box::new(std::iter::once(Self {
                path: &folder.path,
                older_format: true,
            })),
        }
    }
}

/// What became of a unit.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) versions: Vec<Ready>,
    /// The heads of channels, where a package manifest names them.
    pub(super) heads: Option<Heads>,
    pub(super) problems: Vec<Problem>,
}

/// A version, ready for the catalog.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) path: PathBuf,
    pub(super) node: Node,
    pub(super) bundle: fbc::Bundle,
    pub(super) icon: Option<fbc::Icon>,
    pub(super) description: String,
}

/// Reads all units, in their order, with as many threads as there are processors.
pub(super) fn read_all(units: &[Unit<'_>], options: &Options) -> Vec<Read> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Read)>> = Mutex::new(Vec::with_capacity(units.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.min(units.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(unit) = units.get(index) else {
                        break;
                    };
                    let read = read_unit(*unit, options);
                    // A thread that panicked had pushed all of an entry or none of it.
                    done.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((index, read));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, read)| read).collect()
}

fn read_unit(unit: Unit<'_>, options: &Options) -> Read {
    let mut read = Read::default();
    let outcome = if unit.older_format {
        read_package(unit.path, options, &mut read)
    } else {
        bundle::read_dir(unit.path)
            .and_then(|tree| bundle::load(&tree))
            .map(|bundle| read.add(unit.path, &bundle, options))
    };
    if let Err(error) = outcome {
        let problem = Problem::left_out(unit.path, error.to_string());
        read.problems.push(problem);
    }
    read
}

fn read_package(path: &Path, options: &Options, read: &mut Read) -> Result<(), bundle::Error> {
    let limits = Limits {
        total: 1 << 30,
        ..Limits::default()
    };
    let tree = bundle::read_dir_within(path, &limits)?;
    let package = package_manifest::load_package(&tree)?;
    for (folder, error) in package.broken {
        let problem = Problem::left_out(&path.join(folder), error.to_string());
        read.problems.push(problem);
    }
    for bundle in &package.bundles {
        let inside = Path::new(&bundle.csv.file).parent();
        read.add(&path.join(inside.unwrap_or(Path::new(""))), bundle, options);
    }
    read.heads = Some(Heads {
        default_channel: package.manifest.default_channel().to_owned(),
        channels: package
            .manifest
            .channels
            .into_iter()
            .map(|channel| (channel.name, channel.current_csv))
            .collect(),
    });
    Ok(())
}

impl Read {
    fn add(&mut self, path: &Path, bundle: &bundle::Bundle, options: &Options) {
        for warning in &bundle.warnings {
            let problem = Problem::warning(path, warning.to_string());
            self.problems.push(problem);
        }
        match ready(path, bundle, options, &mut self.problems) {
            Ok(ready) => self.versions.push(ready),
            Err(why) => self.problems.push(Problem::left_out(path, why)),
        }
    }
}

fn ready(
    path: &Path,
    bundle: &bundle::Bundle,
    options: &Options,
    problems: &mut Vec<Problem>,
) -> Result<Ready, String> {
    let version = Version::parse(&bundle.version)
        .map_err(|error| format!("{}: spec.version: {error}", bundle.csv.file))?;
    let image = options
        .image
        .replace("{package}", &bundle.package)
        // The tag of an image cannot hold a plus.
        .replace("{version}", &bundle.version.replace('+', "-"));
    let rendered = bundle::render_as(bundle, &image, options.form).map_err(|e| e.to_string())?;
    let spec = &bundle.csv.spec;
    Ok(Ready {
        path: path.to_owned(),
        node: Node {
            name: bundle.name.clone(),
            version,
            channels: bundle.channels.clone(),
            default_channel: bundle.default_channel.clone(),
            replaces: spec.replaces.clone(),
            skips: spec.skips.clone(),
            skip_range: skip_range(path, bundle, problems),
        },
        bundle: rendered.into(),
        icon: icon(bundle),
        description: spec.description.clone(),
    })
}

/// The range of versions that the bundle can follow. One that cannot be read would make all of the
/// channel useless, so it is left out.
fn skip_range(path: &Path, bundle: &bundle::Bundle, problems: &mut Vec<Problem>) -> String {
    let text = bundle.csv.skip_range();
    match Range::parse(text) {
        Err(error) if !text.is_empty() => {
            let why = format!("{}: olm.skipRange is ignored: {error}", bundle.csv.file);
            problems.push(Problem::warning(path, why));
            String::new()
        }
        _ => text.to_owned(),
    }
}

/// The picture of a bundle, unless its data is no base64.
fn icon(bundle: &bundle::Bundle) -> Option<fbc::Icon> {
    let icon = bundle.csv.spec.icon.first()?;
    let data: String = icon.base64data.split_whitespace().collect();
    let is_base64 = STANDARD.decode(&data).is_ok_and(|bytes| !bytes.is_empty());
    is_base64.then(|| fbc::Icon {
        base64data: data,
        mediatype: icon.mediatype.clone(),
    })
}
