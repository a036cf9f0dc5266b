//! Colours.

use crate::stage::with_stock;
use crate::stock;

#[tokio::test]
async fn dark_colours_are_chosen_and_remembered() {
    with_stock(&stock::usual(), async |stage| {
        stage.visit("/").await?;
        let light = background(stage).await?;
        stage.click("#theme").await?;
        let dark = background(stage).await?;
        assert_ne!(light, dark);
        stage.picture("home").await?;
        stage.visit("/packages/gopher/versions").await?;
        assert_eq!(
            background(stage).await?,
            dark,
            "another page is dark as well"
        );
        stage.picture("graph").await?;
        stage.visit("/packages/gopher").await?;
        stage.picture("package").await?;
        stage.click("#theme").await?;
        assert_eq!(background(stage).await?, light);
        Ok(())
    })
    .await;
}

async fn background(stage: &crate::stage::Stage) -> anyhow::Result<String> {
    stage
        .ask(
            "return getComputedStyle(document.body).backgroundColor",
            vec![],
        )
        .await
}
