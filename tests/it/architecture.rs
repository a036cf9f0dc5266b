//! The layers of the library, and the purity of its core.
//!
//! A module may use those below it, never those above: `cli`, `server`, `controller` stand on
//! `lifecycle`, `plan`, `publish`, these on `resolver`, that on `catalog` and `bundle`, and all on
//! `oci`, `api`, `version`, `yaml`. ARCHITECTURE.md tells why.

use std::path::{Path, PathBuf};

use crate::support::cluster::repository;

/// Every module of the library with its layer; a smaller number is further down.
const LAYERS: [(&str, u8); 16] = [
    ("yaml", 0),
    ("version", 0),
    ("api", 1),
    ("oci", 1),
    ("bundle", 2),
    ("catalog", 3),
    ("resolver", 4),
    ("plan", 5),
    ("lifecycle", 5),
    ("publish", 5),
    ("controller", 6),
    ("server", 6),
    ("cli", 7),
    ("telemetry", 0),
    ("metrics", 0),
    ("main", 8),
];

/// Modules that do no input and output: plain functions on plain data.
const PURE: [&str; 6] = ["api", "version", "yaml", "resolver", "plan", "lifecycle"];

/// Parts of pure modules that are adapters by design.
const ADAPTERS: [&str; 1] = ["plan/apply"];

/// What pure code never names.
const IMPURE: [&str; 14] = [
    "kube::Client",
    "kube::client",
    "kube::runtime",
    "axum",
    "tokio",
    "reqwest",
    "async fn",
    "std::fs",
    "fs_err",
    "std::net",
    "std::env",
    "SystemTime",
    "Instant::now",
    "Timestamp::now",
];

struct Source {
    module: String,
    path: PathBuf,
    code: String,
}

#[test]
fn every_module_has_a_layer() {
    for source in sources() {
        assert!(
            source.module == "lib" || layer(&source.module).is_some(),
            "{} is of no known layer: add `{}` to LAYERS",
            source.path.display(),
            source.module
        );
    }
}

#[test]
fn no_module_uses_one_above_it() {
    for source in sources() {
        let Some(own) = layer(&source.module) else {
            continue;
        };
        for used in used_modules(&source.code) {
            let Some(other) = layer(&used) else { continue };
            assert!(
                used == source.module || other < own,
                "{} uses `{used}`, which is not below `{}`",
                source.path.display(),
                source.module
            );
        }
    }
}

#[test]
fn the_core_names_no_client_no_server_no_clock_and_no_file() {
    for source in sources() {
        let inside = source.path.to_string_lossy().replace('\\', "/");
        if !PURE.contains(&source.module.as_str())
            || ADAPTERS.iter().any(|adapter| inside.contains(adapter))
        {
            continue;
        }
        for word in IMPURE {
            assert!(
                !source.code.contains(word),
                "{inside} names `{word}`, but `{}` is pure",
                source.module
            );
        }
    }
}

#[test]
fn the_yaml_crate_is_named_in_one_module_only() {
    for source in sources() {
        assert!(
            source.module == "yaml" || !source.code.contains("serde_yaml"),
            "{} names the YAML crate: use crate::yaml",
            source.path.display()
        );
    }
}

#[test]
fn main_is_short_and_no_file_is_long() {
    for source in sources() {
        let lines = source.code.lines().count();
        let limit = if source.module == "main" { 40 } else { 800 };
        assert!(
            lines <= limit,
            "{} has {lines} lines, more than {limit}",
            source.path.display()
        );
    }
}

#[test]
fn the_checks_see_a_forbidden_edge() {
    // A guard of the guards: were the sources read wrongly, everything above would pass.
    assert!(sources().len() > 20);
    let code =
        "use crate::{api, yaml};\nuse crate::cli::printer::Printer;\nfn f() { crate::oci::x() }";
    assert_eq!(used_modules(code), ["api", "cli", "oci", "yaml"]);
    assert!(layer("cli") > layer("api"));
}

fn layer(module: &str) -> Option<u8> {
    LAYERS
        .iter()
        .find_map(|(name, layer)| (*name == module).then_some(*layer))
}

/// The modules that a source names after `crate::`, in braces too.
fn used_modules(code: &str) -> Vec<String> {
    let mut used = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let after = &code[at + "crate::".len()..];
        let names = match after.strip_prefix('{') {
            Some(list) => list
                .split('}')
                .next()
                .unwrap_or_default()
                .split(',')
                .collect(),
            None => vec![after],
        };
        for name in names {
            let name = name.trim();
            let end = name
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(name.len());
            if end > 0 {
                used.push(name[..end].to_owned());
            }
        }
    }
    used.sort();
    used.dedup();
    used
}

/// All source files of the library, without comments and without their unit tests.
fn sources() -> Vec<Source> {
    let root = repository().join("src");
    let mut files = Vec::new();
    walk(&root, &mut files);
    files
        .into_iter()
        .filter(|path| path.file_stem().is_some_and(|stem| stem != "tests"))
        .map(|path| {
            let inside = path.strip_prefix(&root).unwrap().to_path_buf();
            let first = inside
                .components()
                .next()
                .unwrap()
                .as_os_str()
                .to_string_lossy()
                .into_owned();
            let module = first.trim_end_matches(".rs").to_owned();
            let text = fs_err::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let code = code
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"))
                .collect::<Vec<_>>()
                .join("\n");
            Source {
                module,
                path: inside,
                code,
            }
        })
        .collect()
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs_err::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
