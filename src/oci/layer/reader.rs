//! A layer as a stream of plain bytes that watches its limits.

use std::cell::RefCell;
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;

use super::{Layer, Limits, RATIO_GRACE};
use crate::oci::Error;

/// An open layer. The archive reads through [`LayerReader::handle`]; what went wrong beneath it
/// is found in [`LayerReader::take_error`], for an archive can only say that reading failed.
pub(super) struct LayerReader(Rc<RefCell<State>>);

pub(super) struct Handle(Rc<RefCell<State>>);

struct State {
    plain: Plain,
    layer: String,
    compressed: Rc<RefCell<u64>>,
    /// Plain bytes of this layer so far, and of the layers before it.
    unpacked: u64,
    before: u64,
    /// What the header of an entry may still take; none while its content is read.
    header: Option<u64>,
    total_bytes: u64,
    ratio: u64,
    error: Option<Error>,
}

enum Plain {
    Tar(Source),
    Gzip(MultiGzDecoder<Source>),
    Zstd(zstd::Decoder<'static, Source>),
}

type Source = BufReader<Counted>;

/// Counts the compressed bytes.
struct Counted {
    inner: Box<dyn Read>,
    count: Rc<RefCell<u64>>,
}

impl LayerReader {
    pub(super) fn open(layer: &Layer<'_>, limits: &Limits, before: u64) -> Result<Self, Error> {
        if !is_archive(&layer.media_type) {
            return Err(Error::Layer {
                layer: layer.digest.clone(),
                reason: format!("`{}` is no archive of files", layer.media_type),
            });
        }
        let compressed = Rc::new(RefCell::new(0));
        let mut source = BufReader::with_capacity(
            64 * 1024,
            Counted {
                inner: (layer.open)()?,
                count: Rc::clone(&compressed),
            },
        );
        let unreadable = |error: io::Error| Error::Layer {
            layer: layer.digest.clone(),
            reason: format!("it cannot be read: {error}"),
        };
        // The first bytes are more reliable than the media type.
        let start = source.fill_buf().map_err(unreadable)?;
        let plain = if start.starts_with(&[0x1f, 0x8b]) {
            Plain::Gzip(MultiGzDecoder::new(source))
        } else if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Plain::Zstd(zstd::Decoder::with_buffer(source).map_err(unreadable)?)
        } else {
            Plain::Tar(source)
        };
        Ok(Self(Rc::new(RefCell::new(State {
            plain,
            layer: layer.digest.clone(),
            compressed,
            unpacked: 0,
            before,
            header: None,
            total_bytes: limits.total_bytes,
            ratio: limits.ratio,
            error: None,
        }))))
    }

    pub(super) fn handle(&self) -> Handle {
        Handle(Rc::clone(&self.0))
    }

    /// The next bytes are the header of an entry and may be so many.
    pub(super) fn expect_header(&self, bytes: u64) {
        self.0.borrow_mut().header = Some(bytes);
    }

    /// The next bytes are content, which has its own limits.
    pub(super) fn expect_content(&self) {
        self.0.borrow_mut().header = None;
    }

    pub(super) fn take_error(&self) -> Option<Error> {
        self.0.borrow_mut().error.take()
    }

    /// Reads what is after the archive's end, so that the digest of the whole layer is checked,
    /// and gives the number of plain bytes.
    pub(super) fn finish(self) -> Result<u64, Error> {
        self.expect_content();
        let rest = io::copy(&mut self.handle(), &mut io::sink());
        if let Some(error) = self.take_error() {
            return Err(error);
        }
        let mut state = self.0.borrow_mut();
        let source: &mut dyn Read = match &mut state.plain {
            Plain::Tar(source) => source,
            Plain::Gzip(decoder) => decoder.get_mut(),
            Plain::Zstd(decoder) => decoder.get_mut(),
        };
        let rest = rest.and_then(|_| io::copy(source, &mut io::sink()));
        rest.map_err(|error| Error::Layer {
            layer: state.layer.clone(),
            reason: format!("it cannot be read: {error}"),
        })?;
        Ok(state.unpacked)
    }
}

impl Read for Handle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.borrow_mut().read(buffer)
    }
}

impl State {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match &mut self.plain {
            Plain::Tar(source) => source.read(buffer),
            Plain::Gzip(decoder) => decoder.read(buffer),
            Plain::Zstd(decoder) => decoder.read(buffer),
        };
        let count = match count {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(error) => {
                return self.stop(Error::Layer {
                    layer: self.layer.clone(),
                    reason: format!("it cannot be read: {error}"),
                });
            }
        };
        let bytes = count as u64;
        self.unpacked += bytes;
        if self.before + self.unpacked > self.total_bytes {
            return self.stop(Error::TooLarge {
                reference: self.layer.clone(),
                what: "the unpacked image".into(),
                limit: self.total_bytes,
            });
        }
        let compressed = (*self.compressed.borrow()).max(1);
        if self.unpacked > RATIO_GRACE && self.unpacked / compressed > self.ratio {
            return self.stop(Error::Layer {
                layer: self.layer.clone(),
                reason: format!(
                    "it unpacks to more than {} times its size, which is the limit",
                    self.ratio
                ),
            });
        }
        if let Some(left) = &mut self.header {
            if bytes > *left {
                return self.stop(Error::Layer {
                    layer: self.layer.clone(),
                    reason: "an entry has a header that is too large".into(),
                });
            }
            *left -= bytes;
        }
        Ok(count)
    }

    fn stop(&mut self, error: Error) -> io::Result<usize> {
        let message = error.to_string();
        self.error = Some(error);
        Err(io::Error::other(message))
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        *self.count.borrow_mut() += count as u64;
        Ok(count)
    }
}

/// OCI's and Docker's media types for layers, those not to be distributed included.
fn is_archive(media_type: &str) -> bool {
    let plain = media_type
        .trim_end_matches("+gzip")
        .trim_end_matches("+zstd")
        .trim_end_matches(".gzip")
        .trim_end_matches(".zstd");
    matches!(
        plain,
        "application/vnd.oci.image.layer.v1.tar"
            | "application/vnd.oci.image.layer.nondistributable.v1.tar"
            | "application/vnd.docker.image.rootfs.diff.tar"
            | "application/vnd.docker.image.rootfs.foreign.diff.tar"
    )
}
