//! Descriptions of operators: Markdown by strangers, made into HTML that does nothing.
//!
//! It is drawn first and cleaned afterwards, by a parser that reads HTML as browsers do. Pictures are
//! not shown: they would tell others who reads this page, and the page's policy refuses them.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ammonia::Builder;
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// A description longer than this is cut: it is no description any more.
const LONGEST: usize = 200_000;
/// How deep quotes, lists and the like may stand in each other, and how many tags of HTML there may be. A
/// parser of HTML looks at all that is open for every tag, so that the work grows with their product.
const DEEPEST: usize = 24;
const MOST_TAGS: usize = 500;

/// Tags that text is made of. No pictures, no forms, no frames, no style.
const TAGS: [&str; 34] = [
    "a",
    "abbr",
    "b",
    "blockquote",
    "br",
    "code",
    "dd",
    "del",
    "details",
    "dl",
    "dt",
    "em",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "kbd",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
];

static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::empty();
    let tags: HashSet<&str> = TAGS.iter().copied().chain(["ul", "span"]).collect();
    builder
        .tags(tags)
        .clean_content_tags(HashSet::from([
            "script", "style", "iframe", "object", "svg", "math",
        ]))
        .tag_attributes(HashMap::from([
            ("a", HashSet::from(["href", "title"])),
            ("ol", HashSet::from(["start"])),
        ]))
        .allowed_classes(HashMap::from([("span", HashSet::from(["pic"]))]))
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        // A relative address meant something where the text was written, and means nothing here.
        .url_relative(ammonia::UrlRelative::Deny)
        .link_rel(Some("noopener noreferrer nofollow"));
    builder
});

/// Safe HTML of a description.
pub(super) fn to_html(markdown: &str) -> String {
    let mut end = markdown.len().min(LONGEST);
    while !markdown.is_char_boundary(end) {
        end -= 1;
    }
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_SMART_PUNCTUATION;
    let mut in_picture = 0_u32;
    let mut depth = 0_usize;
    let mut tags = 0_usize;
    let events = Parser::new_ext(&markdown[..end], options).filter_map(|event| match event {
        Event::Start(Tag::Image { .. }) => {
            in_picture += 1;
            (in_picture == 1).then_some(Event::InlineHtml(CowStr::Borrowed("<span class=\"pic\">")))
        }
        Event::End(TagEnd::Image) => {
            in_picture = in_picture.saturating_sub(1);
            (in_picture == 0).then_some(Event::InlineHtml(CowStr::Borrowed("</span>")))
        }
        Event::Start(Tag::Heading { level, .. }) => Some(Event::Start(Tag::Heading {
            level: below_ours(level),
            id: None,
            classes: Vec::new(),
            attrs: Vec::new(),
        })),
        Event::End(TagEnd::Heading(level)) => Some(Event::End(TagEnd::Heading(below_ours(level)))),
        Event::Html(text) | Event::InlineHtml(text) => {
            tags += text.matches('<').count();
            Some(if tags <= MOST_TAGS {
                Event::InlineHtml(text)
            } else {
                Event::Text(text)
            })
        }
        other => Some(other),
    });
    // What stands too deep keeps its words and loses its form.
    let events = events.filter(|event| match event {
        Event::Start(_) => {
            depth += 1;
            depth <= DEEPEST
        }
        Event::End(_) => {
            depth = depth.saturating_sub(1);
            depth < DEEPEST
        }
        _ => true,
    });
    let mut drawn = String::new();
    html::push_html(&mut drawn, events);
    CLEANER.clean(&drawn).to_string()
}

/// The headings of a description stand below those of the page, without holes between them.
fn below_ours(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 | HeadingLevel::H2 => HeadingLevel::H3,
        HeadingLevel::H3 => HeadingLevel::H4,
        HeadingLevel::H4 => HeadingLevel::H5,
        HeadingLevel::H5 | HeadingLevel::H6 => HeadingLevel::H6,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::to_html;

    #[test]
    fn text_keeps_its_form() {
        let html = to_html("# Gophers\n\nThey *dig*.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n");
        assert!(html.contains("<h3>Gophers</h3>"), "{html}");
        assert!(html.contains("<em>dig</em>"), "{html}");
        assert!(html.contains("<td>1</td>"), "{html}");
    }

    #[test]
    fn a_link_leads_out_without_telling_from_where() {
        let html = to_html("[more](https://example.com/a)");
        assert!(html.contains("href=\"https://example.com/a\""), "{html}");
        assert!(html.contains("noreferrer"), "{html}");
    }

    #[test]
    fn what_would_run_is_gone() {
        let hostile = [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "[x](javascript:alert(1))",
            "[x](JaVaScRiPt&colon;alert(1))",
            "<a href=\"data:text/html,<script>alert(1)</script>\">x</a>",
            "<svg onload=alert(1)><a xlink:href=\"javascript:alert(1)\">x</a></svg>",
            "<iframe srcdoc=\"<script>alert(1)</script>\"></iframe>",
            "<p style=\"background:url(//evil)\" onclick=alert(1)>x</p>",
            "<form action=//evil><input name=q></form>",
            "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
            "```html\"><script>alert(1)</script>\nx\n```",
        ];
        for text in hostile {
            let html = to_html(text).replace("&lt;", "").to_lowercase();
            for bad in [
                "<script",
                "<img",
                "<svg",
                "<iframe",
                "<form",
                "<input",
                "<style",
                " on",
                "style=",
                "href=\"javascript",
                "href=\"data",
                "srcdoc",
            ] {
                assert!(!html.contains(bad), "{text} became {html}");
            }
        }
    }

    #[test]
    fn a_picture_becomes_its_words() {
        let html = to_html("![A *gopher*](https://example.com/gopher.png)");
        assert!(html.contains("gopher"), "{html}");
        assert!(!html.contains("example.com"), "{html}");
    }

    #[test]
    fn an_endless_description_is_cut() {
        let text = "ä".repeat(1_000_000);
        assert!(to_html(&text).len() < 210_000);
    }

    /// Without a bound these take minutes.
    #[test]
    fn however_deep_a_description_nests_it_is_drawn_in_no_time() {
        let deep = [
            ">".repeat(190_000),
            "<div><b><i>".repeat(17_000),
            "<blockquote>".repeat(16_000),
            "- ".repeat(90_000),
            "<b></i>".repeat(25_000),
            "**a ".repeat(45_000),
            "[".repeat(150_000),
        ];
        for text in deep {
            let html = to_html(&text);
            assert!(
                html.matches("<blockquote>").count() <= 500,
                "{}",
                &text[..10]
            );
            assert!(html.matches("<ul>").count() <= 500, "{}", &text[..10]);
        }
    }

    #[test]
    fn what_stands_too_deep_keeps_its_words() {
        let html = to_html(&format!("{} burrow", ">".repeat(100)));
        assert!(html.contains("burrow"), "{html}");
        let opened = html.matches("<blockquote>").count();
        assert_eq!(opened, html.matches("</blockquote>").count());
    }

    proptest! {
        #[test]
        fn whatever_is_written_nothing_runs(text in "[<>a-z/\"'=() \\n\\[\\]!:&;#-]{0,200}") {
            let html = to_html(&text).to_lowercase();
            prop_assert!(!html.contains("<script"));
            prop_assert!(!html.contains("<img"));
        }
    }
}
