//! A report as HTML.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use super::Report;
use super::mesh::maps;
use super::tables::{escape, tables};

/// plotly.js, packed by gzip: see `plotly/README.md`.
const PLOTLY: &[u8] = include_bytes!("plotly/plotly-strict-3.7.0.min.js.gz");
/// Its licence.
const LICENCE: &str = include_str!("plotly/LICENSE");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// Nothing is fetched from anywhere, and no text is evaluated as code but the scripts of the page.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";

/// Sections with plots, in their order.
const PLACES: [(&str, &str); 3] = [("parts", "Blocks and sub-domains"), ("fields", "Fields"), ("curves", "Curves")];

pub(super) fn page(report: &Report) -> io::Result<String> {
    let mut html = head(report);
    html += &opening(report);
    for (id, heading) in places(report) {
        html +=
            &format!("<section id=\"{id}\" aria-labelledby=\"h-{id}\"><h2 id=\"h-{id}\">{heading}</h2></section>\n");
    }
    html += "<section id=\"tables\" aria-labelledby=\"h-tables\"><h2 id=\"h-tables\">Figures</h2>\n";
    report.tables.iter().for_each(|(caption, json)| html += &tables(caption, json));
    html += "</section>\n";
    html += "<section id=\"again\" aria-labelledby=\"h-again\"><h2 id=\"h-again\">How to run it again</h2>\n";
    for (words, lines) in &report.commands {
        html += &format!("<p>{}</p>\n<pre>{}</pre>\n", escape(words), escape(&lines.join("\n")));
    }
    html += "</section>\n</main>\n";
    html += &footer();
    if report.has_views() {
        let views = json!({ "views": report.views, "maps": maps() }).to_string().replace('<', "\\u003c");
        html += &format!("<script type=\"application/json\" id=\"views\">{views}</script>\n");
        let packed = |id: &str, bytes: &[u8]| {
            format!("<script type=\"text/plain\" id=\"{id}\">{}</script>\n", STANDARD.encode(bytes))
        };
        html += &packed("data", &gzip(report.block.bytes())?);
        html += &packed("plotly", PLOTLY);
        html += &format!("<script>\n{SCRIPT}</script>\n");
    }
    html += "</body>\n</html>\n";
    Ok(html)
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(bytes)?;
    packed.finish()
}

/// Sections that have something in them.
fn places(report: &Report) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
    let is_used = |id: &str| report.views.iter().any(|view| view["place"] == id);
    PLACES.into_iter().filter(move |(id, _)| is_used(id))
}

fn head(report: &Report) -> String {
    let title = escape(if report.title.is_empty() { "Pogo" } else { &report.title });
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"Pogo {}\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n",
        escape(crate::VERSION)
    )
}

/// Heading, links to the sections, what went wrong, and what the user should know.
fn opening(report: &Report) -> String {
    let title = escape(if report.title.is_empty() { "Untitled model" } else { &report.title });
    let mut html = format!(
        "<body>\n<a class=\"skip\" href=\"#main\">To the content</a>\n<header>\n<h1>{title}</h1>\n<p class=\"sub\">{}</p>\n",
        escape(&report.subtitle)
    );
    let sections = places(report).chain([("tables", "Figures"), ("again", "How to run it again")]);
    let links: String = sections.map(|(id, heading)| format!("<li><a href=\"#{id}\">{heading}</a></li>")).collect();
    html += &format!("<nav aria-label=\"Sections\"><ul>{links}</ul></nav>\n</header>\n<main id=\"main\">\n");
    if !report.problem.is_empty() {
        html += &format!("<div class=\"warnings bad\" role=\"note\"><p>{}</p></div>\n", escape(&report.problem));
    }
    if !report.warnings.is_empty() {
        let items: String = report.warnings.iter().map(|text| format!("<li>{}</li>\n", escape(text))).collect();
        html += &format!("<div class=\"warnings\" role=\"note\"><h2>Warnings</h2>\n<ul>\n{items}</ul></div>\n");
    }
    if report.has_views() {
        html += "<p id=\"drawing\" role=\"status\">Drawing the plots …</p>\n\
                 <noscript><p>The plots need JavaScript; the tables do not.</p></noscript>\n";
    }
    html
}

fn footer() -> String {
    format!(
        "<footer><p>Written by Pogo {}. This page needs no network. Plots: plotly.js 3.7.0.</p>\n\
         <details><summary>Licence of plotly.js</summary><pre>{}</pre></details></footer>\n",
        escape(crate::VERSION),
        escape(LICENCE)
    )
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn plotly_is_the_pinned_one() {
        let mut script = Vec::new();
        flate2::read::GzDecoder::new(PLOTLY).read_to_end(&mut script).unwrap();
        assert!(script.starts_with(b"/**\n* plotly.js (strict - minified) v3.7.0\n"));
        let hash = xxhash_rust::xxh3::xxh3_64(&script);
        assert_eq!((script.len(), format!("{hash:016x}").as_str()), (5_194_532, "7be8454ed2ae63ee"));
        assert!(LICENCE.starts_with("MIT License"));
    }
}
