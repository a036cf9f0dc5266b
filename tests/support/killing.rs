//! A process that is killed with `kill -9` at a certain moment, and another one that goes on.

use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use futures::future::try_join_all;

use super::gateway::{Gateway, Write, lines};
use super::process::{Process, Role};
use super::scene::Scene;

/// How long nothing is written once a job is over.
pub const QUIET: Duration = Duration::from_secs(2);
/// How many jobs go on at once.
const AT_ONCE: usize = 4;

/// Has a job done by a process that is killed at a certain moment, and another one after that. Says after
/// which write it was killed; nothing if the job was over before the moment came.
pub async fn killed(
    scene: &Scene<'_>,
    moment: impl Fn(&[Write]) -> bool + Send + 'static,
    begin: impl Future<Output = anyhow::Result<()>>,
    is_done: impl AsyncFn() -> anyhow::Result<()>,
) -> anyhow::Result<Option<String>> {
    let case = scene.case;
    let namespaces = [scene.namespace.as_str()];
    let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
    gateway.shut_after(moment);
    begin.await?;
    let kubeconfig = gateway.kubeconfig();
    let first = Process::start(case, &role("first", &kubeconfig, &namespaces))?;
    let over = async {
        is_done().await?;
        gateway.quiet(QUIET).await;
        anyhow::Ok(())
    };
    tokio::select! {
        () = gateway.is_shut() => {}
        over = over => {
            over?;
            return Ok(None);
        }
    }
    first.kill().await?;
    let written = gateway.writes();
    let last = written.last().map(ToString::to_string).unwrap_or_default();
    let gateway = Gateway::start(case.client.clone(), &namespaces).await?;
    let kubeconfig = gateway.kubeconfig();
    let _second = Process::start(case, &role("second", &kubeconfig, &namespaces))?;
    if let Err(error) = is_done().await {
        bail!(
            "killed after {last}: {error:#}\nwritten before:\n{}\nwritten after:\n{}",
            lines(&written),
            lines(&gateway.writes())
        );
    }
    Ok(Some(last))
}

/// A process that cares for some namespaces only.
pub fn role<'a>(name: &'a str, kubeconfig: &'a Path, namespaces: &'a [&'a str]) -> Role<'a> {
    Role {
        name,
        kubeconfig,
        namespaces,
        cares_for_all: false,
        lease: name,
        plain_http: &[],
    }
}

/// The moment when the last write was this.
pub fn last(
    method: &'static str,
    kind: &'static str,
) -> impl Fn(&[Write]) -> bool + Send + 'static {
    move |writes| writes.last().is_some_and(|write| write.is(method, kind))
}

/// Has a job done with a process that is killed after its first write, after its second one, and so on
/// until all is done before; says how many moments there were. `FIRST` says where to go on after a walk
/// that was cut short.
#[allow(
    clippy::print_stdout,
    reason = "how far it is, of what takes very long"
)]
pub async fn walk<F>(job: impl Fn(usize) -> F) -> anyhow::Result<usize>
where
    F: Future<Output = anyhow::Result<Option<String>>>,
{
    let mut first = match std::env::var("FIRST") {
        Ok(number) => number.parse()?,
        Err(_) => 1,
    };
    loop {
        let moments = try_join_all((first..first + AT_ONCE).map(&job)).await?;
        for (count, moment) in (first..).zip(&moments) {
            println!(
                "{count:3} {}",
                moment.as_deref().unwrap_or("was over before")
            );
        }
        if moments.iter().all(Option::is_none) {
            return Ok(first);
        }
        first += AT_ONCE;
    }
}
