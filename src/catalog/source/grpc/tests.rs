//! Registries that misbehave.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::response::Response;
use futures::{Stream, StreamExt as _, stream};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use prost::Message as _;
use tokio::net::TcpListener;

use super::{Bounds, Error, Remote, wire};

/// A registry that answers every call with the same stream; it runs as long as the test.
async fn registry<S>(answer: impl Fn() -> S + Clone + Send + Sync + 'static) -> String
where
    S: Stream<Item = wire::Bundle> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let router = Router::new().fallback(move || {
        let messages = answer().map(|bundle| Ok::<_, Infallible>(framed(&bundle)));
        let response = Response::builder()
            .header("content-type", "application/grpc")
            .body(Body::from_stream(messages))
            .unwrap();
        async move { response }
    });
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let service = TowerToHyperService::new(router.clone());
            tokio::spawn(async move {
                let builder = auto::Builder::new(TokioExecutor::new()).http2_only();
                let served = builder.serve_connection(TokioIo::new(connection), service);
                // The client goes away in the middle: that is what these tests are about.
                let _ = served.await;
            });
        }
    });
    address
}

/// A message as it travels: not packed, its length, itself.
fn framed(bundle: &wire::Bundle) -> Bytes {
    let message = bundle.encode_to_vec();
    let mut bytes = vec![0];
    bytes.extend_from_slice(&u32::try_from(message.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(&message);
    bytes.into()
}

fn bundle(number: u64) -> wire::Bundle {
    wire::Bundle {
        name: format!("gopher.v{number}.0.0"),
        package: "gopher".into(),
        channel: "stable".into(),
        image: "x".repeat(1000),
        ..wire::Bundle::default()
    }
}

/// So short that a test need not wait, and so long that a slow machine does not fail it.
const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_mins(1);

async fn read(address: &str, bounds: Bounds) -> Error {
    let remote = Remote::connect_within(address, bounds).await.unwrap();
    let read = tokio::time::timeout(LONG, remote.blobs()).await;
    read.expect("it is waited for without end").unwrap_err()
}

#[tokio::test]
async fn a_registry_that_stops_in_the_middle_of_its_answer_is_given_up() {
    let address = registry(|| stream::iter([bundle(1)]).chain(stream::pending())).await;
    let bounds = Bounds {
        silence: SHORT,
        ..Bounds::default()
    };
    let error = read(&address, bounds).await;
    assert!(
        matches!(
            &error,
            Error::Silent {
                call: "ListBundles",
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(
        error.to_string(),
        format!(
            "the registry at {address} says nothing more to `ListBundles`: nothing came for 300ms"
        )
    );
}

#[tokio::test]
async fn a_registry_that_drips_is_given_up_after_some_time_all_the_same() {
    // The same bundle again and again: it takes no memory, only time.
    let drops = || {
        stream::repeat(()).then(|()| async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            bundle(1)
        })
    };
    let address = registry(drops).await;
    let bounds = Bounds {
        whole: SHORT,
        ..Bounds::default()
    };
    let error = read(&address, bounds).await;
    assert!(matches!(&error, Error::Slow { .. }), "{error}");
}

#[tokio::test]
async fn a_registry_that_never_ends_is_given_up_when_it_is_too_large() {
    let address = registry(|| stream::iter(0..).map(bundle)).await;
    let bounds = Bounds {
        bytes: 1 << 20,
        whole: LONG,
        ..Bounds::default()
    };
    let error = read(&address, bounds).await;
    assert!(
        matches!(
            &error,
            Error::TooLarge {
                limit: 1_048_576,
                ..
            }
        ),
        "{error}"
    );
}
