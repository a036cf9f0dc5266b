//! What went wrong in the library: how bad that is, and what to do next.

use super::Failure;
use crate::catalog::{source, template};
use crate::publish::{Error, Refusal};
use crate::{bundle, oci};

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Image(error) => error.into(),
            Error::Source(error) => error.into(),
            Error::Bundle {
                reason: bundle::Error::Io(_),
                ..
            } => Self::outside(error).hint("name the folder that has `manifests` and `metadata`"),
            Error::Bundle { .. } | Error::NotABundle(_) => Self::no(error)
                .hint("a bundle has the folders `manifests` and `metadata`; `chandler bundle init` makes one"),
            Error::NoCatalog(_) => {
                Self::no(error).hint("`chandler catalog init PACKAGE` begins one")
            }
            Error::Template(template::Error::Image { .. }) => Self::outside(error),
            Error::Template(_) => Self::no(error).hint("correct the template"),
            Error::Unreadable { .. } => {
                Self::no(error).hint("`chandler catalog lint` lists all that is wrong")
            }
            Error::Refused(refusal) => refusal.into(),
            Error::Exists(_) => {
                Self::outside(error).hint("name another place, or remove what is there")
            }
            Error::Input(_) | Error::Target(_) => Self::usage(error),
            Error::Io(_) => Self::outside(error).hint("check the path, and who may read and write it"),
            Error::Interrupted(_) => Self::outside(error).hint("try again"),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let hint = match &refusal {
            Refusal::NoPackage { package } => format!(
                "begin it with `chandler catalog init {package} --default-channel CHANNEL --output-dir DIR`"
            ),
            Refusal::OtherBundle { .. } => {
                "give each version a name of its own; what is published should not change".to_owned()
            }
            Refusal::OtherEntry { .. } => {
                "leave --replaces, --skips and --skip-range out, or correct the entry in the file"
                    .to_owned()
            }
            Refusal::NotNewer { .. } => {
                "say what it replaces with `--replaces BUNDLE`, or add it to another channel".to_owned()
            }
            Refusal::Broken { .. } => {
                "nothing was written; --replaces, --skips and --channel say where the bundle belongs"
                    .to_owned()
            }
        };
        Self::no(refusal).hint(hint)
    }
}

impl From<source::Error> for Failure {
    fn from(error: source::Error) -> Self {
        match error {
            source::Error::Image(error) => error.into(),
            source::Error::NoFolder(ref path) if path.is_file() => {
                Self::outside(error).hint("name the folder that it is in")
            }
            source::Error::NoFolder(_) => {
                Self::outside(error).hint("name a folder, a file, `oci:DIR[:TAG]` or an image")
            }
            source::Error::Database(_) | source::Error::Bundle(_) => Self::no(error),
            source::Error::Bundles(_) | source::Error::NoCatalog { .. } => Self::no(error)
                .hint("a catalog is a folder of olm.package, olm.channel and olm.bundle blobs, or an image of one"),
            source::Error::Remote(_) => {
                Self::outside(error).hint("check the address, and that the registry runs")
            }
            _ => Self::outside(error),
        }
    }
}

impl From<oci::Error> for Failure {
    fn from(error: oci::Error) -> Self {
        match hint(&error) {
            (true, hint) => Self::usage(error).hint(hint),
            (false, "") => Self::outside(error),
            (false, hint) => Self::outside(error).hint(hint),
        }
    }
}

/// Whether the error is one of usage, and what to do about it.
fn hint(error: &oci::Error) -> (bool, &'static str) {
    use oci::Error as E;
    match error {
        E::Reference { .. } | E::Digest { .. } => (
            true,
            "write HOST/NAME:TAG, HOST/NAME@sha256:DIGEST or oci:DIR[:TAG]",
        ),
        E::Settings { .. } => (true, "correct it, or leave the option out"),
        E::NotFound { .. } => (false, "check the name and the tag"),
        E::Unauthorised { .. } => (false, "log in with `docker login` or `podman login`"),
        E::RateLimited { .. } => (false, "log in, or try again later"),
        E::Unreachable { .. } => (
            false,
            "check the network, or name a mirror with `--mirror FROM=TO`",
        ),
        E::Tls { .. } => (
            false,
            "`--ca-file HOST=FILE` trusts another authority, `--plain-http HOST` does without TLS",
        ),
        E::NoSource { attempts, .. } => attempts.first().map_or((false, ""), hint),
        E::DigestMismatch { .. } => (false, "try again; if it stays so, the image is damaged"),
        E::Io(_) => (false, "check the path, and who may read and write it"),
        _ => (false, ""),
    }
}
