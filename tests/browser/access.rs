//! For everybody: axe looks at every page, in light and dark.

use anyhow::ensure;

use crate::stage::with_stock;
use crate::stock;

const PAGES: [&str; 11] = [
    "/",
    "/?view=list&category=Storage",
    "/?q=submarine",
    "/packages/gopher",
    "/packages/gopher/versions",
    "/packages/gopher/apis",
    "/packages/gopher/permissions",
    "/packages/burrow/dependencies",
    "/packages/gopher/images",
    "/packages/gopher/diff?from=1.0.0&to=1.2.0",
    "/packages/old-mole",
];

#[tokio::test]
async fn axe_finds_no_serious_violation() {
    with_stock(&stock::usual(), async |stage| {
        let mut found = Vec::new();
        for colours in ["light", "dark"] {
            for page in PAGES {
                stage.visit(page).await?;
                let violations = stage.violations().await?.into_iter();
                found.extend(
                    violations.map(|violation| format!("{page} in {colours}: {violation}")),
                );
            }
            stage.click("#theme").await?;
        }
        ensure!(found.is_empty(), "axe finds {found:#?}");
        Ok(())
    })
    .await;
}
