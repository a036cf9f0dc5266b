//! A remote registry that speaks gRPC (`api.Registry`): what OLM's catalog pods serve, and what a
//! CatalogSource with an `address` names.
//!
//! Only the four calls that OLM itself uses are made, so that whatever serves OLM serves us. What
//! comes back is turned into the blobs of a file-based catalog ([`convert`]), and from there on is
//! a catalog like any other.

mod convert;
#[cfg(test)]
mod tests;
mod wire;

use std::time::Duration;

use http::uri::PathAndQuery;
use prost::Message;
use tokio::time::timeout;
use tonic::Request;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

use self::convert::Collected;
use crate::catalog::fbc::Meta;

/// The largest message that is taken: a bundle with all its manifests in line.
const LARGEST_MESSAGE: usize = 64 << 20;

/// How often a connection is looked after on which nothing comes, and how long the other side has to
/// say that it is there. Servers of gRPC end connections that are looked after much more often.
const KEEP_ALIVE: Duration = Duration::from_secs(45);
const KEEP_ALIVE_PATIENCE: Duration = Duration::from_secs(20);

/// How much time and memory a registry gets, which may be anybody's.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// How long a connection may take.
    pub connecting: Duration,
    /// How long nothing may come: before an answer, or between two parts of one.
    pub silence: Duration,
    /// How long it may take to read the whole catalog.
    pub whole: Duration,
    /// Bytes of everything that has to be kept of it.
    pub bytes: u64,
}

impl Default for Bounds {
    /// Somewhat more than the largest real catalog has (213 MB of JSON).
    fn default() -> Self {
        Self {
            connecting: Duration::from_secs(10),
            silence: Duration::from_mins(2),
            whole: Duration::from_mins(10),
            bytes: 256 << 20,
        }
    }
}

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
    /// It began to answer, or not even that, and then nothing came.
    #[error("the registry at {address} says nothing more to `{call}`: nothing came for {limit:?}")]
    Silent {
        /// Where.
        address: String,
        /// Which call.
        call: &'static str,
        /// How long it was waited for.
        limit: Duration,
    },
    /// It answers, and answers, and does not come to an end.
    #[error("the registry at {address} takes too long: its catalog was not read after {limit:?}")]
    Slow {
        /// Where.
        address: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// It has more to say than any catalog.
    #[error(
        "the catalog of the registry at {address} is larger than the {limit} bytes that are allowed"
    )]
    TooLarge {
        /// Where.
        address: String,
        /// The limit.
        limit: u64,
    },
}

/// A remote registry.
#[derive(Debug, Clone)]
pub struct Remote {
    address: String,
    channel: Channel,
    bounds: Bounds,
}

impl Remote {
    /// Connects to `HOST:PORT`, without TLS, as OLM does.
    pub async fn connect(address: &str) -> Result<Self, Error> {
        Self::connect_within(address, Bounds::default()).await
    }

    /// Like [`Remote::connect`], with bounds of your own.
    pub async fn connect_within(address: &str, bounds: Bounds) -> Result<Self, Error> {
        let endpoint = Endpoint::from_shared(format!("http://{address}"))
            .ok()
            .filter(|endpoint| endpoint.uri().port().is_some())
            .ok_or_else(|| Error::Address {
                address: address.to_owned(),
            })?
            .connect_timeout(bounds.connecting)
            .tcp_keepalive(Some(KEEP_ALIVE))
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE_PATIENCE);
        // What a connection is begun with may take its time as well.
        let limit = bounds.silence;
        let connected = timeout(limit, endpoint.connect()).await;
        let connected = connected.map_err(|_| Error::Silent {
            address: address.to_owned(),
            call: "connect",
            limit,
        })?;
        let channel = connected.map_err(|source| Error::Unreachable {
            address: address.to_owned(),
            source,
        })?;
        Ok(Self {
            address: address.to_owned(),
            channel,
            bounds,
        })
    }

    /// Reads the whole catalog as blobs of a file-based one, package by package.
    pub async fn blobs(&self) -> Result<Vec<Meta>, Error> {
        let limit = self.bounds.whole;
        let read = timeout(limit, self.read()).await;
        read.unwrap_or_else(|_| {
            Err(Error::Slow {
                address: self.address.clone(),
                limit,
            })
        })
    }

    async fn read(&self) -> Result<Vec<Meta>, Error> {
        let mut collected = Collected::default();
        let mut kept = Kept { bytes: 0, of: self };
        self.each("ListBundles", wire::Empty {}, |bundle: wire::Bundle| {
            kept.add(collected.bundle(bundle))
        })
        .await?;
        let mut names = Vec::new();
        self.each(
            "ListPackages",
            wire::Empty {},
            |package: wire::PackageName| {
                kept.add(package.encoded_len())?;
                names.push(package.name);
                Ok(())
            },
        )
        .await?;
        for name in names {
            let package: wire::Package = self
                .call("GetPackage", wire::GetPackageRequest { name })
                .await?;
            kept.add(package.encoded_len())?;
            // The list leaves out what people read; the heads of the channels have it.
            let mut heads = Vec::new();
            for channel in convert::channels_with_heads(&package) {
                let request = wire::GetBundleInChannelRequest {
                    package: package.name.clone(),
                    channel,
                };
                let head: wire::Bundle = self.call("GetBundleForChannel", request).await?;
                kept.add(head.encoded_len())?;
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
        let answer = client.unary(Request::new(question), path(name), codec);
        Ok(self.heard(name, answer).await?.into_inner())
    }

    async fn each<Q, A>(
        &self,
        name: &'static str,
        question: Q,
        mut each: impl FnMut(A) -> Result<(), Error>,
    ) -> Result<(), Error>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let mut client = self.client(name).await?;
        let codec = ProstCodec::<Q, A>::new();
        let answer = client.server_streaming(Request::new(question), path(name), codec);
        let mut stream = self.heard(name, answer).await?.into_inner();
        while let Some(item) = self.heard(name, stream.message()).await? {
            each(item)?;
        }
        Ok(())
    }

    /// What is said next, unless nothing is for too long: a timeout of tonic's own would end with the
    /// head of an answer.
    async fn heard<T>(
        &self,
        call: &'static str,
        next: impl Future<Output = Result<T, tonic::Status>>,
    ) -> Result<T, Error> {
        let limit = self.bounds.silence;
        match timeout(limit, next).await {
            Ok(said) => said.map_err(|status| self.failed(call, status)),
            Err(_) => Err(Error::Silent {
                address: self.address.clone(),
                call,
                limit,
            }),
        }
    }

    async fn client(&self, call: &'static str) -> Result<Grpc<Channel>, Error> {
        let mut client = Grpc::new(self.channel.clone()).max_decoding_message_size(LARGEST_MESSAGE);
        let ready = async {
            let ready = client.ready().await;
            ready.map_err(|error| tonic::Status::unavailable(error.to_string()))
        };
        self.heard(call, ready).await?;
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

/// Counts what has to be kept in memory until everything is there.
struct Kept<'r> {
    bytes: u64,
    of: &'r Remote,
}

impl Kept<'_> {
    fn add(&mut self, bytes: usize) -> Result<(), Error> {
        self.bytes += bytes as u64;
        let limit = self.of.bounds.bytes;
        if self.bytes <= limit {
            return Ok(());
        }
        Err(Error::TooLarge {
            address: self.of.address.clone(),
            limit,
        })
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
