//! A catalog whose every word is an attack.

use anyhow::ensure;
use serde_json::{Value, json};

use crate::stage::{PHONE, WIDE, with_stock};
use crate::stock::put_icon;
use crate::support::wares::{Operator, blobs, channel, stable};

/// Breaks out of texts, attributes, scripts, templates and comments, where it can.
const ATTACK: &str = "x\"'><img src=x onerror=pwned=1><script>pwned=1</script><svg onload=pwned=1>\
    </title></textarea>{{7*7}}--> javascript:pwned=1";

const PICTURE: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" onload="pwned=1"><script>pwned=1</script>
    <foreignObject><iframe xmlns="http://www.w3.org/1999/xhtml" src="javascript:parent.pwned=1"/></foreignObject></svg>"#;

fn hostile() -> Vec<Value> {
    let example = json!([{"apiVersion": "evil.example.com/v1", "kind": "Evil", "metadata": {"name": ATTACK}}]);
    let changes = json!({
        "metadata": {"annotations": {
            "description": ATTACK, "categories": ATTACK, "capabilities": ATTACK, "createdAt": ATTACK,
            "repository": "javascript:pwned=1", "containerImage": ATTACK, "support": ATTACK,
            "alm-examples": example.to_string(), "operatorframework.io/suggested-namespace": ATTACK,
        }},
        "spec": {
            "displayName": ATTACK, "description": format!("{ATTACK}\n\n[x](javascript:pwned=1)\n\n![x](https://evil.example.com/x.png)"),
            "provider": {"name": ATTACK, "url": "javascript:pwned=1"},
            "links": [{"name": ATTACK, "url": "javascript:pwned=1"}, {"name": ATTACK, "url": format!("https://example.com/{ATTACK}")}],
            "maintainers": [{"name": ATTACK, "email": ATTACK}],
            "keywords": [ATTACK], "maturity": ATTACK,
            "customresourcedefinitions": {"owned": [{
                "name": "evils.evil.example.com", "kind": "Evil", "version": "v1", "displayName": ATTACK, "description": ATTACK,
            }]},
        },
    });
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "evils.evil.example.com"},
        "spec": {
            "group": "evil.example.com", "scope": "Namespaced",
            "names": {"kind": "Evil", "plural": "evils", "singular": "evil", "shortNames": ["e"]},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "description": ATTACK,
                "properties": {"spec": {"type": "object", "properties": {
                    "x\"><img src=x onerror=pwned=1>": {"type": "string", "description": ATTACK, "default": ATTACK, "enum": [ATTACK]},
                }}},
            }}}],
        },
    });
    let rule = json!({"apiGroups": [ATTACK], "resources": [ATTACK], "verbs": [ATTACK], "resourceNames": [ATTACK]});
    let version = |version: &str| {
        Operator::new("evil.example.com", "evil", version)
            .owns("Evil")
            .with(crd.clone())
            .needs("x\"><img src=x onerror=pwned=1>", ">=1.0.0")
            .may_everywhere(&rule)
            .csv_with(changes.clone())
    };
    let mut all = blobs(
        &[stable([
            version("1.0.0"),
            version("1.1.0").replaces("1.0.0"),
        ])],
        &[],
    );
    for bundle in all.iter_mut().filter(|blob| blob["schema"] == "olm.bundle") {
        bundle["relatedImages"] = json!([{"name": ATTACK, "image": ATTACK}]);
    }
    put_icon(&mut all, "evil", "image/svg+xml", PICTURE);
    all.push(json!({
        "schema": "olm.deprecations", "package": "evil",
        "entries": [
            {"reference": {"schema": "olm.package"}, "message": ATTACK},
            {"reference": {"schema": "olm.bundle", "name": "evil.v1.1.0"}, "message": ATTACK},
        ],
    }));
    all
}

/// What would mean that a text became something else.
const ALIVE: &str = "
    const found = [];
    if (typeof pwned !== 'undefined') found.push('it ran');
    for (const one of document.querySelectorAll('*')) {
        for (const attribute of one.attributes) {
            if (attribute.name.startsWith('on') || attribute.name === 'style') found.push(one.outerHTML);
            if (/^\\s*(javascript|data|vbscript):/i.test(attribute.value)) found.push(one.outerHTML);
        }
    }
    for (const one of document.querySelectorAll('script')) {
        if (!new URL(one.src).pathname.startsWith('/assets/')) found.push(one.outerHTML);
    }
    for (const one of document.querySelectorAll('img')) {
        if (new URL(one.src).origin !== location.origin) found.push(one.outerHTML);
    }
    for (const one of document.querySelectorAll('iframe, object, embed, base, textarea')) found.push(one.outerHTML);
    return found;
";

#[tokio::test]
async fn whatever_a_catalog_says_is_only_ever_text() {
    with_stock(&hostile(), async |stage| {
        let attack: String = form_urlencoded::byte_serialize(ATTACK.as_bytes()).collect();
        let pages = [
            "/".to_owned(),
            "/?view=list".to_owned(),
            format!("/?q={attack}"),
            "/packages/evil".to_owned(),
            format!("/packages/evil?namespace={attack}"),
            "/packages/evil/versions".to_owned(),
            "/packages/evil/apis".to_owned(),
            "/packages/evil/permissions".to_owned(),
            "/packages/evil/dependencies".to_owned(),
            "/packages/evil/images".to_owned(),
            "/packages/evil/diff?from=1.0.0&to=1.1.0".to_owned(),
        ];
        for page in pages {
            stage.visit(&page).await?;
            let alive: Vec<String> = stage.ask(ALIVE, vec![]).await?;
            ensure!(alive.is_empty(), "{page}: {alive:#?}");
            ensure!(
                stage.count("h1").await? == 1,
                "{page} is not what it should be"
            );
        }
        stage.picture("hostile").await?;
        // A refused picture or script would have been noted by the browser.
        stage.nothing_complained().await?;
        for page in [
            format!("/packages/{attack}"),
            format!("/packages/evil?channel={attack}"),
            format!("/{attack}"),
        ] {
            stage.visit(&page).await?;
            let alive: Vec<String> = stage.ask(ALIVE, vec![]).await?;
            ensure!(alive.is_empty(), "{page}: {alive:#?}");
        }
        stage.complaints().await?;
        Ok(())
    })
    .await;
}

/// Names that no line can hold.
fn endless() -> Vec<Value> {
    let long = "W".repeat(10_000);
    let kind = "Kind".repeat(15);
    let changes = json!({
        "metadata": {"annotations": {"categories": long, "description": long, "support": long, "containerImage": long}},
        "spec": {
            "displayName": long, "provider": {"name": long}, "keywords": vec![long.clone(); 1000],
            "maintainers": [{"name": long, "email": long}], "links": [{"name": long, "url": "https://example.com"}],
        },
    });
    let version = |version: &str| {
        Operator::new("evil.example.com", "evil", version)
            .owns(&kind)
            .csv_with(changes.clone())
    };
    blobs(
        &[
            stable([version("1.0.0"), version("1.1.0").replaces("1.0.0")]),
            channel(&"c".repeat(200), [version("1.0.0")]),
        ],
        &[],
    )
}

#[tokio::test]
async fn no_name_makes_a_page_too_wide() {
    with_stock(&endless(), async |stage| {
        for size in [WIDE, PHONE] {
            stage.resize(size).await?;
            for page in [
                "/",
                "/?view=list",
                "/packages/evil",
                "/packages/evil/versions",
                "/packages/evil/apis",
                "/packages/evil/permissions",
                "/packages/evil/dependencies",
                "/packages/evil/images",
                "/packages/evil/diff",
            ] {
                stage.visit(page).await?;
                let widths: (u32, u32) = stage
                    .ask("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]", vec![])
                    .await?;
                ensure!(widths.0 <= widths.1, "{page} at {size:?}: {widths:?}");
            }
        }
        stage.visit("/").await?;
        stage.picture("endless").await
    })
    .await;
}

#[tokio::test]
async fn a_picture_that_is_opened_by_itself_runs_nothing() {
    with_stock(&hostile(), async |stage| {
        stage.visit("/packages/evil").await?;
        let picture: Value = stage
            .ask(
                "return document.querySelector('.masthead img')?.getAttribute('src') ?? null",
                vec![],
            )
            .await?;
        let Some(picture) = picture.as_str() else {
            // Not to show it at all is as good.
            return Ok(());
        };
        stage.visit(picture).await?;
        let ran: bool = stage
            .ask("return typeof pwned !== 'undefined'", vec![])
            .await?;
        ensure!(!ran, "a picture ran its script");
        stage.complaints().await?;
        Ok(())
    })
    .await;
}
