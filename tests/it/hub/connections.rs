//! Connections that keep still, and too many of them.

use std::net::SocketAddr;

use axum::Router;
use axum::routing::get;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// A server that knows one short answer and one that is too long to be sent at once.
async fn server() -> (SocketAddr, CancellationToken) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let router = Router::new()
        .route("/", get(|| async { "here" }))
        .route("/long", get(|| async { vec![b'x'; 64 << 20] }));
    tokio::spawn(chandler::server::serve(listener, router, stop.clone()));
    (address, stop)
}

async fn say(address: SocketAddr, words: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(words.as_bytes()).await.unwrap();
    stream
}

/// Everything until the connection ends.
async fn rest(mut stream: TcpStream) -> String {
    let mut read = Vec::new();
    // A connection that is cut off is over too.
    let _ = stream.read_to_end(&mut read).await;
    String::from_utf8_lossy(&read).into_owned()
}

/// Time passes when nothing else can happen, so that waiting takes none.
#[tokio::test(start_paused = true)]
async fn whoever_says_nothing_or_not_all_or_nothing_more_is_not_waited_for() {
    let (address, _stop) = server().await;
    assert_eq!(rest(say(address, "").await).await, "");
    let half = say(address, "GET / HTTP/1.1\r\nHost: h").await;
    assert!(!rest(half).await.contains("here"));
    let whole = say(address, "GET / HTTP/1.1\r\nHost: h\r\n\r\n").await;
    let answered = rest(whole).await;
    assert!(answered.ends_with("here"), "{answered}");
}

#[tokio::test(start_paused = true)]
async fn whoever_does_not_read_is_cut_off() {
    let (address, _stop) = server().await;
    let asked = "GET /long HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    let unread = say(address, asked).await;
    // Long enough for the server, which writes as much as there is room for and then waits.
    tokio::time::sleep(std::time::Duration::from_mins(2)).await;
    assert!(rest(unread).await.len() < 64 << 20);
}

#[tokio::test]
async fn an_address_cannot_have_all_connections() {
    let (address, _stop) = server().await;
    let mut kept = Vec::new();
    for _ in 0..256 {
        kept.push(say(address, "").await);
    }
    let one_more = TcpStream::connect(address).await.unwrap();
    assert_eq!(rest(one_more).await, "");
    drop(kept);
    let asked = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    for _ in 0..1000 {
        let Ok(mut stream) = TcpStream::connect(address).await else {
            continue;
        };
        let _ = stream.write_all(asked.as_bytes()).await;
        if rest(stream).await.ends_with("here") {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("there is no room although everybody left");
}

#[tokio::test]
async fn a_server_that_is_told_to_stop_takes_nobody_in() {
    let (address, stop) = server().await;
    stop.cancel();
    for _ in 0..1000 {
        if TcpStream::connect(address).await.is_err() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the server goes on");
}
