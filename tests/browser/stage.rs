//! A browser that looks at a hub.

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use axum::Router;
use futures::FutureExt as _;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thirtyfour::prelude::*;
use thirtyfour::{BrowserLogEntry, LoggingPrefsLogLevel};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

use crate::support::hub::Desk;

const SOON: Duration = Duration::from_millis(20);
const DEADLINE: Duration = Duration::from_secs(20);
/// How long a script may take: the one that looks at a large page for who cannot use it has much to do, and a busy machine
/// little time for it.
const SCRIPT: Duration = Duration::from_mins(3);

/// A screen of a laptop.
pub(crate) const WIDE: (u32, u32) = (1360, 900);
/// A screen of a phone. Chromium makes no window smaller than 500 pixels, so frames do the rest.
pub(crate) const PHONE: (u32, u32) = (500, 900);

/// A browser and a hub that it looks at.
pub(crate) struct Stage {
    pub(crate) browser: WebDriver,
    /// Where the hub answers: `http://127.0.0.1:PORT`.
    pub(crate) hub: String,
    name: String,
    _driver: Child,
}

/// Runs a test in a browser that looks at a catalog of these blobs.
pub(crate) async fn with_stock(
    blobs: &[Value],
    test: impl AsyncFnOnce(&Stage) -> anyhow::Result<()>,
) {
    let desk = Desk::with(&[("harbour", blobs)], |_| {}).await;
    with_router(desk.router.clone(), test).await;
}

/// Runs a test in a browser that looks at a hub.
pub(crate) async fn with_router(
    router: Router,
    test: impl AsyncFnOnce(&Stage) -> anyhow::Result<()>,
) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hub = format!("http://{}", listener.local_addr().unwrap());
    // As the server itself does it: who asks is known.
    let router = router.into_make_service_with_connect_info::<SocketAddr>();
    let serving = tokio::spawn(async move { axum::serve(listener, router).await });
    let outcome = AssertUnwindSafe(with_address(hub, test)).catch_unwind();
    let outcome = outcome.await;
    serving.abort();
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

/// Runs a test in a browser that looks at what somebody else serves. The browser ends in any case.
pub(crate) async fn with_address(
    hub: String,
    test: impl AsyncFnOnce(&Stage) -> anyhow::Result<()>,
) {
    // The test harness names each thread after its test.
    let name = std::thread::current()
        .name()
        .unwrap_or("test")
        .replace("::", "-");
    let stage = match Stage::open(name, hub).await {
        Ok(stage) => stage,
        Err(error) => panic!("{error:#}"),
    };
    // The test may have stopped half-way; the browser is only looked at afterwards.
    let outcome = AssertUnwindSafe(async {
        test(&stage).await?;
        stage.nothing_complained().await
    });
    let outcome = outcome.catch_unwind().await;
    if !matches!(outcome, Ok(Ok(()))) {
        let _ = stage.picture("failed").await;
    }
    let _ = stage.browser.quit().await;
    match outcome {
        Ok(Ok(())) => {}
        Ok(Err(error)) => panic!("{error:#}"),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

impl Stage {
    async fn open(name: String, hub: String) -> anyhow::Result<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (driver, port) = chromedriver().await?;
        let mut wishes = DesiredCapabilities::chrome();
        wishes.add_arg("--headless=new")?;
        // Root may have no sandbox, and a small /dev/shm kills tabs.
        wishes.add_arg("--no-sandbox")?;
        wishes.add_arg("--disable-dev-shm-usage")?;
        wishes.add_arg("--hide-scrollbars")?;
        // What glides cannot be clicked.
        wishes.add_arg("--force-prefers-reduced-motion")?;
        wishes.set_browser_log_level(LoggingPrefsLogLevel::All)?;
        let browser = WebDriver::new(format!("http://127.0.0.1:{port}"), wishes)
            .await
            .context("Chromium does not start")?;
        browser.set_script_timeout(SCRIPT).await?;
        let stage = Self {
            browser,
            hub,
            name,
            _driver: driver,
        };
        stage.resize(WIDE).await?;
        Ok(stage)
    }

    pub(crate) async fn resize(&self, (width, height): (u32, u32)) -> anyhow::Result<()> {
        Ok(self.browser.set_window_rect(0, 0, width, height).await?)
    }

    /// Goes to a page of the hub.
    pub(crate) async fn visit(&self, path: &str) -> anyhow::Result<()> {
        Ok(self.browser.goto(format!("{}{path}", self.hub)).await?)
    }

    /// Path and query of where it is.
    pub(crate) async fn address(&self) -> anyhow::Result<String> {
        let url = self.browser.current_url().await?;
        let query = url.query().map(|query| format!("?{query}"));
        Ok(format!("{}{}", url.path(), query.unwrap_or_default()))
    }

    pub(crate) async fn click(&self, css: &str) -> anyhow::Result<()> {
        let element = self.find(css).await?;
        element.scroll_into_view().await?;
        element
            .click()
            .await
            .with_context(|| format!("{css} cannot be clicked"))
    }

    pub(crate) async fn write(&self, css: &str, text: &str) -> anyhow::Result<()> {
        Ok(self.find(css).await?.send_keys(text).await?)
    }

    pub(crate) async fn text(&self, css: &str) -> anyhow::Result<String> {
        Ok(self.find(css).await?.text().await?)
    }

    /// The texts of all that fit.
    pub(crate) async fn texts(&self, css: &str) -> anyhow::Result<Vec<String>> {
        let script = "return [...document.querySelectorAll(arguments[0])].map(one => one.textContent.trim())";
        self.ask(script, vec![css.into()]).await
    }

    pub(crate) async fn count(&self, css: &str) -> anyhow::Result<usize> {
        Ok(self.texts(css).await?.len())
    }

    async fn find(&self, css: &str) -> anyhow::Result<WebElement> {
        let found = self.browser.find(By::Css(css)).await;
        found.with_context(|| format!("there is no {css}"))
    }

    /// What a script answers.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        script: &str,
        arguments: Vec<Value>,
    ) -> anyhow::Result<T> {
        Ok(self.browser.execute(script, arguments).await?.convert()?)
    }

    /// Waits until a script says yes.
    pub(crate) async fn wait(&self, what: &str, script: &str) -> anyhow::Result<()> {
        let deadline = tokio::time::Instant::now() + DEADLINE;
        // While a page is exchanged for another there is nobody to ask.
        while !self
            .ask::<bool>(&format!("return !!({script})"), Vec::new())
            .await
            .unwrap_or(false)
        {
            if tokio::time::Instant::now() > deadline {
                bail!("{what}: not in time, at {}", self.address().await?);
            }
            tokio::time::sleep(SOON).await;
        }
        Ok(())
    }

    /// Presses keys where the focus is.
    pub(crate) async fn press(&self, keys: impl Into<TypingData>) -> anyhow::Result<()> {
        Ok(self
            .browser
            .action_chain()
            .send_keys(keys)
            .perform()
            .await?)
    }

    /// Keeps a picture of what is to be seen.
    pub(crate) async fn picture(&self, name: &str) -> anyhow::Result<()> {
        let folder = artifacts();
        fs_err::create_dir_all(&folder)?;
        let file = folder.join(format!("{}-{name}.png", self.name));
        Ok(self.browser.screenshot(&file).await?)
    }

    /// Fails if the browser had anything to complain about since it was asked last.
    pub(crate) async fn nothing_complained(&self) -> anyhow::Result<()> {
        let log: Vec<BrowserLogEntry> = self.browser.browser_log().await?;
        let complaints: Vec<String> = log
            .into_iter()
            .filter(|entry| entry.level == "SEVERE" || entry.level == "WARNING")
            .map(|entry| entry.message)
            .collect();
        ensure!(
            complaints.is_empty(),
            "the browser complains: {complaints:#?}"
        );
        Ok(())
    }

    /// Forgets complaints that a test is about.
    pub(crate) async fn complaints(&self) -> anyhow::Result<Vec<String>> {
        let log = self.browser.browser_log().await?;
        Ok(log.into_iter().map(|entry| entry.message).collect())
    }

    /// Fails if axe finds a serious violation on the page.
    pub(crate) async fn is_accessible(&self) -> anyhow::Result<()> {
        let found = self.violations().await?;
        ensure!(
            found.is_empty(),
            "axe at {}: {found:#?}",
            self.address().await?
        );
        Ok(())
    }

    /// The serious violations that axe finds on the page.
    pub(crate) async fn violations(&self) -> anyhow::Result<Vec<String>> {
        let axe = std::env::var_os("CHANDLER_AXE")
            .context("run `make test-browser`, which fetches axe-core")?;
        let axe = fs_err::read_to_string(axe)?;
        self.browser.execute(axe, Vec::new()).await?;
        let script = "const done = arguments[arguments.length - 1];\
            axe.run(document, {resultTypes: ['violations']}).then(\
              result => done(result.violations\
                .filter(one => one.impact === 'serious' || one.impact === 'critical')\
                .map(one => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map(node => node.html).join(' ')}`)),\
              error => done([String(error)]))";
        let found = self.browser.execute_async(script, Vec::new()).await?;
        Ok(found.convert()?)
    }
}

/// Where pictures are kept.
fn artifacts() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .with_file_name("test-artifacts")
        .join("browser")
}

/// A driver on a free port.
async fn chromedriver() -> anyhow::Result<(Child, u16)> {
    let mut child = Command::new("chromedriver")
        .arg("--port=0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .context("chromedriver is not here: install the Debian packages `chromium` and `chromium-driver`")?;
    let output = child.stdout.take().context("it has no output")?;
    let mut lines = BufReader::new(output).lines();
    let port = tokio::time::timeout(DEADLINE, async {
        while let Some(line) = lines.next_line().await? {
            if let Some((_, rest)) = line.split_once("successfully on port ") {
                return Ok(rest.trim_end_matches('.').parse()?);
            }
        }
        bail!("chromedriver ended before it had a port")
    });
    let port = port.await.context("chromedriver does not start")??;
    // Whoever writes to a pipe that nobody reads is ended by it.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    Ok((child, port))
}
