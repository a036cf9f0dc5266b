//! `chandler status`

use crate::cli::args::operate::Status as Args;
use crate::cli::args::output::Output;
use crate::cli::cluster::Cluster;
use crate::cli::failure::Failure;
use crate::cli::printer;
use crate::cli::session::wait;
use crate::cli::standing::Standing;
use crate::cli::upgrade::Upgrade;

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let standings = wait(async {
        let (cluster, namespace) = Cluster::at(&args.place).await?;
        let found = match &args.name {
            Some(name) => vec![cluster.subscription(&namespace, name).await?],
            None => cluster.subscriptions(&namespace).await?,
        };
        let csvs = cluster.csvs(&namespace).await?;
        let csvs: Vec<_> = csvs.iter().collect();
        let mut standings = Vec::new();
        for subscription in &found {
            let mut standing = Standing::among(subscription, &csvs);
            cluster.explain_silence(&mut standing).await;
            standings.push(standing);
        }
        Ok(standings)
    })?;
    match args.output {
        Output::Text => printer::data(&text(&standings, args.name.is_some()))?,
        structured if args.name.is_some() => printer::structured(&standings[0], structured)?,
        structured => printer::structured(&standings, structured)?,
    }
    let unwell: Vec<&str> = standings
        .iter()
        .filter(|standing| standing.word() != "healthy")
        .map(|standing| standing.name.as_str())
        .collect();
    if unwell.is_empty() {
        return Ok(());
    }
    Err(Failure::no(anyhow::anyhow!(
        "not healthy: {}",
        unwell.join(", ")
    )))
}

fn text(standings: &[Standing], in_full: bool) -> String {
    if standings.is_empty() {
        return "no Subscriptions\n".to_owned();
    }
    if in_full {
        return standings.iter().map(Standing::text).collect();
    }
    if !printer::on_terminal() {
        let line = |it: &Standing| {
            format!(
                "{}\t{}\t{}\t{}\t{}\n",
                it.name,
                it.package,
                it.running_csv,
                it.word(),
                upgrade(it)
            )
        };
        return standings.iter().map(line).collect();
    }
    let header = ["Subscription", "Package", "Running", "State", "Upgrade"];
    let mut table = printer::table(header);
    for it in standings {
        let upgrade = upgrade(it);
        table.add_row([
            it.name.as_str(),
            &it.package,
            &it.running_csv,
            it.word(),
            &upgrade,
        ]);
    }
    format!("{table}\n")
}

fn upgrade(standing: &Standing) -> String {
    let line = standing.upgrade.as_ref().map(Upgrade::line);
    printer::visible(&line.unwrap_or_default()).into_owned()
}
