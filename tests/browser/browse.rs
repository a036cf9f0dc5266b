//! Searching and filtering.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONTENT_LENGTH;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use futures::{StreamExt as _, stream};
use thirtyfour::Key;

use crate::stage::{PHONE, with_router, with_stock};
use crate::stock::{self, TOOLS};
use crate::support::hub::Desk;

const CARDS: &str = ".card h3";

#[tokio::test]
async fn the_home_page_shows_what_there_is() {
    with_stock(&stock::usual(), async |stage| {
        stage.visit("/").await?;
        let total = TOOLS + 5;
        assert_eq!(stage.text("#found").await?, format!("{total} operators"));
        assert_eq!(stage.count(CARDS).await?, 24);
        for (shown, address) in [(48, "/?show=48"), (total, "/?show=72")] {
            stage.click("#more").await?;
            stage
                .wait(
                    "more are shown",
                    &format!("document.querySelectorAll('{CARDS}').length === {shown}"),
                )
                .await?;
            stage
                .wait(
                    "the address says so",
                    &format!("location.pathname + location.search === '{address}'"),
                )
                .await?;
        }
        stage.picture("all").await
    })
    .await;
}

#[tokio::test]
async fn a_search_narrows_while_it_is_typed_and_is_in_the_address() {
    with_stock(&stock::usual(), async |stage| {
        stage.visit("/").await?;
        stage.write("#q", "gohper").await?;
        stage
            .wait(
                "a typo is forgiven",
                "document.querySelector('#found').textContent.startsWith('2 operators')",
            )
            .await?;
        assert_eq!(stage.texts(CARDS).await?[0], "Gopher");
        assert_eq!(stage.address().await?, "/?q=gohper");
        assert_eq!(stage.text("#said").await?, stage.text("#found").await?);
        stage.picture("typo").await?;
        // The same address shows the same without anybody typing.
        stage.visit("/?q=gohper").await?;
        assert_eq!(stage.texts(CARDS).await?[0], "Gopher");
        assert_eq!(
            stage
                .ask::<String>("return document.querySelector('#q').value", vec![])
                .await?,
            "gohper"
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn filters_count_combine_and_can_be_taken_back() {
    with_stock(&stock::usual(), async |stage| {
        stage.visit("/").await?;
        stage.click("input[name=category][value=Storage]").await?;
        stage
            .wait(
                "one is left",
                "document.querySelector('#found').textContent === '1 operator'",
            )
            .await?;
        stage.click("input[name=category][value=Database]").await?;
        stage
            .wait(
                "either is fine",
                "document.querySelector('#found').textContent === '2 operators'",
            )
            .await?;
        assert_eq!(
            stage.address().await?,
            "/?category=Database&category=Storage"
        );
        stage
            .click("input[name=provider][value='Tunnel Works']")
            .await?;
        stage
            .wait(
                "both are theirs",
                "document.querySelectorAll('.chips li').length === 3",
            )
            .await?;
        assert_eq!(stage.text("#found").await?, "2 operators");
        stage.picture("filtered").await?;
        stage.click("input[name=deprecated]").await?;
        stage
            .wait(
                "one is deprecated",
                "document.querySelector('#found').textContent === '1 operator'",
            )
            .await?;
        assert_eq!(stage.texts(CARDS).await?, ["Old Mole"]);
        stage.browser.back().await?;
        stage
            .wait(
                "Back takes it back",
                "document.querySelector('#found').textContent === '2 operators'",
            )
            .await?;
        stage.click(".filters-head a").await?;
        stage
            .wait(
                "all are shown",
                "document.querySelectorAll('.chips li').length === 0",
            )
            .await?;
        assert_eq!(stage.address().await?, "/");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn orders_and_views_are_chosen_in_place() {
    with_stock(&stock::usual(), async |stage| {
        stage.visit("/?sort=-name").await?;
        assert_eq!(stage.texts(CARDS).await?[0], format!("Tool {}", TOOLS - 1));
        stage.click(".views a[title=List]").await?;
        stage
            .wait("a list is shown", "document.querySelector('.cards.list')")
            .await?;
        assert_eq!(stage.address().await?, "/?sort=-name&view=list");
        stage.picture("list").await
    })
    .await;
}

#[tokio::test]
async fn what_is_not_there_is_said_with_a_way_out() {
    with_stock(&stock::usual(), async |stage| {
        stage.visit("/?q=submarine").await?;
        assert_eq!(
            stage.text(".empty h3").await?,
            "Nothing found for “submarine”"
        );
        stage.picture("nothing").await?;
        stage.click(".empty a").await?;
        stage
            .wait(
                "all are shown",
                "document.querySelectorAll('.card').length === 24",
            )
            .await?;
        assert_eq!(
            stage
                .ask::<String>("return document.querySelector('#q').value", vec![])
                .await?,
            ""
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn whoever_sees_a_list_goes_on_with_a_list() {
    with_stock(&stock::usual(), async |stage| {
        stage.visit("/?q=submarine&view=list").await?;
        stage.click(".empty a").await?;
        stage
            .wait("all are listed", "document.querySelector('.cards.list')")
            .await?;
        assert_eq!(stage.address().await?, "/?view=list");
        stage.click(".views a[title=Cards]").await?;
        stage
            .wait("cards", "document.querySelector('.cards:not(.list)')")
            .await?;
        stage.click("input[name=category][value=Storage]").await?;
        stage
            .wait(
                "one is left",
                "document.querySelector('#found').textContent === '1 operator'",
            )
            .await?;
        assert_eq!(stage.address().await?, "/?category=Storage");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_search_that_the_next_letter_overtakes_is_forgotten() {
    let desk = Desk::with(&[("harbour", &stock::usual())], |_| {}).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let slow = from_fn(move |request: Request, next: Next| {
        let is_search = request.uri().path() == "/browse";
        let is_first = is_search && count.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            let answer = next.run(request).await;
            if is_first {
                without_an_end(answer)
            } else {
                answer
            }
        }
    });
    with_router(desk.router.clone().layer(slow), async |stage| {
        stage.visit("/").await?;
        stage.write("#q", "g").await?;
        let under_way = async {
            while asked.load(Ordering::SeqCst) == 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), under_way).await?;
        stage.write("#q", "opher").await?;
        stage
            .wait(
                "the last one is answered",
                "document.querySelector('#found').textContent.startsWith('2 operators')",
            )
            .await?;
        stage.nothing_complained().await
    })
    .await;
}

/// An answer of which all arrives but its end.
fn without_an_end(answer: Response) -> Response {
    let (mut parts, body) = answer.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    let body = Body::from_stream(body.into_data_stream().chain(stream::pending()));
    Response::from_parts(parts, body)
}

#[tokio::test]
async fn on_a_phone_filters_are_folded_and_nothing_is_too_wide() {
    with_stock(&stock::usual(), async |stage| {
        stage.resize(PHONE).await?;
        stage.visit("/").await?;
        let fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth";
        stage.wait("nothing is too wide", fits).await?;
        stage.picture("home").await?;
        assert!(
            !stage
                .ask::<bool>(
                    "return !!document.querySelector('#filters').offsetParent",
                    vec![]
                )
                .await?
        );
        stage.click("#fold").await?;
        stage
            .wait(
                "filters are shown",
                "document.querySelector('#filters').offsetParent",
            )
            .await?;
        stage.picture("filters").await?;
        for page in [
            "",
            "/versions",
            "/apis",
            "/permissions",
            "/dependencies",
            "/images",
            "/diff",
        ] {
            stage.visit(&format!("/packages/gopher{page}")).await?;
            stage.wait("nothing is too wide", fits).await?;
            let tab = "(tab => tab.left >= 0 && tab.right <= innerWidth)\
                (document.querySelector('.tabs [aria-current]').getBoundingClientRect())";
            stage.wait("the tab is in sight", tab).await?;
        }
        stage.visit("/packages/gopher").await?;
        stage.picture("package").await
    })
    .await;
}

#[tokio::test]
async fn everything_can_be_reached_with_keys_alone() {
    with_stock(&stock::usual(), async |stage| {
        stage.visit("/").await?;
        stage.press(Key::Tab).await?;
        assert_eq!(focused(stage).await?, "Skip to the content");
        stage.press("/").await?;
        stage
            .wait(
                "a key leads to the search",
                "document.activeElement.id === 'q'",
            )
            .await?;
        stage.press("gopher").await?;
        stage
            .wait(
                "it is found",
                "document.querySelectorAll('.card').length === 2",
            )
            .await?;
        stage
            .wait(
                "the search keeps the focus",
                "document.activeElement.id === 'q'",
            )
            .await?;
        stage.picture("searching").await?;
        // Filters, order and views come before the cards.
        for _ in 0..80 {
            if focused(stage).await? == "Gopher" {
                break;
            }
            stage.press(Key::Tab).await?;
        }
        assert_eq!(focused(stage).await?, "Gopher");
        stage.picture("focused").await?;
        stage.press(Key::Enter).await?;
        stage
            .wait(
                "the package is shown",
                "document.querySelector('h1').textContent === 'Gopher'",
            )
            .await?;
        Ok(())
    })
    .await;
}

async fn focused(stage: &crate::stage::Stage) -> anyhow::Result<String> {
    stage
        .ask("return document.activeElement.textContent.trim()", vec![])
        .await
}
