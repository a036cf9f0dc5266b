//! `chandler hub`

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::run::{listen, log, stop_on_signal};
use crate::catalog::source::Source;
use crate::cli::args::hub::Hub as Args;
use crate::cli::failure::Failure;
use crate::cli::session::{Session, wait};
use crate::cli::situation::{named_sources, unless_none_can_be_read};
use crate::server::hub::{Hub, Standalone};
use crate::server::{self, Status};

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let mut origins = Vec::new();
    for (key, text) in named_sources(&args.catalog)? {
        origins.push((key, Source::parse(&text)?));
    }
    let session = Session::new(&args.registry)?;
    wait(async {
        let traces = log::start(&args.log)?;
        let listener = listen(args.listen).await?;
        let supply = Arc::new(Standalone::new(session.sources()?, origins));
        let read = supply.refresh().await.into_iter();
        let read = read.map(|(key, outcome)| (key.to_string(), outcome.map_err(Failure::from)));
        unless_none_can_be_read(read.collect())?;
        let stop = CancellationToken::new();
        stop_on_signal(&stop)?;
        let router =
            server::health(Arc::new(Ready)).merge(server::site(Arc::new(Hub::new(supply.clone()))));
        let address = listener.local_addr().map_err(Failure::outside)?;
        tracing::info!("the hub is at http://{address}");
        let refreshing = refresh(&supply, args.refresh, &stop);
        let serving = server::serve(listener, router, stop.clone());
        let ((), ()) = tokio::join!(serving, refreshing);
        traces.finish().await;
        Ok(())
    })
}

/// Looks at the catalogs again and again until it is told to stop.
async fn refresh(supply: &Standalone, every: Duration, stop: &CancellationToken) {
    if every.is_zero() {
        return;
    }
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(every) => {}
        }
        for (key, outcome) in supply.refresh().await {
            if let Err(error) = outcome {
                tracing::warn!(catalog = %key, %error, "the catalog cannot be read again and serves as it was");
            }
        }
    }
}

/// There is nothing to wait for: what is listened on can be answered.
struct Ready;

impl Status for Ready {
    fn not_ready(&self) -> Option<String> {
        None
    }

    fn metrics(&self) -> String {
        "# EOF\n".to_owned()
    }
}
