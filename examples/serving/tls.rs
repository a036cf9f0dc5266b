//! Serves with a certificate that is mounted, and with the next one as soon as it is there.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use axum::middleware::map_response;
use axum::routing::get;
use axum::serve::Listener;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Where something is served, and with which files.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) address: SocketAddr,
    pub(crate) certificate: &'static str,
    pub(crate) key: &'static str,
}

impl Place {
    /// Webhooks at an address, as operators made with controller-runtime serve them.
    pub(crate) const fn hooks(address: SocketAddr) -> Self {
        Self {
            address,
            certificate: "/tmp/k8s-webhook-server/serving-certs/tls.crt",
            key: "/tmp/k8s-webhook-server/serving-certs/tls.key",
        }
    }
}

/// How often the files are looked at.
const LOOK: Duration = Duration::from_millis(200);
/// How long it goes on after it was told to stop: until then callers may not know.
const LEAVE: Duration = Duration::from_secs(5);

/// Serves until it is told to stop.
pub(crate) async fn serve(place: Place, router: Router) -> anyhow::Result<()> {
    let certificate = Arc::new(Mounted::read(place)?);
    tokio::spawn(Arc::clone(&certificate).follow());
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_cert_resolver(certificate);
    let listener = Tls::bind(place.address, TlsAcceptor::from(Arc::new(config))).await?;
    let is_leaving = Arc::new(AtomicBool::new(false));
    let leaves = Arc::clone(&is_leaving);
    let part = move |mut answer: Response<Body>| {
        // Whoever asks now has to find somebody else next time.
        if leaves.load(Ordering::Relaxed) {
            let close = HeaderValue::from_static("close");
            answer.headers_mut().insert(header::CONNECTION, close);
        }
        std::future::ready(answer)
    };
    let router = router
        .route("/readyz", get(async || "ok\n"))
        .layer(map_response(part));
    let mut terminate = signal(SignalKind::terminate())?;
    axum::serve(listener, router)
        .with_graceful_shutdown(async move {
            terminate.recv().await;
            is_leaving.store(true, Ordering::Relaxed);
            tokio::time::sleep(LEAVE).await;
        })
        .await?;
    Ok(())
}

/// A certificate and its key, as they were in their files last.
#[derive(Debug)]
struct Mounted {
    place: Place,
    current: RwLock<(Files, Arc<CertifiedKey>)>,
}

/// What is in the files: of the certificate, and of the key.
type Files = (Vec<u8>, Vec<u8>);

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.certificate)
    }
}

impl Mounted {
    fn read(place: Place) -> anyhow::Result<Self> {
        let files = files(place)?;
        let current = RwLock::new((files.clone(), Arc::new(certified(&files)?)));
        Ok(Self { place, current })
    }

    /// Takes what is new in the files, unless the two do not belong together yet.
    async fn follow(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK).await;
            let Ok(files) = files(self.place) else {
                continue;
            };
            let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
            if current.0 == files {
                continue;
            }
            match certified(&files) {
                Ok(certified) => {
                    anstream::println!("{} is new", self.place.certificate);
                    *current = (files, Arc::new(certified));
                }
                Err(error) => anstream::eprintln!("{error:#}"),
            }
        }
    }
}

impl ResolvesServerCert for Mounted {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(&current.1))
    }
}

fn files(place: Place) -> anyhow::Result<Files> {
    let certificate = fs_err::read(place.certificate)?;
    Ok((certificate, fs_err::read(place.key)?))
}

fn certified((certificate, key): &Files) -> anyhow::Result<CertifiedKey> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
    let key = PrivateKeyDer::from_pem_slice(key)?;
    let provider = rustls::crypto::ring::default_provider();
    CertifiedKey::from_der(chain?, key, &provider).context("the certificate is not the key's")
}

/// Connections, once their client has taken the certificate.
struct Tls {
    address: SocketAddr,
    connections: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
}

impl Tls {
    async fn bind(address: SocketAddr, acceptor: TlsAcceptor) -> anyhow::Result<Self> {
        let mut listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let (sender, connections) = mpsc::channel(16);
        tokio::spawn(async move {
            loop {
                let (connection, peer) = Listener::accept(&mut listener).await;
                let (acceptor, sender) = (acceptor.clone(), sender.clone());
                tokio::spawn(async move {
                    match acceptor.accept(connection).await {
                        // Nobody waits for it any more when the server ends.
                        Ok(connection) => drop(sender.send((connection, peer)).await),
                        Err(error) => anstream::eprintln!("{peer}: {error}"),
                    }
                });
            }
        });
        Ok(Self {
            address,
            connections,
        })
    }
}

impl Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.connections.recv().await {
            Some(connection) => connection,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        Ok(self.address)
    }
}
