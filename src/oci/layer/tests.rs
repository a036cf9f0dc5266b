use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write as _};

use proptest::prelude::*;
use rstest::rstest;
use tar::{EntryType, Header};

use super::{Layer, Limits, RATIO_GRACE, walk, walk_folders};
use crate::oci::Error;

const TAR: &str = "application/vnd.oci.image.layer.v1.tar";

type Files = BTreeMap<String, String>;

/// An archive, entry by entry: paths go in as they are, bad ones too.
#[derive(Default)]
struct Tar(Vec<u8>);

impl Tar {
    fn entry(mut self, path: &str, kind: EntryType, link: &str, content: &[u8]) -> Self {
        let mut header = Header::new_gnu();
        let name = &mut header.as_old_mut().name;
        name[..path.len()].copy_from_slice(path.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }
    fn file(self, path: &str, content: &str) -> Self {
        self.entry(path, EntryType::Regular, "", content.as_bytes())
    }
    fn folder(self, path: &str) -> Self {
        self.entry(path, EntryType::Directory, "", b"")
    }
    fn symlink(self, path: &str, to: &str) -> Self {
        self.entry(path, EntryType::Symlink, to, b"")
    }
    fn hard_link(self, path: &str, to: &str) -> Self {
        self.entry(path, EntryType::Link, to, b"")
    }
    fn end(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        self.0
    }
}

fn layer(media_type: &str, bytes: Vec<u8>) -> Layer<'static> {
    Layer {
        digest: "sha256:test".into(),
        media_type: media_type.into(),
        open: Box::new(move || Ok(Box::new(Cursor::new(bytes.clone())))),
    }
}

fn read(layers: Vec<Tar>, folder: &str) -> Result<Files, Error> {
    let layers: Vec<_> = layers
        .into_iter()
        .map(|tar| layer(TAR, tar.end()))
        .collect();
    read_layers(&layers, folder, &Limits::default())
}

fn read_layers(layers: &[Layer<'_>], folder: &str, limits: &Limits) -> Result<Files, Error> {
    let mut files = Files::new();
    walk(layers, folder, limits, &mut |path, content, size| {
        let mut text = String::new();
        content.read_to_string(&mut text)?;
        assert_eq!(text.len() as u64, size);
        files.insert(path.to_owned(), text);
        Ok(())
    })?;
    Ok(files)
}

fn files(expected: &[(&str, &str)]) -> Files {
    expected
        .iter()
        .map(|(path, content)| ((*path).to_owned(), (*content).to_owned()))
        .collect()
}

#[test]
fn only_what_is_below_the_folder_is_handed_over_under_its_path_there() {
    let tar = || {
        Tar::default()
            .file("./configs/a/catalog.yaml", "a")
            .file("configs/b.json", "b")
            .file("configs-old/c.json", "c")
            .file("etc/passwd", "root")
    };
    let expected = files(&[("a/catalog.yaml", "a"), ("b.json", "b")]);
    for folder in ["configs", "/configs", "/configs/", "./configs"] {
        assert_eq!(read(vec![tar()], folder).unwrap(), expected, "{folder}");
    }
    assert_eq!(read(vec![tar()], "").unwrap().len(), 4);
}

#[test]
fn an_upper_file_hides_the_lower_one_and_all_below_a_folder_it_replaces() {
    let low = Tar::default()
        .file("m/x", "low")
        .file("m/y", "low")
        .file("m/sub/z", "low");
    let high = Tar::default()
        .file("m/x", "high")
        .file("m/sub", "a file now");
    assert_eq!(
        read(vec![low, high], "m").unwrap(),
        files(&[("sub", "a file now"), ("x", "high"), ("y", "low")])
    );
}

#[test]
fn a_folder_over_a_file_hides_the_file() {
    let low = Tar::default().file("m/x", "low");
    let high = Tar::default().folder("m/x/").file("m/x/y", "high");
    assert_eq!(
        read(vec![low, high], "m").unwrap(),
        files(&[("x/y", "high")])
    );
}

#[test]
fn a_whiteout_hides_what_is_below_and_not_what_is_beside_it() {
    let low = Tar::default()
        .file("m/x", "low")
        .file("m/gone/a", "low")
        .file("m/xy", "low");
    let high = Tar::default()
        .file("m/.wh.x", "")
        .file("m/.wh.gone", "")
        .file("m/gone/b", "high");
    assert_eq!(
        read(vec![low, high], "m").unwrap(),
        files(&[("gone/b", "high"), ("xy", "low")])
    );
}

#[test]
fn an_opaque_folder_shows_only_its_own_content() {
    let low = Tar::default().file("m/x", "low").file("m/s/y", "low");
    let middle = Tar::default().file("m/z", "middle");
    let high = Tar::default()
        .folder("m/")
        .file("m/new", "high")
        .file("m/.wh..wh..opq", "");
    assert_eq!(
        read(vec![low, middle, high], "m").unwrap(),
        files(&[("new", "high")])
    );
}

#[test]
fn a_whiteout_of_a_parent_hides_the_folder_that_is_asked_for() {
    let low = Tar::default().file("a/b/c", "low");
    let high = Tar::default().file(".wh.a", "");
    assert_eq!(read(vec![low, high], "a/b").unwrap(), Files::new());
}

#[test]
fn what_the_middle_layer_brings_back_after_a_whiteout_below_is_seen() {
    let low = Tar::default().file("m/x", "low");
    let middle = Tar::default().file("m/.wh.x", "");
    let high = Tar::default().file("m/x", "high");
    assert_eq!(
        read(vec![low, middle, high], "m").unwrap(),
        files(&[("x", "high")])
    );
}

#[rstest]
#[case("configs", "opt/catalog")]
#[case("configs", "/opt/catalog")]
#[case("configs", "./opt/../opt/catalog")]
fn a_folder_that_is_a_symlink_is_followed_in_any_order(#[case] path: &str, #[case] to: &str) {
    let expected = files(&[("a.yaml", "a"), ("p/b.yaml", "b")]);
    let content = |tar: Tar| {
        tar.file("opt/catalog/a.yaml", "a")
            .file("opt/catalog/p/b.yaml", "b")
    };
    let before = content(Tar::default().symlink(path, to));
    assert_eq!(read(vec![before], "configs").unwrap(), expected);
    let after = content(Tar::default()).symlink(path, to);
    assert_eq!(read(vec![after], "configs").unwrap(), expected);
    let apart = vec![content(Tar::default()), Tar::default().symlink(path, to)];
    assert_eq!(read(apart, "configs").unwrap(), expected);
}

#[test]
fn a_symlink_on_the_way_to_the_folder_is_followed() {
    let tar = Tar::default()
        .symlink("etc/opm", "../var/opm")
        .file("var/opm/configs/a", "a");
    assert_eq!(
        read(vec![tar], "etc/opm/configs").unwrap(),
        files(&[("a", "a")])
    );
}

#[test]
fn a_symlink_that_was_removed_is_not_followed() {
    let low = Tar::default().symlink("m/x", "../o").file("o", "other");
    let high = Tar::default().file("m/.wh.x", "");
    assert_eq!(read(vec![low, high], "m").unwrap(), Files::new());
}

#[test]
fn links_inside_the_image_are_resolved_to_content() {
    let low = Tar::default().file("shared/x", "content");
    let high = Tar::default()
        .file("m/a", "a")
        .hard_link("m/hard", "m/a")
        .symlink("m/soft", "a")
        .symlink("m/chain", "soft")
        .symlink("m/outside-of-folder", "../shared/x")
        .symlink("m/dangling", "nowhere");
    assert_eq!(
        read(vec![low, high], "m").unwrap(),
        files(&[
            ("a", "a"),
            ("chain", "a"),
            ("hard", "a"),
            ("outside-of-folder", "content"),
            ("soft", "a"),
        ])
    );
}

#[rstest]
#[case(Tar::default().file("/m/x", ""), "/m/x", "absolute")]
#[case(Tar::default().file("m/../../x", ""), "m/../../x", "`..`")]
#[case(Tar::default().file("other/../x", ""), "other/../x", "`..`")]
#[case(Tar::default().symlink("m/x", "../../etc/passwd"), "m/x", "out of the image")]
#[case(Tar::default().hard_link("m/x", "../etc/passwd"), "m/x", "out of the image")]
#[case(Tar::default().entry("m/null", EntryType::Char, "", b""), "m/null", "device")]
#[case(Tar::default().entry("dev/sda", EntryType::Block, "", b""), "dev/sda", "device")]
#[case(Tar::default().entry("m/pipe", EntryType::Fifo, "", b""), "m/pipe", "device")]
#[case(Tar::default().symlink("m/l", "../m"), "l/l", "circle")]
#[case(Tar::default().file("m", ""), "m", "a folder is expected")]
fn what_is_dangerous_is_refused_with_its_layer_and_name(
    #[case] tar: Tar,
    #[case] entry: &str,
    #[case] reason: &str,
) {
    let error = read(vec![tar], "m").unwrap_err();
    assert!(matches!(error, Error::Entry { .. }), "{error}");
    let message = error.to_string();
    for part in ["sha256:test", entry, reason] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_link_out_of_the_image_that_nobody_asked_for_is_no_matter() {
    let tar = Tar::default()
        .symlink("usr/deep", "../../../../etc")
        .file("m/x", "x");
    assert_eq!(read(vec![tar], "m").unwrap(), files(&[("x", "x")]));
}

#[rstest]
#[case::gzip("application/vnd.oci.image.layer.v1.tar+gzip", gzip as fn(&[u8]) -> Vec<u8>)]
#[case::docker("application/vnd.docker.image.rootfs.diff.tar.gzip", gzip as fn(&[u8]) -> Vec<u8>)]
#[case::zstd("application/vnd.oci.image.layer.v1.tar+zstd", zstd as fn(&[u8]) -> Vec<u8>)]
#[case::plain(TAR, |bytes: &[u8]| bytes.to_vec())]
#[case::mislabelled("application/vnd.docker.image.rootfs.diff.tar.gzip", |bytes: &[u8]| bytes.to_vec())]
fn a_layer_is_unpacked_whatever_its_compression(
    #[case] media_type: &str,
    #[case] pack: fn(&[u8]) -> Vec<u8>,
) {
    let tar = Tar::default().file("m/x", "content").end();
    let layers = [layer(media_type, pack(&tar))];
    let result = read_layers(&layers, "m", &Limits::default());
    assert_eq!(result.unwrap(), files(&[("x", "content")]));
}

#[test]
fn a_layer_that_is_no_archive_is_refused() {
    let layers = [layer("application/vnd.cncf.helm.chart", Vec::new())];
    let error = read_layers(&layers, "", &Limits::default()).unwrap_err();
    assert!(error.to_string().contains("no archive"), "{error}");
}

#[test]
fn a_truncated_layer_is_an_error_and_not_a_shorter_image() {
    let packed = gzip(&Tar::default().file("m/x", &"content ".repeat(1000)).end());
    for cut in [packed.len() / 2, packed.len() - 1] {
        let layers = [layer(TAR, packed[..cut].to_vec())];
        let result = read_layers(&layers, "m", &Limits::default());
        assert!(result.is_err(), "{cut} of {}", packed.len());
    }
}

#[test]
fn each_limit_is_kept() {
    let many = |tar: Tar, n| (0..n).fold(tar, |tar, i| tar.file(&format!("m/{i}"), "12345678"));
    let bytes = many(Tar::default(), 20).end();
    let check = |limits: Limits, words: &str| {
        let error = read_layers(&[layer(TAR, bytes.clone())], "m", &limits).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    };
    check(
        Limits {
            total_bytes: 5000,
            ..Limits::default()
        },
        "unpacked image",
    );
    check(
        Limits {
            file_bytes: 7,
            ..Limits::default()
        },
        "the file `m/0`",
    );
    check(
        Limits {
            wanted_bytes: 100,
            ..Limits::default()
        },
        "what is wanted of the image is larger than the 100 bytes",
    );
    check(
        Limits {
            entries: 19,
            ..Limits::default()
        },
        "19 entries",
    );
}

#[test]
fn several_folders_are_read_at_once_each_layer_only_once() {
    let opened = std::rc::Rc::new(std::cell::Cell::new(0));
    let count = opened.clone();
    let tar = Tar::default()
        .file("a/one", "1")
        .file("a/in/two", "2")
        .file("b/three", "3")
        .file("c/four", "4")
        .end();
    let layers = [Layer {
        open: Box::new(move || {
            count.set(count.get() + 1);
            Ok(Box::new(Cursor::new(tar.clone())))
        }),
        ..layer(TAR, Vec::new())
    }];
    let mut found = Files::new();
    let folders = ["a/", "a/in/", "b/"].map(str::to_owned);
    let read = walk_folders(
        &layers,
        &folders,
        &Limits::default(),
        &mut |path, content, _| {
            let mut text = String::new();
            content.read_to_string(&mut text)?;
            assert_eq!(
                found.insert(path.to_owned(), text),
                None,
                "{path} came twice"
            );
            Ok(())
        },
    );
    read.unwrap();
    assert_eq!(
        found,
        files(&[("a/one", "1"), ("a/in/two", "2"), ("b/three", "3")])
    );
    assert_eq!(opened.get(), 1);
    let file = [layer(TAR, Tar::default().file("b", "a file").end())];
    let error = walk_folders(&file, &folders, &Limits::default(), &mut |_, _, _| Ok(()));
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("a file where a folder is expected"),
        "{error}"
    );
}

#[test]
fn names_that_have_to_be_remembered_count_as_well() {
    let names = (0..50).fold(Tar::default(), |tar, n| {
        tar.file(&format!("elsewhere/.wh.{n}"), "")
    });
    let limits = Limits {
        wanted_bytes: 100,
        ..Limits::default()
    };
    let error = read_layers(&[layer(TAR, names.end())], "m", &limits).unwrap_err();
    assert!(error.to_string().contains("100 bytes"), "{error}");
}

#[rstest]
#[case::gzip(gzip_bomb as fn(u64) -> Vec<u8>)]
#[case::zstd(zstd_bomb as fn(u64) -> Vec<u8>)]
fn a_bomb_is_refused_for_its_ratio_even_outside_of_the_folder(#[case] bomb: fn(u64) -> Vec<u8>) {
    let layers = [layer(TAR, bomb(RATIO_GRACE + RATIO_GRACE / 4))];
    let error = read_layers(&layers, "m", &Limits::default()).unwrap_err();
    assert!(error.to_string().contains("400 times"), "{error}");
}

#[test]
fn a_name_of_many_megabytes_is_refused_before_it_is_in_memory() {
    let name = vec![b'x'; 3 * 1024 * 1024];
    let tar = Tar::default()
        .entry("././@LongLink", EntryType::GNULongName, "", &name)
        .file("m/x", "");
    let error = read(vec![tar], "m").unwrap_err();
    assert!(error.to_string().contains("header"), "{error}");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

fn zeros(size: u64) -> impl Read {
    let mut header = Header::new_gnu();
    header.set_path("zeros").unwrap();
    header.set_size(size);
    header.set_cksum();
    Cursor::new(header.as_bytes().to_vec()).chain(std::io::repeat(0).take(size + 1024))
}

fn gzip_bomb(size: u64) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::copy(&mut zeros(size), &mut encoder).unwrap();
    // Fast deflate packs zeros by 200 only, best by 1000; stay above the limit with two members.
    let once = encoder.finish().unwrap();
    if size / once.len() as u64 > 400 {
        return once;
    }
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::copy(&mut zeros(size), &mut encoder).unwrap();
    encoder.finish().unwrap()
}

fn zstd_bomb(size: u64) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    std::io::copy(&mut zeros(size), &mut encoder).unwrap();
    encoder.finish().unwrap()
}

fn safe(path: &str) -> bool {
    !path.starts_with('/') && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2048)) {
        let _ = walk(&[layer(TAR, bytes)], "", &Limits::default(), &mut |_, _, _| Ok(()));
    }

    #[test]
    fn a_damaged_archive_never_panics_and_never_yields_an_unsafe_path(
        at in 0_usize..2048,
        value in any::<u8>(),
    ) {
        let mut bytes = Tar::default().file("m/x", "x").symlink("m/y", "x").end();
        let at = at % bytes.len();
        bytes[at] = value;
        let mut paths = Vec::new();
        let _ = walk(&[layer(TAR, bytes)], "", &Limits::default(), &mut |path, _, _| {
            paths.push(path.to_owned());
            Ok(())
        });
        prop_assert!(paths.iter().all(|path| safe(path)), "{paths:?}");
    }

    #[test]
    fn whatever_an_archive_holds_no_path_leads_elsewhere(
        entries in prop::collection::vec(
            ("[a./]{1,8}", 0_u8..4, "[a./]{0,8}"),
            1..12,
        ),
        folder in "(a|a/a|)",
    ) {
        let mut tar = Tar::default();
        for (path, kind, link) in &entries {
            tar = match kind {
                0 => tar.folder(path),
                1 => tar.symlink(path, link),
                2 => tar.hard_link(path, link),
                _ => tar.file(path, "x"),
            };
        }
        let mut paths = Vec::new();
        let _ = walk(&[layer(TAR, tar.end())], &folder, &Limits::default(), &mut |path, _, _| {
            paths.push(path.to_owned());
            Ok(())
        });
        prop_assert!(paths.iter().all(|path| safe(path)), "{paths:?}");
    }
}
