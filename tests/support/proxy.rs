//! A bad network: a proxy in front of a registry that breaks what it is told to.
//!
//! It speaks HTTP/1.1, one request to a connection, which is all that clients here need.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What happens to a request.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Answered by the proxy itself.
    Answer {
        /// The status.
        status: u16,
        /// Headers, each as a line.
        headers: Vec<String>,
        /// The body.
        body: String,
    },
    /// The connection is cut after so many bytes of the body, whatever its length header says.
    Cut(u64),
    /// So many bytes of the body at a time, with a pause after each.
    Drip(usize, Duration),
    /// The first byte of the body is another one.
    Corrupt,
    /// The body never ends.
    Endless,
    /// No answer at all.
    Silence,
}

impl Fault {
    /// An answer without a body.
    pub fn status(status: u16, headers: &[&str]) -> Self {
        Self::Answer {
            status,
            headers: headers.iter().map(|header| (*header).to_owned()).collect(),
            body: String::new(),
        }
    }
}

/// A request that came by.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The path, with its query.
    pub path: String,
    /// The `Range` header.
    pub range: Option<String>,
    /// The `Authorization` header.
    pub authorization: Option<String>,
    /// How many bytes of the answer's body were handed on.
    pub sent: u64,
}

/// A running proxy; it ends when this is dropped.
pub struct Proxy {
    /// `127.0.0.1:PORT`
    pub address: String,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    rules: Vec<Rule>,
    requests: Vec<Request>,
}

struct Rule {
    method: String,
    path: String,
    fault: Fault,
    times: usize,
}

impl Proxy {
    /// A proxy that hands everything on as it is.
    pub async fn start(upstream: &str) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let state = Arc::new(Mutex::new(State::default()));
        let (shared, upstream) = (Arc::clone(&state), upstream.to_owned());
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (state, upstream) = (Arc::clone(&shared), upstream.clone());
                // A connection that breaks is what this is for.
                tokio::spawn(async move {
                    let _ = serve(client, &upstream, &state).await;
                });
            }
        });
        Ok(Self {
            address,
            state,
            task,
        })
    }

    /// Breaks the next `times` requests of a method whose path holds a text.
    pub fn fault(&self, method: &str, path: &str, fault: Fault, times: usize) {
        self.state.lock().unwrap().rules.push(Rule {
            method: method.to_owned(),
            path: path.to_owned(),
            fault,
            times,
        });
    }

    /// Breaks nothing any more.
    pub fn heal(&self) {
        self.state.lock().unwrap().rules.clear();
    }

    /// The requests so far whose path holds a text.
    pub fn requests(&self, path: &str) -> Vec<Request> {
        let state = self.state.lock().unwrap();
        let requests = state.requests.iter();
        requests
            .filter(|request| request.path.contains(path))
            .cloned()
            .collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl State {
    fn fault_for(&mut self, request: &Request) -> Option<Fault> {
        let rule = self.rules.iter_mut().find(|rule| {
            rule.times > 0 && rule.method == request.method && request.path.contains(&rule.path)
        })?;
        rule.times -= 1;
        Some(rule.fault.clone())
    }
}

async fn serve(mut client: TcpStream, upstream: &str, state: &Mutex<State>) -> anyhow::Result<()> {
    let (head, rest) = read_head(&mut client).await?;
    let request = parse(&head)?;
    let (number, fault) = {
        let mut state = state.lock().unwrap();
        let fault = state.fault_for(&request);
        state.requests.push(request);
        (state.requests.len() - 1, fault)
    };
    let count = |bytes: usize| state.lock().unwrap().requests[number].sent += bytes as u64;
    match &fault {
        Some(Fault::Answer {
            status,
            headers,
            body,
        }) => {
            let headers = lines(headers.iter().map(String::as_str));
            let answer = format!(
                "HTTP/1.1 {status} Broken\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
                body.len()
            );
            client.write_all(answer.as_bytes()).await?;
            return Ok(());
        }
        Some(Fault::Endless) => {
            let head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
            client.write_all(head).await?;
            loop {
                client.write_all(&[b' '; 4096]).await?;
                count(4096);
            }
        }
        Some(Fault::Silence) => {
            // Until the other side gives up.
            let mut buffer = [0; 16];
            while client.read(&mut buffer).await? > 0 {}
            return Ok(());
        }
        _ => {}
    }
    let mut server = TcpStream::connect(upstream).await?;
    let head =
        lines(head.split("\r\n").filter(|line| {
            !line.is_empty() && !line.to_ascii_lowercase().starts_with("connection:")
        }));
    server
        .write_all(format!("{head}Connection: close\r\n\r\n").as_bytes())
        .await?;
    server.write_all(&rest).await?;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let up = tokio::spawn(async move {
        let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
    });
    let (head, first) = read_head(&mut from_server).await?;
    to_client.write_all(head.as_bytes()).await?;
    let mut left = match fault {
        Some(Fault::Cut(bytes)) => bytes,
        _ => u64::MAX,
    };
    let mut chunk = first;
    if matches!(fault, Some(Fault::Corrupt)) && chunk.is_empty() {
        chunk = vec![0; 64 * 1024];
        let read = from_server.read(&mut chunk).await?;
        chunk.truncate(read);
    }
    if matches!(fault, Some(Fault::Corrupt))
        && let Some(byte) = chunk.first_mut()
    {
        *byte ^= 0xff;
    }
    loop {
        let allowed = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.len());
        let piece = match fault {
            Some(Fault::Drip(bytes, _)) => bytes.max(1),
            _ => allowed.max(1),
        };
        for part in chunk[..allowed].chunks(piece) {
            to_client.write_all(part).await?;
            count(part.len());
            if let Some(Fault::Drip(_, pause)) = fault {
                tokio::time::sleep(pause).await;
            }
        }
        left -= allowed as u64;
        if left == 0 {
            break;
        }
        chunk = vec![0; 64 * 1024];
        let read = from_server.read(&mut chunk).await?;
        chunk.truncate(read);
        if read == 0 {
            break;
        }
    }
    up.abort();
    Ok(())
}

fn lines<'l>(lines: impl Iterator<Item = &'l str>) -> String {
    lines.flat_map(|line| [line, "\r\n"]).collect()
}

async fn read_head<R: tokio::io::AsyncRead + Unpin>(
    from: &mut R,
) -> anyhow::Result<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let read = from.read(&mut chunk).await?;
        if read == 0 {
            bail!("closed");
        }
        bytes.extend_from_slice(&chunk[..read]);
        if let Some(end) = bytes.windows(4).position(|part| part == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok((String::from_utf8(bytes)?, rest));
        }
    }
}

fn parse(head: &str) -> anyhow::Result<Request> {
    let mut words = head.split(' ');
    let header = |name: &str| {
        head.split("\r\n").find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name)
                .then(|| value.trim().to_owned())
        })
    };
    Ok(Request {
        method: words.next().context("no method")?.to_owned(),
        path: words.next().context("no path")?.to_owned(),
        range: header("range"),
        authorization: header("authorization"),
        sent: 0,
    })
}
