//! A remote registry that speaks gRPC (`api.Registry`): what OLM's catalog pods serve, and what a
//! CatalogSource with an `address` names.
//!
//! Only the four calls that OLM itself uses are made, so that whatever serves OLM serves us. What
//! comes back is turned into the blobs of a file-based catalog ([`convert`]), and from there on is
//! a catalog like any other.

mod convert;
mod wire;

use std::time::Duration;

use http::uri::PathAndQuery;
use prost::Message;
use tonic::Request;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

use self::convert::Collected;
use crate::catalog::fbc::Meta;

/// How long a connection may take, and how long any single answer.
const PATIENCE: Duration = Duration::from_secs(10);
const CALL_LIMIT: Duration = Duration::from_mins(2);

/// The largest message that is taken: a bundle with all its manifests in line.
const LARGEST_MESSAGE: usize = 64 << 20;

/// Why a remote registry could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is no address.
    #[error("`{address}` is no address of a registry: expected HOST:PORT")]
    Address {
        /// What was given.
        address: String,
    },
    /// Nobody answers there.
    #[error("the registry at {address} cannot be reached: {source}")]
    Unreachable {
        /// Where.
        address: String,
        /// Why not.
        source: tonic::transport::Error,
    },
    /// It answers, but not what was asked.
    #[error("the registry at {address} failed to answer `{call}`: {} ({:?})", status.message(), status.code())]
    Call {
        /// Where.
        address: String,
        /// Which call.
        call: &'static str,
        /// What it said.
        status: Box<tonic::Status>,
    },
}

/// A remote registry.
#[derive(Debug, Clone)]
pub struct Remote {
    address: String,
    channel: Channel,
}

impl Remote {
    /// Connects to `HOST:PORT`, without TLS, as OLM does.
    pub async fn connect(address: &str) -> Result<Self, Error> {
        let endpoint = Endpoint::from_shared(format!("http://{address}"))
            .ok()
            .filter(|endpoint| endpoint.uri().port().is_some())
            .ok_or_else(|| Error::Address {
                address: address.to_owned(),
            })?
            .connect_timeout(PATIENCE)
            .timeout(CALL_LIMIT);
        let channel = endpoint
            .connect()
            .await
            .map_err(|source| Error::Unreachable {
                address: address.to_owned(),
                source,
            })?;
        Ok(Self {
            address: address.to_owned(),
            channel,
        })
    }

    /// Reads the whole catalog as blobs of a file-based one, package by package.
    pub async fn blobs(&self) -> Result<Vec<Meta>, Error> {
        let mut collected = Collected::default();
        self.each("ListBundles", wire::Empty {}, |bundle: wire::Bundle| {
            collected.bundle(bundle);
        })
        .await?;
        let mut names = Vec::new();
        self.each(
            "ListPackages",
            wire::Empty {},
            |package: wire::PackageName| names.push(package.name),
        )
        .await?;
        for name in names {
            let package: wire::Package = self
                .call("GetPackage", wire::GetPackageRequest { name })
                .await?;
            // The list leaves out what people read; the heads of the channels have it.
            let mut heads = Vec::new();
            for channel in convert::channels_with_heads(&package) {
                let request = wire::GetBundleInChannelRequest {
                    package: package.name.clone(),
                    channel,
                };
                let head: wire::Bundle = self.call("GetBundleForChannel", request).await?;
                heads.push(head);
            }
            collected.package(package, &heads);
        }
        Ok(collected.into_blobs())
    }

    async fn call<Q, A>(&self, name: &'static str, question: Q) -> Result<A, Error>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let mut client = self.client(name).await?;
        let codec = ProstCodec::<Q, A>::new();
        let answer = client
            .unary(Request::new(question), path(name), codec)
            .await;
        Ok(answer
            .map_err(|status| self.failed(name, status))?
            .into_inner())
    }

    async fn each<Q, A>(
        &self,
        name: &'static str,
        question: Q,
        mut each: impl FnMut(A),
    ) -> Result<(), Error>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let mut client = self.client(name).await?;
        let codec = ProstCodec::<Q, A>::new();
        let answer = client
            .server_streaming(Request::new(question), path(name), codec)
            .await;
        let mut stream = answer
            .map_err(|status| self.failed(name, status))?
            .into_inner();
        while let Some(item) = stream
            .message()
            .await
            .map_err(|status| self.failed(name, status))?
        {
            each(item);
        }
        Ok(())
    }

    async fn client(&self, call: &'static str) -> Result<Grpc<Channel>, Error> {
        let mut client = Grpc::new(self.channel.clone()).max_decoding_message_size(LARGEST_MESSAGE);
        client
            .ready()
            .await
            .map_err(|error| self.failed(call, tonic::Status::unavailable(error.to_string())))?;
        Ok(client)
    }

    fn failed(&self, call: &'static str, status: tonic::Status) -> Error {
        Error::Call {
            address: self.address.clone(),
            call,
            status: Box::new(status),
        }
    }
}

/// Where a call of the service is; known to be a path, because all names are ours.
fn path(call: &'static str) -> PathAndQuery {
    PathAndQuery::from_static(match call {
        "ListBundles" => "/api.Registry/ListBundles",
        "ListPackages" => "/api.Registry/ListPackages",
        "GetPackage" => "/api.Registry/GetPackage",
        _ => "/api.Registry/GetBundleForChannel",
    })
}
