//! The port: TLS with a certificate that may change, and with client certificates if there are any.
//!
//! Which client certificate is to be believed is decided for each request, so that a change of that
//! counts on connections that are open already. The handshake only makes sure that whoever shows a
//! certificate has its key.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use http::Response;
use hyper::service::service_fn;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::PackageApi;
use crate::server::connections::{self, PATIENCE, Versions};

/// How long what was begun may take when the process ends.
const GRACE: Duration = Duration::from_secs(10);

/// The certificate to serve with.
#[derive(Debug, Default)]
pub(super) struct Serving(RwLock<Option<Arc<CertifiedKey>>>);

impl Serving {
    /// Takes another certificate and key, in PEM.
    pub(super) fn change(&self, certificate: &str, key: &str) -> Result<(), String> {
        let chain: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
        let chain = chain.map_err(|error| format!("the certificate cannot be read: {error}"))?;
        // The error may quote what it read, which is nothing for a log.
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
            .map_err(|_| "the private key cannot be read".to_owned())?;
        let certified = CertifiedKey::from_der(chain, key, &provider())
            .map_err(|error| format!("certificate and key do not belong together: {error}"))?;
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *current = Some(Arc::new(certified));
        Ok(())
    }

    pub(super) fn is_ready(&self) -> bool {
        let current = self.0.read().unwrap_or_else(PoisonError::into_inner);
        current.is_some()
    }
}

impl ResolvesServerCert for Serving {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let current = self.0.read().unwrap_or_else(PoisonError::into_inner);
        current.clone()
    }
}

fn provider() -> CryptoProvider {
    rustls::crypto::ring::default_provider()
}

/// Takes any client certificate whose key the client has. Who is believed is decided later.
#[derive(Debug)]
struct Anybody(WebPkiSupportedAlgorithms);

impl ClientCertVerifier for Anybody {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    /// No hints: a client that has only one certificate shows it.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

impl PackageApi {
    /// Answers until it is told to stop.
    pub async fn serve(
        self: Arc<Self>,
        listener: TcpListener,
        stop: CancellationToken,
    ) -> Result<(), rustls::Error> {
        let acceptor = TlsAcceptor::from(Arc::new(self.config()?));
        let converse = |stream: TcpStream, _: SocketAddr| {
            let (api, acceptor, stop) = (self.clone(), acceptor.clone(), stop.clone());
            async move {
                if let Err(error) = api.connection(stream, acceptor, &stop).await {
                    tracing::debug!(error, "a connection to the package API failed");
                }
            }
        };
        connections::take(listener, &stop, GRACE, converse).await;
        Ok(())
    }

    fn config(&self) -> Result<ServerConfig, rustls::Error> {
        let provider = Arc::new(provider());
        let anybody = Anybody(provider.signature_verification_algorithms);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(Arc::new(anybody))
            .with_cert_resolver(self.serving.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    async fn connection(
        self: Arc<Self>,
        stream: TcpStream,
        acceptor: TlsAcceptor,
        stop: &CancellationToken,
    ) -> Result<(), String> {
        let secured = timeout(PATIENCE, acceptor.accept(stream)).await;
        let secured = secured.map_err(|_| "no handshake".to_owned())?;
        let secured = secured.map_err(|error| error.to_string())?;
        let shown = secured.get_ref().1.peer_certificates();
        let certificates: Arc<[CertificateDer<'static>]> =
            shown.unwrap_or_default().to_vec().into();
        let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
            let (api, certificates) = (self.clone(), certificates.clone());
            async move {
                let (parts, _) = request.into_parts();
                let answer = api.answer(&parts.method, &parts.uri, &parts.headers, &certificates);
                Ok::<Response<axum::body::Body>, std::convert::Infallible>(answer.await)
            }
        });
        connections::answer(secured, Versions::Both, service, stop).await
    }
}
