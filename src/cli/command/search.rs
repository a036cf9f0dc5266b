//! `chandler search`

use std::fmt::Write as _;

use serde::Serialize;

use crate::cli::args::hub::Search as Args;
use crate::cli::args::output::Output;
use crate::cli::failure::Failure;
use crate::cli::{printer, shelves};
use crate::server::hub::PackageQuery;
use crate::server::hub::views::PackageCard;

/// What scripts rely on.
#[derive(Serialize)]
struct Found<'a> {
    total: usize,
    packages: Vec<Package<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Package<'a> {
    name: &'a str,
    display_name: &'a str,
    catalog: &'a str,
    provider: &'a str,
    default_channel: &'a str,
    version: &'a str,
    categories: &'a [String],
    capability_level: &'a str,
    deprecated: bool,
    description: &'a str,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let hub = shelves::open(&args.catalogs, &args.registry)?;
    let list = hub.packages(&PackageQuery {
        q: args.words.join(" "),
        categories: args.category.clone(),
        providers: args.provider.clone(),
        limit: Some(args.limit.unwrap_or(usize::MAX)),
        ..PackageQuery::default()
    })?;
    if args.output != Output::Text {
        let found = Found {
            total: list.total,
            packages: list.packages.iter().map(package).collect(),
        };
        return printer::structured(&found, args.output);
    }
    if list.packages.is_empty() {
        printer::say("nothing fits; try fewer words");
        return Ok(());
    }
    let text = if printer::on_terminal() {
        table(&list.packages)
    } else {
        lines(&list.packages)
    };
    printer::data(&text)?;
    let hidden = list.total - list.packages.len();
    if hidden > 0 {
        printer::say(&format!("and {hidden} more"));
    }
    Ok(())
}

fn package(card: &PackageCard) -> Package<'_> {
    Package {
        name: &card.name,
        display_name: &card.display_name,
        catalog: &card.catalog,
        provider: &card.provider,
        default_channel: &card.default_channel,
        version: &card.version,
        categories: &card.categories,
        capability_level: &card.capability_level,
        deprecated: card.deprecation.is_some(),
        description: &card.description,
    }
}

/// Names that differ from what people call it are worth both.
fn title(card: &PackageCard) -> String {
    let mark = if card.deprecation.is_some() {
        " (deprecated)"
    } else {
        ""
    };
    format!("{}{mark}", card.display_name)
}

fn table(cards: &[PackageCard]) -> String {
    let catalogs: std::collections::BTreeSet<&str> =
        cards.iter().map(|card| card.catalog.as_str()).collect();
    let plain = |text: &str| printer::visible(text).into_owned();
    if catalogs.len() > 1 {
        let mut table = printer::table(["PACKAGE", "", "VERSION", "PROVIDER", "CATALOG"]);
        for card in cards {
            let title = title(card);
            let cells = [
                &card.name,
                &title,
                &card.version,
                &card.provider,
                &card.catalog,
            ];
            table.add_row(cells.map(|cell| plain(cell)));
        }
        return format!("{table}\n");
    }
    let mut table = printer::table(["PACKAGE", "", "VERSION", "CHANNEL", "PROVIDER"]);
    for card in cards {
        let title = title(card);
        let cells = [
            &card.name,
            &title,
            &card.version,
            &card.default_channel,
            &card.provider,
        ];
        table.add_row(cells.map(|cell| plain(cell)));
    }
    format!("{table}\n")
}

fn lines(cards: &[PackageCard]) -> String {
    let mut text = String::new();
    for card in cards {
        let cells = [
            card.name.as_str(),
            &card.version,
            &card.catalog,
            &title(card),
        ];
        let cells = cells.map(|cell| printer::visible(cell).into_owned());
        let _ = writeln!(text, "{}", cells.join("\t"));
    }
    text
}
