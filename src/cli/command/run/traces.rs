//! Traces by OTLP, if this was built with the feature `otlp` and the usual variables
//! (`OTEL_EXPORTER_OTLP_ENDPOINT` and its kin) say where to.

use crate::cli::failure::Failure;

/// What sends traces, if somebody wants them.
pub(in crate::cli::command) struct Traces {
    #[cfg(feature = "otlp")]
    provider: Option<opentelemetry_sdk::trace::SdkTracerProvider>,
}

/// A layer of the subscriber, or none.
type Layer = Option<Box<dyn tracing_subscriber::Layer<tracing_subscriber::Registry> + Send + Sync>>;

#[cfg(not(feature = "otlp"))]
impl Traces {
    /// Nobody asked for them.
    #[allow(
        clippy::unnecessary_wraps,
        reason = "with the feature, it fails where the variables make no sense"
    )]
    pub(super) fn start() -> Result<(Self, Layer), Failure> {
        Ok((Self {}, None))
    }

    /// There is nothing to send.
    #[allow(
        clippy::unused_async,
        reason = "with the feature, what was not sent yet is sent"
    )]
    pub(in crate::cli::command) async fn finish(self) {}
}

#[cfg(feature = "otlp")]
impl Traces {
    /// Begins to send, if the variables say where to. Has to be called within the runtime.
    pub(super) fn start() -> Result<(Self, Layer), Failure> {
        use opentelemetry::trace::TracerProvider as _;
        use opentelemetry_otlp::SpanExporter;
        use opentelemetry_sdk::Resource;
        use opentelemetry_sdk::trace::SdkTracerProvider;
        use tracing_subscriber::Layer as _;

        let is_wanted = [
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        ]
        .into_iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
        if !is_wanted {
            return Ok((Self { provider: None }, None));
        }
        let exporter = SpanExporter::builder()
            .with_tonic()
            .build()
            .map_err(|error| {
                Failure::usage(error)
                    .hint("correct the variables that begin with OTEL_EXPORTER_OTLP, or unset them")
            })?;
        let mut resource = Resource::builder();
        if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name(env!("CARGO_PKG_NAME"));
        }
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource.build())
            .build();
        let tracer = provider.tracer(env!("CARGO_PKG_NAME"));
        let layer = tracing_opentelemetry::layer().with_tracer(tracer).boxed();
        let provider = Some(provider);
        Ok((Self { provider }, Some(layer)))
    }

    /// Sends what was not sent yet.
    pub(in crate::cli::command) async fn finish(self) {
        let Some(provider) = self.provider else {
            return;
        };
        // It waits for a thread that needs this one.
        let ended = tokio::task::spawn_blocking(move || provider.shutdown()).await;
        if let Ok(Err(error)) = ended {
            tracing::debug!(%error, "the last traces could not be sent");
        }
    }
}
