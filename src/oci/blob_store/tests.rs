use std::collections::BTreeSet;
use std::io::Read as _;
use std::time::Duration;

use super::{BlobStore, Digest};
use crate::oci::Error;

fn store() -> (tempfile::TempDir, BlobStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = BlobStore::open(folder.path()).unwrap();
    (folder, store)
}

#[test]
fn what_is_put_is_read_back_by_its_digest() {
    let (_folder, store) = store();
    let digest = store.put(b"content").unwrap();
    assert_eq!(store.read(&digest, 100).unwrap().unwrap(), b"content");
    assert_eq!(store.size(&digest), Some(7));
    assert!(store.verify(&digest).unwrap());
    assert!(store.read(&Digest::of(b"other"), 100).unwrap().is_none());
    assert!(matches!(
        store.read(&digest, 6).unwrap_err(),
        Error::TooLarge { .. }
    ));
}

#[test]
fn an_interrupted_download_goes_on_where_it_was() {
    let (_folder, store) = store();
    let digest = Digest::of(b"first second");
    let mut download = store.download(&digest).unwrap();
    download.write(b"first ").unwrap();
    drop(download);
    let mut download = store.download(&digest).unwrap();
    assert_eq!(download.written(), 6);
    download.write(b"second").unwrap();
    download.finish("a blob").unwrap();
    assert_eq!(store.read(&digest, 100).unwrap().unwrap(), b"first second");
    assert_eq!(store.download(&digest).unwrap().written(), 0);
}

#[test]
fn a_download_with_the_wrong_content_is_refused_and_not_kept() {
    let (_folder, store) = store();
    let digest = Digest::of(b"right");
    let mut download = store.download(&digest).unwrap();
    download.write(b"wrong").unwrap();
    let error = download.finish("a blob").unwrap_err();
    assert!(matches!(error, Error::DigestMismatch { .. }), "{error}");
    assert_eq!(store.size(&digest), None);
    assert_eq!(store.download(&digest).unwrap().written(), 0);
}

#[test]
fn a_damaged_blob_is_removed_and_counts_as_absent() {
    let (_folder, store) = store();
    for damage in [&b"contenT"[..], b"cont", b"content and more", b""] {
        let digest = store.put(b"content").unwrap();
        fs_err::write(store.path(&digest), damage).unwrap();
        assert!(store.read(&digest, 100).unwrap().is_none());
        assert_eq!(store.size(&digest), None);
    }
    let digest = store.put(b"content").unwrap();
    fs_err::write(store.path(&digest), b"damaged").unwrap();
    assert!(!store.verify(&digest).unwrap());
    let digest = store.put(b"content").unwrap();
    fs_err::write(store.path(&digest), b"damaged").unwrap();
    let mut reader = store.reader(&digest).unwrap().unwrap();
    let error = reader.read_to_end(&mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
    assert_eq!(store.size(&digest), None);
}

#[test]
fn two_who_download_the_same_do_not_disturb_each_other() {
    let (_folder, store) = store();
    let digest = Digest::of(b"content");
    let mut one = store.download(&digest).unwrap();
    let mut other = store.download(&digest).unwrap();
    one.write(b"con").unwrap();
    other.write(b"content").unwrap();
    other.finish("a blob").unwrap();
    one.write(b"tent").unwrap();
    one.finish("a blob").unwrap();
    assert_eq!(store.read(&digest, 100).unwrap().unwrap(), b"content");
}

#[test]
fn what_others_left_is_gone_on_with_and_goes_when_the_blob_is_whole() {
    let (_folder, store) = store();
    let digest = Digest::of(b"content");
    let mut one = store.download(&digest).unwrap();
    let mut other = store.download(&digest).unwrap();
    one.write(b"c").unwrap();
    other.write(b"co").unwrap();
    drop(other);
    let mut other = store.download(&digest).unwrap();
    assert_eq!(other.written(), 2);
    drop(one);
    other.write(b"ntent").unwrap();
    other.finish("a blob").unwrap();
    let left = fs_err::read_dir(store.partials()).unwrap().count();
    assert_eq!(left, 0);
}

#[test]
fn pruning_spares_what_is_kept_or_young_or_under_way() {
    let (_folder, store) = store();
    let kept = store.put(b"kept").unwrap();
    let gone = store.put(b"gone").unwrap();
    let under_way = store.download(&Digest::of(b"x")).unwrap();
    drop(store.download(&Digest::of(b"y")).unwrap());
    let keep = BTreeSet::from([kept.clone()]);

    let pruned = store.prune(&keep, Duration::from_hours(1)).unwrap();
    assert_eq!(pruned.files, 0);
    let pruned = store.prune(&keep, Duration::ZERO).unwrap();
    assert_eq!((pruned.files, pruned.bytes), (2, 4));
    assert_eq!(store.size(&gone), None);
    assert_eq!(store.size(&kept), Some(4));
    assert!(under_way.path.exists());
}
