//! The first files of a bundle, and of a package in a catalog.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Error, write};
use crate::bundle::FileTree;
use crate::catalog::fbc::{Icon, Package};
use crate::version::Version;

const CSV: &str = include_str!("init/clusterserviceversion.yaml");
const CRD: &str = include_str!("init/customresourcedefinition.yaml");
const ANNOTATIONS: &str = include_str!("init/annotations.yaml");
const ICON: &str = include_str!("init/icon.svg");

/// The files of a new bundle. They are sound as they are; what has to be written by the author is
/// marked with `TODO`.
pub fn bundle(name: &str, version: &str) -> Result<FileTree, Error> {
    check_name("the name of an operator", name)?;
    Version::parse(version).map_err(|error| Error::Input(error.to_string()))?;
    let short = name.strip_suffix("-operator").unwrap_or(name);
    let kind = kind_of(short);
    let singular = kind.to_lowercase();
    let fill = |text: &str| {
        text.replace("@NAME@", name)
            .replace("@VERSION@", version)
            // Neither a name nor the tag of an image can hold a plus.
            .replace("@TAG@", &version.replace('+', "-"))
            .replace("@DISPLAY@", &words_of(short))
            .replace("@GROUP@", &format!("{short}.example.com"))
            .replace("@KIND@", &kind)
            .replace("@SINGULAR@", &singular)
            .replace("@PLURAL@", &format!("{singular}s"))
            .replace("@ICON@", &STANDARD.encode(ICON))
            .into_bytes()
    };
    Ok(FileTree::from([
        (
            format!("manifests/{name}.clusterserviceversion.yaml"),
            fill(CSV),
        ),
        (
            format!("manifests/{short}.example.com_{singular}s.yaml"),
            fill(CRD),
        ),
        ("metadata/annotations.yaml".to_owned(), fill(ANNOTATIONS)),
    ]))
}

/// A new package for a catalog.
pub fn package(
    name: &str,
    default_channel: &str,
    description: &str,
    icon: Option<Icon>,
) -> Result<Package, Error> {
    check_name("the name of a package", name)?;
    if default_channel.is_empty() {
        return Err(Error::Input("the default channel has no name".to_owned()));
    }
    Ok(Package {
        name: name.to_owned(),
        default_channel: default_channel.to_owned(),
        icon,
        description: description.to_owned(),
        properties: Vec::new(),
    })
}

/// Reads a picture; what kind it is tells its beginning.
pub fn icon(path: &Path) -> Result<Icon, Error> {
    let bytes = fs_err::read(path)?;
    let text = String::from_utf8_lossy(bytes.get(..1024).unwrap_or(&bytes)).into_owned();
    let mediatype = match bytes.as_slice() {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        _ if text.contains("<svg") => "image/svg+xml",
        _ => {
            return Err(Error::Input(format!(
                "{} is no picture: expected SVG, PNG, JPEG or GIF",
                path.display()
            )));
        }
    };
    Ok(Icon {
        base64data: STANDARD.encode(&bytes),
        mediatype: mediatype.to_owned(),
    })
}

/// Writes a package into a catalog's folder, as `PACKAGE/catalog.yaml` or `.json`, and gives that
/// path. A file that is there stays.
pub fn write_package(
    folder: &Path,
    package: &str,
    extension: &str,
    text: &str,
) -> Result<PathBuf, Error> {
    let path = folder.join(package).join(format!("catalog.{extension}"));
    if path.exists() {
        return Err(Error::Exists(path));
    }
    write::replace(&path, text)?;
    Ok(path)
}

/// Names of packages are names of objects in a cluster, and parts of names of images.
fn check_name(what: &str, name: &str) -> Result<(), Error> {
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let good = (1..=63).contains(&name.len())
        && name.chars().all(letters)
        && !name.starts_with('-')
        && !name.ends_with('-');
    if good {
        return Ok(());
    }
    Err(Error::Input(format!(
        "`{name}` cannot be {what}: use at most 63 lower-case letters, digits and `-`, with a letter \
         or digit at both ends"
    )))
}

/// `gopher-farm` is `GopherFarm`; a kind begins with a letter.
fn kind_of(name: &str) -> String {
    let kind: String = name.split('-').map(capitalised).collect();
    if kind.starts_with(|first: char| first.is_ascii_alphabetic()) {
        kind
    } else {
        format!("X{kind}")
    }
}

/// `gopher-farm` is `Gopher Farm`.
fn words_of(name: &str) -> String {
    let words: Vec<String> = name.split('-').map(capitalised).collect();
    words.join(" ")
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::bundle;
    use crate::bundle::lint::{Severity, lint};
    use crate::bundle::load;

    #[rstest]
    #[case("gopher-operator", "1.0.0")]
    #[case("a", "0.0.1-rc.1+build.7")]
    #[case("3scale", "2.0.0")]
    #[case("x--y-operator", "0.1.0")]
    fn a_new_bundle_has_no_errors_and_only_its_image_to_be_pinned(
        #[case] name: &str,
        #[case] version: &str,
    ) {
        let loaded = load(&bundle(name, version).unwrap()).unwrap();
        assert_eq!(loaded.package, name);
        assert_eq!(loaded.version, version);
        let findings = lint(&loaded);
        let errors: Vec<_> = findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
        let rules: Vec<_> = findings.iter().map(|finding| finding.rule).collect();
        assert!(rules.contains(&"image-not-pinned"), "{rules:?}");
    }

    #[rstest]
    #[case("Gopher", "1.0.0")]
    #[case("", "1.0.0")]
    #[case("-a", "1.0.0")]
    #[case("a.b", "1.0.0")]
    #[case("gopher", "1")]
    fn a_bad_name_or_version_is_refused(#[case] name: &str, #[case] version: &str) {
        assert!(bundle(name, version).is_err());
    }
}
