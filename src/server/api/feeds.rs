//! News as Atom feeds.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::State;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, header};
use axum::response::Response;

use super::error::{ApiError, Problems};
use super::request::{ApiPath, Asked};
use super::respond;
use crate::catalog::text::is_hidden;
use crate::server::hub::views::{PackageCard, PackagePage};
use crate::server::hub::{Hub, PackageQuery, Sort, blocking, encoded};
use crate::server::writes::Transport;

/// How many entries a feed has.
const ENTRIES: usize = 20;
/// What a feed says of something that does not say when it was made.
const LONG_AGO: &str = "1970-01-01T00:00:00Z";
/// The longest name that a host can have, with its port.
const LONGEST_HOST: usize = 260;
const ATOM: &str = "application/atom+xml";

/// The newest versions of all packages
#[utoipa::path(
    get, path = "/api/v1/feed.atom", operation_id = "get_feed", tag = "feeds",
    responses((status = 200, body = String, content_type = "application/atom+xml"), Problems),
)]
pub(super) async fn get_feed(
    State(hub): State<Arc<Hub>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    asked.only(&[])?;
    let origin = origin(&asked.headers, hub.writes().transport);
    let list = blocking(move || {
        hub.packages(&PackageQuery {
            sort: Some(Sort::Newest),
            limit: Some(ENTRIES),
            ..PackageQuery::default()
        })
    })
    .await?;
    let entries: Vec<Entry> = list.packages.iter().map(Entry::of_card).collect();
    let feed = Feed {
        origin,
        id: "urn:chandler:packages".to_owned(),
        title: "Operators",
        page: "/".to_owned(),
        own: "/api/v1/feed.atom".to_owned(),
        entries,
    };
    let feed = feed.text();
    Ok(respond::bytes(
        &asked.headers,
        ATOM,
        "no-cache",
        feed.into_bytes(),
    ))
}

/// The newest versions of a package
#[utoipa::path(
    get, path = "/api/v1/packages/{package}/feed.atom", operation_id = "get_package_feed", tag = "feeds",
    params(
        ("package" = String, Path, description = "The package"),
        ("catalog" = Option<String>, Query, description = "The catalog; the first that has it otherwise"),
    ),
    responses((status = 200, body = String, content_type = "application/atom+xml"), Problems),
)]
pub(super) async fn get_package_feed(
    State(hub): State<Arc<Hub>>,
    ApiPath(package): ApiPath<String>,
    asked: Asked,
) -> Result<Response, ApiError> {
    asked.only(&["catalog"])?;
    let catalog = asked.catalog()?;
    let origin = origin(&asked.headers, hub.writes().transport);
    let (page, times) = blocking(move || {
        let page = hub.package(&package, catalog.as_deref())?;
        let of_catalog = Some(page.card.catalog.clone());
        let newest = page.versions.iter().take(ENTRIES);
        let times: Vec<String> = newest
            .map(|version| {
                let view = hub.package_version(&package, of_catalog.as_deref(), &version.name)?;
                Ok(view.about.created_at)
            })
            .collect::<Result<_, crate::server::hub::Error>>()?;
        Ok((page, times))
    })
    .await?;
    let entries: Vec<Entry> = page
        .versions
        .iter()
        .zip(&times)
        .map(|(version, created)| Entry {
            bundle: place(&page.card, &version.name),
            title: format!("{} {}", page.card.display_name, version.version),
            updated: time(created),
            path: path(&page.card),
            text: deprecated(version.deprecation.as_deref(), &page),
        })
        .collect();
    let (name, of) = (encoded(&page.card.name), encoded(&page.card.catalog));
    let feed = Feed {
        origin,
        id: format!("urn:chandler:{of}:{name}"),
        title: &page.card.display_name,
        page: path(&page.card),
        own: format!("/api/v1/packages/{name}/feed.atom?catalog={of}"),
        entries,
    };
    let feed = feed.text();
    Ok(respond::bytes(
        &asked.headers,
        ATOM,
        "no-cache",
        feed.into_bytes(),
    ))
}

/// A feed. Readers take two feeds of the same id for one, and many do not understand an address without
/// its beginning: both have the origin, where the request tells it.
struct Feed<'f> {
    /// Where the hub is for whoever asks.
    origin: Option<String>,
    /// What tells it from other feeds of this hub.
    id: String,
    title: &'f str,
    page: String,
    own: String,
    entries: Vec<Entry>,
}

struct Entry {
    /// The version, as an address of the API.
    bundle: String,
    title: String,
    updated: String,
    path: String,
    text: String,
}

impl Entry {
    fn of_card(card: &PackageCard) -> Self {
        Self {
            bundle: place(card, &card.head),
            title: format!("{} {}", card.display_name, card.version),
            updated: time(&card.created_at),
            path: path(card),
            text: card.description.clone(),
        }
    }
}

/// Where the API has a version.
fn place(card: &PackageCard, bundle: &str) -> String {
    format!(
        "/api/v1/packages/{}/versions/{}?catalog={}",
        encoded(&card.name),
        encoded(bundle),
        encoded(&card.catalog),
    )
}

/// Where the hub is for whoever asks: the host that the request names, if it is one.
fn origin(headers: &HeaderMap, transport: Transport) -> Option<String> {
    let host = headers.get(header::HOST)?.to_str().ok()?;
    let host: Authority = host.parse().ok()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    if host.as_str().len() > LONGEST_HOST || !host.as_str().chars().all(is_plain) {
        return None;
    }
    let scheme = match transport {
        Transport::Direct => "http",
        Transport::TlsProxy => "https",
    };
    Some(format!("{scheme}://{host}"))
}

/// The page of a package.
fn path(card: &PackageCard) -> String {
    let (name, catalog) = (encoded(&card.name), encoded(&card.catalog));
    format!("/packages/{name}?catalog={catalog}")
}

fn deprecated(why: Option<&str>, page: &PackagePage) -> String {
    why.map_or_else(
        || page.card.description.clone(),
        |why| format!("Deprecated: {why}"),
    )
}

impl Feed<'_> {
    fn text(&self) -> String {
        let newest = self.entries.iter().map(|entry| entry.updated.as_str());
        let mut text = String::from(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n",
        );
        // Writing to a string cannot fail; here and below.
        let _ = writeln!(
            text,
            "  <id>{}</id>\n  <title>{}</title>\n  <updated>{}</updated>\n  \
             <link rel=\"self\" href=\"{}\"/>\n  <link href=\"{}\"/>\n  <author><name>Chandler</name></author>",
            escaped(&self.id()),
            escaped(self.title),
            newest.max().unwrap_or(LONG_AGO),
            escaped(&self.absolute(&self.own)),
            escaped(&self.absolute(&self.page)),
        );
        for entry in &self.entries {
            let _ = writeln!(
                text,
                "  <entry>\n    <id>{}</id>\n    <title>{}</title>\n    <updated>{}</updated>\n    \
                 <link href=\"{}\"/>\n    <summary>{}</summary>\n  </entry>",
                escaped(&self.entry_id(entry)),
                escaped(&entry.title),
                entry.updated,
                escaped(&self.absolute(&entry.path)),
                escaped(&entry.text),
            );
        }
        text.push_str("</feed>\n");
        text
    }

    fn id(&self) -> String {
        match &self.origin {
            Some(origin) => format!("{origin}{}", self.own),
            None => self.id.clone(),
        }
    }

    fn entry_id(&self, entry: &Entry) -> String {
        match &self.origin {
            Some(origin) => format!("{origin}{}", entry.bundle),
            None => format!("urn:chandler:{}", encoded(&entry.bundle)),
        }
    }

    fn absolute(&self, path: &str) -> String {
        format!("{}{path}", self.origin.as_deref().unwrap_or_default())
    }
}

/// Text for XML, which cannot hold most control characters at all.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(' '),
            c if is_hidden(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => safe.push(c),
        }
    }
    safe
}

/// A time as Atom has it. Authors write it in many ways, or not at all.
fn time(created: &str) -> String {
    use k8s_openapi::jiff::Timestamp;
    use k8s_openapi::jiff::civil::{Date, DateTime};
    use k8s_openapi::jiff::tz::TimeZone;
    let text = created.trim();
    let of_date_time = || text.parse::<DateTime>().ok();
    let of_date = || Some(text.parse::<Date>().ok()?.at(0, 0, 0, 0));
    let in_utc = |time: DateTime| Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp());
    let time = text.parse::<Timestamp>().ok();
    let time = time.or_else(|| of_date_time().or_else(of_date).and_then(in_utc));
    let whole = time.and_then(|time| Timestamp::from_second(time.as_second()).ok());
    whole.map_or_else(|| LONG_AGO.to_owned(), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{LONG_AGO, escaped, time};

    #[rstest]
    #[case("2021-05-05T15:40:10Z", "2021-05-05T15:40:10Z")]
    #[case("2021-05-05T15:40:10.5+02:00", "2021-05-05T13:40:10Z")]
    #[case("2019-10-15 07:00:00", "2019-10-15T07:00:00Z")]
    #[case("2019-10-15", "2019-10-15T00:00:00Z")]
    #[case("last week", LONG_AGO)]
    #[case("", LONG_AGO)]
    fn times_are_read_as_authors_write_them(#[case] created: &str, #[case] expected: &str) {
        assert_eq!(time(created), expected);
    }

    #[test]
    fn nothing_breaks_out_of_the_feed() {
        assert_eq!(
            escaped("</title><script>\u{0}&\"'"),
            "&lt;/title&gt;&lt;script&gt;&amp;&quot;&#39;"
        );
    }
}
