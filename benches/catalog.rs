//! A whole catalog: how long until it answers, and how much memory that takes, beside opm.
//!
//! Every measurement runs in a process of its own, and Linux tells its peak. Figures are given as
//! ratios to opm on the same files in the same run.

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

#[path = "support/memory.rs"]
mod memory;
#[path = "support/whole_catalog.rs"]
mod whole_catalog;

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use chandler::catalog::index::{Builder, Index};
use chandler::catalog::source::{Source, Sources};
use chandler::oci::client::{Registry, Settings};
use chandler::oci::image::{File, Image, Start};
use chandler::oci::layout::Layout;
use chandler::oci::pull::PullOptions;

use memory::memory;
use whole_catalog::Copies;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["index", source, target] => index(Path::new(source), Path::new(target)),
        ["image", layout, cache] => image(layout, Path::new(cache)),
        ["open", file] => open(Path::new(file)),
        ["write", folder] => whole_catalog::write(Path::new(folder), 1, Copies::Alike).map(|_| ()),
        _ => compare(),
    }
}

fn compare() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("catalog");
    let size = whole_catalog::write(&source, 1, Copies::Alike)?;
    println!("catalog: {:.0} MB of JSON", megabytes(size));

    let cold = measured(&[
        "index",
        &text(&source),
        &text(&folder.path().join("one.index")),
    ])?;
    let warm = measured(&["open", &text(&folder.path().join("one.index"))])?;
    println!("chandler, cold index:  {cold}");
    println!("chandler, warm start:  {warm}");
    let layout = pack(&source, &folder.path().join("layout"))?;
    let cache = text(&folder.path().join("cache"));
    let image = measured(&["image", &layout, &cache])?;
    let again = measured(&["image", &layout, &cache])?;
    println!("chandler, from layers: {image}");
    println!("chandler, the same, in the cache: {again}");

    let large = folder.path().join("large");
    let size = whole_catalog::write(&large, 10, Copies::Alike)?;
    let large_cold = measured(&[
        "index",
        &text(&large),
        &text(&folder.path().join("ten.index")),
    ])?;
    let large_warm = measured(&["open", &text(&folder.path().join("ten.index"))])?;
    println!("ten times as large ({:.0} MB):", megabytes(size));
    println!("chandler, cold index:  {large_cold}");
    println!(
        "chandler, warm start:  {large_warm}  ({:.2} x the memory)",
        large_warm.resident / warm.resident
    );

    match opm() {
        Ok(opm) => {
            let cache = folder.path().join("opm-cache");
            let first = serve(&opm, &source, &cache)?;
            println!("opm serve, cold:       {first}");
            let second = serve(&opm, &source, &cache)?;
            println!("opm serve, its cache:  {second}");
            println!(
                "cold: {:.1} x faster, {:.2} x the peak memory",
                first.seconds / cold.seconds,
                cold.peak / first.peak
            );
            println!(
                "warm: {:.1} x faster, {:.2} x the resident memory",
                second.seconds / warm.seconds,
                warm.resident / second.resident
            );
        }
        Err(error) => println!("opm: SKIPPED, it cannot be built here: {error:#}"),
    }
    Ok(())
}

/// What a process took.
struct Figures {
    seconds: f64,
    peak: f64,
    resident: f64,
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:8.3} s, {:6.1} MB peak, {:6.1} MB resident",
            self.seconds, self.peak, self.resident
        )
    }
}

/// Runs one measurement in a process of its own.
fn measured(arguments: &[&str]) -> anyhow::Result<Figures> {
    let output = Command::new(std::env::current_exe()?)
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        bail!("{arguments:?} failed");
    }
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> = text
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    let [seconds, peak, resident] = numbers[..] else {
        bail!("{arguments:?} printed {text}")
    };
    Ok(Figures {
        seconds,
        peak,
        resident,
    })
}

fn report(seconds: Duration) -> anyhow::Result<()> {
    let pid = std::process::id();
    println!(
        "{} {} {}",
        seconds.as_secs_f64(),
        memory(pid, "VmHWM")?,
        memory(pid, "VmRSS")?
    );
    Ok(())
}

fn index(source: &Path, target: &Path) -> anyhow::Result<()> {
    let start = Instant::now();
    let folder = target.parent().context("no folder")?;
    let mut builder = Builder::new(folder)?;
    for entry in fs_err::read_dir(source)? {
        let path = entry?.path().join("catalog.json");
        builder.add_file(&text(&path), fs_err::File::open(&path)?)?;
    }
    let problems = builder.finish(target)?;
    let index = Index::open(target)?;
    let seconds = start.elapsed();
    if !problems.is_empty() || index.packages().is_empty() {
        bail!("{problems:?}");
    }
    report(seconds)
}

/// Packs the catalog as an image in an OCI layout.
fn pack(source: &Path, layout: &Path) -> anyhow::Result<String> {
    let mut files = Vec::new();
    for entry in fs_err::read_dir(source)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        files.push(File {
            path: format!("configs/{name}/catalog.json"),
            mode: 0o644,
            content: fs_err::read(entry.path().join("catalog.json"))?,
        });
    }
    let image = Image::build(files, &Start::default())?;
    Layout::create(layout)?.put(&image, Some("v1"))?;
    Ok(format!("oci:{}:v1", layout.display()))
}

/// From an image to an index that answers, by way of the cache.
fn image(layout: &str, cache: &Path) -> anyhow::Result<()> {
    let start = Instant::now();
    let options = PullOptions::new(Registry::new(Settings::default()));
    let sources = Sources::new(cache, options)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let opened = runtime.block_on(sources.open(&Source::parse(layout)?))?;
    if opened.index.packages().is_empty() {
        bail!("no packages");
    }
    report(start.elapsed())
}

fn open(file: &Path) -> anyhow::Result<()> {
    let start = Instant::now();
    let index = Index::open(file)?;
    let found = index.search("postgres");
    let name = found
        .first()
        .map_or("operator-001", |(summary, _)| &summary.name)
        .to_owned();
    let package = index.package(&name)?.context("no package")?;
    index.bundle_blob(package.bundles.first().context("no bundle")?)?;
    report(start.elapsed())
}

fn opm() -> anyhow::Result<String> {
    let output = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/local/cluster"))
        .args(["tool", "opm"])
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        bail!("`deploy/local/cluster tool opm` failed");
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Time until opm answers on its port, and its memory then.
fn serve(opm: &str, source: &Path, cache: &Path) -> anyhow::Result<Figures> {
    let port = std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port();
    let start = Instant::now();
    let mut child = Command::new(opm)
        .args([
            "serve",
            &text(source),
            "--cache-dir",
            &text(cache),
            "--port",
            &port.to_string(),
        ])
        // The first time there is no cache yet that it could check.
        .arg(format!("--cache-enforce-integrity={}", cache.exists()))
        .args(["--pprof-addr", ""])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let outcome = wait(&mut child, port).map(|()| start.elapsed().as_secs_f64());
    let figures = outcome.and_then(|seconds| {
        Ok(Figures {
            seconds,
            peak: memory(child.id(), "VmHWM")?,
            resident: memory(child.id(), "VmRSS")?,
        })
    });
    child.kill()?;
    child.wait()?;
    figures
}

fn wait(child: &mut Child, port: u16) -> anyhow::Result<()> {
    let deadline = Instant::now() + Duration::from_mins(10);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if let Some(status) = child.try_wait()? {
            bail!("opm ended with {status}");
        }
        if Instant::now() > deadline {
            bail!("opm does not answer");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a size to read, not to count with"
)]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
