//! The layers of the library, and the purity of its core.
//!
//! A module may use those below it, never those above: `cli`, `server`, `controller` stand on
//! `lifecycle`, `plan`, `publish`, these on `resolver`, that on `catalog` and `bundle`, and all on
//! `oci`, `api`, `version`, `yaml`. ARCHITECTURE.md tells why.
//!
//! Sources are parsed, not searched: `use std::{fs, net}` is seen as well as `std::fs::read`, and
//! code behind `#[cfg(test)]` does not count.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

use crate::support::cluster::repository;

/// Every module of the library with its layer; a smaller number is further down.
const LAYERS: [(&str, u8); 14] = [
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
    ("main", 8),
];

/// Modules that do no input and output: plain functions on plain data.
const PURE: [&str; 12] = [
    "yaml",
    "version",
    "api",
    "bundle/lint",
    "bundle/render",
    "catalog/diff",
    "catalog/fbc/validate",
    "catalog/graph",
    "catalog/template",
    "resolver",
    "plan",
    "lifecycle",
];

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
    "std::fs",
    "fs_err",
    "std::net",
    "std::env",
    "std::process",
    "std::time::SystemTime",
    "std::time::Instant",
    "jiff::Timestamp::now",
];

/// A source file, as far as the rules go.
#[derive(Debug, Default)]
struct Source {
    /// The module of the library, for example `catalog`.
    module: String,
    /// The file below `src`.
    path: PathBuf,
    lines: usize,
    /// Every path that is named, from its root: `std::fs::read`, `crate::cli::run`.
    names: BTreeSet<String>,
    /// Whether there is an `async` function or block.
    is_async: bool,
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
    let wrong: Vec<String> = sources().iter().flat_map(edges_upwards).collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_core_names_no_client_no_server_no_clock_and_no_file() {
    let wrong: Vec<String> = sources().iter().flat_map(impurities).collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_yaml_crate_is_named_in_one_module_only() {
    for source in sources() {
        assert!(
            source.module == "yaml" || !names(&source, "serde_yaml"),
            "{} names the YAML crate: use crate::yaml",
            source.path.display()
        );
    }
}

#[test]
fn main_is_short_and_no_file_is_long() {
    for source in sources() {
        let limit = if source.module == "main" { 40 } else { 800 };
        assert!(
            source.lines <= limit,
            "{} has {} lines, more than {limit}",
            source.path.display(),
            source.lines
        );
    }
}

#[test]
fn an_edge_upwards_is_seen_however_it_is_written() {
    for code in [
        "use crate::cli;",
        "use crate::{yaml::{A, B}, cli::X};",
        "use super::super::cli;",
        "fn f() { crate::cli::run(); }",
        "fn f(x: crate::cli::X) {}",
        "#[cfg(test)] mod tests { } use crate::cli;",
        "macro_rules! m { () => { crate::cli::run() } }",
    ] {
        let source = parse(code, Path::new("api/gvk.rs"));
        assert_eq!(edges_upwards(&source).len(), 1, "{code}");
    }
    let fine = "use crate::yaml; use super::labels; #[cfg(test)] mod tests { use crate::cli; }";
    assert_eq!(
        edges_upwards(&parse(fine, Path::new("api/gvk.rs"))),
        Vec::<String>::new()
    );
}

#[test]
fn an_impurity_is_seen_however_it_is_written() {
    for code in [
        "use std::{fs, io};",
        "use kube::{Client};",
        "use std::time::{Duration, Instant};",
        "fn f() { std::fs::read(\"x\"); }",
        "fn f() { tokio::spawn(x); }",
        "async fn f() {}",
        "fn f() { let x = async { 1 }; }",
        "#[cfg(test)] use std::io; use std::env;",
    ] {
        let source = parse(code, Path::new("api/gvk.rs"));
        assert_eq!(impurities(&source).len(), 1, "{code}");
    }
    let fine = "use std::time::Duration; #[test] fn t() { std::fs::read(\"x\"); }";
    assert_eq!(
        impurities(&parse(fine, Path::new("api/gvk.rs"))),
        Vec::<String>::new()
    );
    let allowed = parse("use std::fs;", Path::new("oci/layout.rs"));
    assert_eq!(impurities(&allowed), Vec::<String>::new());
}

#[test]
fn the_sources_are_really_read() {
    let sources = sources();
    assert!(sources.len() > 50, "only {} files", sources.len());
    let cli = sources
        .iter()
        .find(|source| source.path == Path::new("cli/command/crds.rs"))
        .unwrap();
    assert!(names(cli, "crate::api"), "{:?}", cli.names);
}

fn layer(module: &str) -> Option<u8> {
    LAYERS
        .iter()
        .find_map(|(name, layer)| (*name == module).then_some(*layer))
}

fn edges_upwards(source: &Source) -> Vec<String> {
    let Some(own) = layer(&source.module) else {
        return Vec::new();
    };
    let used: BTreeSet<&str> = source
        .names
        .iter()
        .filter_map(|name| name.strip_prefix("crate::"))
        .map(|name| name.split("::").next().unwrap_or(name))
        .collect();
    used.into_iter()
        .filter(|used| *used != source.module && layer(used).is_some_and(|other| other >= own))
        .map(|used| {
            format!(
                "{} uses `{used}`, which is not below `{}`",
                source.path.display(),
                source.module
            )
        })
        .collect()
}

fn impurities(source: &Source) -> Vec<String> {
    let path = source.path.with_extension("");
    let is_in = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    if !is_in(&PURE) || is_in(&ADAPTERS) {
        return Vec::new();
    }
    let named = IMPURE
        .iter()
        .filter(|word| names(source, word))
        .map(|word| format!("`{word}`"));
    named
        .chain(source.is_async.then(|| "something `async`".to_owned()))
        .map(|what| format!("{} has {what}, but is pure", source.path.display()))
        .collect()
}

/// Whether a source names a path or something below it.
fn names(source: &Source, path: &str) -> bool {
    source.names.iter().any(|name| {
        name.strip_prefix(path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    })
}

/// All source files of the library but those that are unit tests.
fn sources() -> Vec<Source> {
    let root = repository().join("src");
    let mut files = Vec::new();
    walk(&root, &mut files);
    files
        .into_iter()
        .filter(|path| !path.components().any(|part| part.as_os_str() == "tests"))
        .filter(|path| path.file_stem().is_some_and(|stem| stem != "tests"))
        .map(|path| {
            parse(
                &fs_err::read_to_string(&path).unwrap(),
                path.strip_prefix(&root).unwrap(),
            )
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

fn parse(text: &str, path: &Path) -> Source {
    let first = path
        .components()
        .next()
        .unwrap()
        .as_os_str()
        .to_string_lossy()
        .into_owned();
    // The folder that this file's `super` means: itself for `api.rs`, `api` for `api/gvk.rs`.
    let module = path.with_extension("");
    let mut finder = Finder {
        position: module
            .iter()
            .map(|part| part.to_string_lossy().into_owned())
            .collect(),
        source: Source {
            module: first.trim_end_matches(".rs").to_owned(),
            path: path.to_owned(),
            lines: text.lines().count(),
            ..Source::default()
        },
    };
    finder.visit_file(&syn::parse_file(text).unwrap());
    finder.source
}

/// Collects what a source names.
struct Finder {
    /// Where in the module tree we are.
    position: Vec<String>,
    source: Source,
}

impl Finder {
    /// Records a path, with `self` and `super` resolved.
    fn record(&mut self, segments: &[String]) {
        let mut position = self.position.clone();
        let mut rest = segments;
        let mut relative = false;
        while let Some((first, after)) = rest.split_first() {
            match first.as_str() {
                "self" => relative = true,
                "super" => {
                    relative = true;
                    position.pop();
                }
                _ => break,
            }
            rest = after;
        }
        let mut name = if relative {
            vec!["crate".to_owned()]
        } else {
            Vec::new()
        };
        if relative {
            name.extend(position);
        }
        name.extend(rest.iter().cloned());
        self.source.names.insert(name.join("::"));
    }

    fn use_tree(&mut self, before: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.use_tree(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.record(&with(&name.ident)),
            syn::UseTree::Rename(rename) => self.record(&with(&rename.ident)),
            syn::UseTree::Glob(_) => self.record(before),
            syn::UseTree::Group(group) => group
                .items
                .iter()
                .for_each(|tree| self.use_tree(before, tree)),
        }
    }
}

impl Visit<'_> for Finder {
    fn visit_item(&mut self, item: &syn::Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &syn::ItemMod) {
        self.position.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.position.pop();
    }

    fn visit_item_use(&mut self, item: &syn::ItemUse) {
        self.use_tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &syn::Path) {
        let segments: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        self.record(&segments);
        visit::visit_path(self, path);
    }

    fn visit_signature(&mut self, signature: &syn::Signature) {
        self.source.is_async |= signature.asyncness.is_some();
        visit::visit_signature(self, signature);
    }

    fn visit_expr_async(&mut self, expression: &syn::ExprAsync) {
        self.source.is_async = true;
        visit::visit_expr_async(self, expression);
    }

    /// What is inside of a macro is no syntax yet, and so it is read word by word.
    fn visit_macro(&mut self, item: &syn::Macro) {
        let text = item.tokens.to_string().replace(' ', "");
        for (at, _) in text.match_indices("crate::") {
            let rest: String = text[at..]
                .chars()
                .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | ':'))
                .collect();
            self.source.names.insert(rest);
        }
        visit::visit_macro(self, item);
    }
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || (attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<syn::Ident>()
                    .is_ok_and(|name| name == "test"))
    })
}
