//! Packs a static binary as an OCI image, without a container engine: what `make image` runs.
//!
//! ```text
//! pack-image --binary FILE --layout DIR [--tag TAG] [--uncompressed] [--push REFERENCE [--plain-http]]
//! ```

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use chandler::oci::auth::Keychain;
use chandler::oci::client::{Registry, Settings};
use chandler::oci::image::{Compression, File, Image, Start};
use chandler::oci::layout;
use chandler::oci::reference::ImageReference;
use clap::Parser;

/// Where programs look for certificates.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Pack a static binary as an OCI image
#[derive(Debug, Parser)]
struct Args {
    /// The program; it becomes the entrypoint under its own name
    #[arg(long, value_name = "FILE")]
    binary: PathBuf,
    /// Certificates of authorities that registries are trusted by; none if there is no such file
    #[arg(long, value_name = "FILE", default_value = CERTIFICATES)]
    certificates: PathBuf,
    /// Where to write the image, as an OCI layout
    #[arg(long, value_name = "DIR")]
    layout: PathBuf,
    /// The tag in the layout
    #[arg(long, default_value = "latest")]
    tag: String,
    /// Leave the program as large as it is: for a registry on the same machine that is faster
    #[arg(long)]
    uncompressed: bool,
    /// Push the image to this reference too, with the logins of Docker and podman
    #[arg(long, value_name = "REFERENCE")]
    push: Option<String>,
    /// Speak plain HTTP to that registry
    #[arg(long, requires = "push")]
    plain_http: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("error: {error:#}");
            ExitCode::from(3)
        }
    }
}

async fn run(args: Args) -> anyhow::Result<()> {
    if rustls::crypto::ring::default_provider()
        .install_default()
        .is_err()
    {
        bail!("a TLS provider is installed already");
    }
    let name = args
        .binary
        .file_name()
        .context("--binary names no file")?
        .to_string_lossy();
    let content = fs_err::read(&args.binary)?;
    if !content.starts_with(b"\x7fELF") {
        bail!("{} is not a Linux program", args.binary.display());
    }
    let start = Start {
        entrypoint: vec![format!("/{name}")],
        // Nobody: the image needs no rights, and a cluster may insist on that.
        user: "65532:65532".to_owned(),
        labels: [(
            "org.opencontainers.image.title".to_owned(),
            name.to_string(),
        )]
        .into(),
        ..Start::default()
    };
    let mut files = vec![File {
        path: name.to_string(),
        mode: 0o755,
        content,
    }];
    // Without them no registry on the internet could be spoken to.
    if args.certificates.exists() {
        files.push(File {
            path: CERTIFICATES.trim_start_matches('/').to_owned(),
            mode: 0o644,
            content: fs_err::read(&args.certificates)?,
        });
    } else {
        anstream::eprintln!(
            "warning: {} is not there, and so not in the image",
            args.certificates.display()
        );
    }
    let compression = if args.uncompressed {
        Compression::None
    } else {
        Compression::Gzip
    };
    let image = Image::build_layers(vec![files], &start, compression)?;
    layout::write(&args.layout, &args.tag, &image)?;
    anstream::println!("{} in {}", image.manifest.digest, args.layout.display());
    if let Some(reference) = args.push {
        let target: ImageReference = reference.parse()?;
        let mut settings = Settings {
            keychain: Keychain::from_environment()?,
            ..Settings::default()
        };
        if args.plain_http {
            settings.plain_http.insert(target.registry().to_owned());
        }
        let pushed = Registry::new(settings).push_image(&image, &target).await?;
        anstream::println!("{pushed}");
    }
    Ok(())
}
