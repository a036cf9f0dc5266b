//! What goes over the wire.

use anyhow::ensure;
use serde::Deserialize;

use crate::stage::with_stock;
use crate::stock;

/// What a browser fetched, as it reports it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fetched {
    name: String,
    transfer_size: u64,
}

#[tokio::test]
async fn the_home_page_is_small_comes_from_one_place_and_stays_where_it_is() {
    with_stock(&stock::usual(), async |stage| {
        stage.visit("/").await?;
        stage.write("#q", "tool").await?;
        stage.wait("it is found", "location.search === '?q=tool'").await?;
        let script = "return [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]\
            .map(one => ({name: one.name, transferSize: one.transferSize}))";
        let fetched: Vec<Fetched> = stage.ask(script, vec![]).await?;
        for one in &fetched {
            ensure!(one.name.starts_with(&stage.hub), "{one:?} is fetched from elsewhere");
        }
        let size: u64 = fetched.iter().map(|one| one.transfer_size).sum();
        ensure!(size < 200_000, "{size} bytes: {fetched:#?}");
        let script = "const done = arguments[0]; new PerformanceObserver(list => done(\
            list.getEntries().filter(one => !one.hadRecentInput).reduce((sum, one) => sum + one.value, 0)))\
            .observe({type: 'layout-shift', buffered: true}); setTimeout(() => done(0), 500)";
        let shift: f64 = stage.browser.execute_async(script, vec![]).await?.convert()?;
        ensure!(shift < 0.02, "things jump: {shift}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn without_a_script_the_same_addresses_answer() {
    with_stock(&stock::usual(), async |stage| {
        let client = reqwest::Client::new();
        for (path, words) in [
            ("/?q=gopher", "2 operators for “gopher”"),
            ("/?category=Storage&sort=&q=", "1 operator"),
            (
                "/packages/gopher?channel=alpha&version=1.0.0",
                "2.0.0-beta.1 from channel alpha",
            ),
        ] {
            let answer = client.get(format!("{}{path}", stage.hub)).send().await?;
            let policy = answer.headers()["content-security-policy"]
                .to_str()?
                .to_owned();
            ensure!(
                !policy.contains("unsafe") && policy.contains("default-src 'none'"),
                "{policy}"
            );
            let tag = answer.headers()["etag"].clone();
            let text = answer.text().await?;
            ensure!(text.contains(words), "{path} does not say {words}");
            let again = client
                .get(format!("{}{path}", stage.hub))
                .header("if-none-match", tag);
            ensure!(again.send().await?.status() == 304, "{path} is sent twice");
        }
        Ok(())
    })
    .await;
}
