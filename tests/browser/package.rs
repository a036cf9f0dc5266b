//! The page of an operator and its tabs.

use crate::stage::with_stock;
use crate::stock::{self, LONG};

#[tokio::test]
async fn a_package_shows_what_it_is_and_how_to_install_it() {
    with_stock(&stock::usual(), async |stage| {
        stage.visit("/packages/gopher").await?;
        assert_eq!(stage.text("h1").await?, "Gopher");
        assert_eq!(stage.text(".prose h3").await?, "What it does");
        assert_eq!(stage.count(".prose td").await?, 2);
        let facts = stage.text(".facts").await?;
        for fact in [
            "1.2.0",
            "Deep Insights",
            "2026-05-04",
            "1.25.0 or newer",
            "Gopher Works",
            "Handbook",
            "The Keepers",
        ] {
            assert!(facts.contains(fact), "{fact} is not in {facts}");
        }
        assert!(stage.text(".way pre").await?.contains("gopher"));
        let yaml = stage.texts(".way:last-of-type pre").await?.join("");
        assert!(yaml.contains("kind: Subscription"), "{yaml}");
        let picture = "document.querySelector('.masthead img').naturalWidth > 0";
        stage.wait("its picture is shown", picture).await?;
        stage.picture("overview").await
    })
    .await;
}

#[tokio::test]
async fn a_channel_and_a_version_are_chosen_and_stay_in_the_address() {
    with_stock(&stock::usual(), async |stage| {
        stage.visit("/packages/gopher").await?;
        choose(stage, "channel", "alpha").await?;
        stage
            .wait(
                "the newest of alpha is shown",
                "document.querySelector('.facts code').textContent === '2.0.0-beta.1'",
            )
            .await?;
        assert_eq!(stage.address().await?, "/packages/gopher?channel=alpha");
        assert!(stage.text(".banner").await?.contains("alpha ends soon"));
        choose(stage, "version", "1.2.0").await?;
        stage
            .wait(
                "the older one is shown",
                "document.querySelector('.facts code').textContent === '1.2.0'",
            )
            .await?;
        assert_eq!(
            stage.address().await?,
            "/packages/gopher?channel=alpha&version=1.2.0"
        );
        let yaml = stage.texts(".way:last-of-type pre").await?.join("");
        assert!(
            yaml.contains("channel: alpha") && yaml.contains("startingCSV: gopher.v1.2.0"),
            "{yaml}"
        );
        // Tabs keep what is chosen.
        stage.click(".tabs a[href*='/permissions']").await?;
        stage
            .wait(
                "rights are shown",
                "document.querySelector('#rights-title')",
            )
            .await?;
        assert_eq!(
            stage.address().await?,
            "/packages/gopher/permissions?channel=alpha&version=1.2.0"
        );
        stage.visit("/packages/gopher?version=1.1.0").await?;
        assert!(stage.text(".banner").await?.contains("1.1.0 bites"));
        stage.picture("deprecated").await
    })
    .await;
}

async fn choose(stage: &crate::stage::Stage, select: &str, value: &str) -> anyhow::Result<()> {
    stage
        .click(&format!(
            ".masthead select[name={select}] option[value='{value}']"
        ))
        .await
}

#[tokio::test]
async fn the_upgrade_graph_is_drawn_and_leads_to_versions() {
    with_stock(&stock::usual(), async |stage| {
        stage.visit("/packages/gopher/versions").await?;
        assert_eq!(
            stage.texts("#graph .mono").await?,
            ["2.0.0-beta.1", "1.2.0", "1.1.0", "1.0.0"]
        );
        assert!(stage.count("#graph .edge.skips").await? > 0);
        assert!(
            stage
                .text("section p:not(.muted)")
                .await?
                .contains("1.2.0 can be upgraded directly to 2.0.0-beta.1")
        );
        stage.picture("graph").await?;
        stage.click("#graph a[href$='version=1.0.0']").await?;
        stage
            .wait(
                "it is chosen",
                "document.querySelector('#graph .chosen .mono')?.textContent === '1.0.0'",
            )
            .await?;
        assert_eq!(
            stage.address().await?,
            "/packages/gopher/versions?version=1.0.0"
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_long_history_is_folded_until_somebody_wants_all_of_it() {
    with_stock(&stock::usual(), async |stage| {
        stage.visit("/packages/long-voyage/versions").await?;
        assert!(stage.count("#graph .mono").await? < 40);
        stage.picture("folded").await?;
        stage.click("#graph a[href*='all=yes']").await?;
        stage
            .wait(
                "all are shown",
                &format!("document.querySelectorAll('#graph .mono').length === {LONG}"),
            )
            .await?;
        stage.picture("whole").await
    })
    .await;
}

#[tokio::test]
async fn what_a_version_may_do_is_said_the_dangerous_first() {
    with_stock(&stock::usual(), async |stage| {
        stage.visit("/packages/gopher/permissions").await?;
        let rights = stage.texts(".rights li").await?;
        assert_eq!(rights.len(), 2, "{rights:?}");
        assert!(rights[0].to_lowercase().contains("secrets"), "{rights:?}");
        assert_eq!(
            stage.count(".rights li.critical, .rights li.high").await?,
            1
        );
        stage.picture("rights").await
    })
    .await;
}

#[tokio::test]
async fn an_api_shows_its_fields_and_an_example() {
    with_stock(&stock::usual(), async |stage| {
        stage.visit("/packages/gopher/apis").await?;
        let fields = stage.texts(".fields .field").await?;
        for field in ["spec", "size", "where", "garden", "colour"] {
            assert!(
                fields.iter().any(|one| one == field),
                "{field} is not in {fields:?}"
            );
        }
        assert!(stage.texts(".crd pre").await?[0].contains("kind: Gopher"));
        stage.picture("apis").await
    })
    .await;
}

#[tokio::test]
async fn who_needs_whom_is_drawn() {
    with_stock(&stock::usual(), async |stage| {
        stage.visit("/packages/burrow/dependencies").await?;
        let boxes = stage.texts(".graph .box").await?.join(" ");
        for one in ["burrow", "gopher", "Lantern", "chart-room"] {
            assert!(boxes.contains(one), "{one} is not in {boxes}");
        }
        stage.picture("needs").await?;
        stage.visit("/packages/gopher/dependencies").await?;
        stage.click(".graph a[href^='/packages/burrow']").await?;
        stage
            .wait(
                "a box leads to its package",
                "document.querySelector('h1').textContent === 'Burrow'",
            )
            .await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn two_versions_are_compared() {
    with_stock(&stock::usual(), async |stage| {
        stage.visit("/packages/gopher/versions").await?;
        stage.click("input[name=from][value='1.0.0']").await?;
        stage.click("input[name=to][value='1.2.0']").await?;
        stage.click("table ~ p button, .scroll + p button").await?;
        stage
            .wait(
                "they are compared",
                "document.querySelector('#diff-title')?.textContent === 'From 1.0.0 to 1.2.0'",
            )
            .await?;
        let page = stage.text("main").await?;
        assert!(page.contains("Secrets"), "{page}");
        assert!(page.contains("spec.colour"), "{page}");
        assert!(page.contains("example.com/gopher:v1.2.0"), "{page}");
        stage.picture("diff").await
    })
    .await;
}

#[tokio::test]
async fn what_is_not_aboard_is_said_politely() {
    with_stock(&stock::usual(), async |stage| {
        for (path, words) in [
            ("/packages/submarine", "submarine"),
            ("/packages/gopher?version=9.9.9", "9.9.9"),
            ("/packages/gopher?channel=beta", "beta"),
            ("/nowhere", "/nowhere"),
        ] {
            stage.visit(path).await?;
            assert_eq!(stage.text("h1").await?, "Not aboard", "{path}");
            assert!(stage.text(".lost").await?.contains(words), "{path}");
        }
        stage.picture("lost").await?;
        // The browser itself notes that an answer was 404.
        let complaints = stage.complaints().await?;
        assert!(
            complaints.iter().all(|one| one.contains("404")),
            "{complaints:?}"
        );
        Ok(())
    })
    .await;
}
