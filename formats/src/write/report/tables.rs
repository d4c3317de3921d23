//! JSON as tables, its keys in their order.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// Most rows of a table; a last row says how many are left out.
pub const MOST_ROWS: usize = 60;
/// Rows that are looked at for the columns of a table.
const MOST_COLUMNS: usize = 16;
/// Numbers of a list that stands in one cell.
const MOST_NUMBERS: usize = 36;

/// JSON with its keys in their order.
enum Json {
    Plain(String),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

struct AnyJson;

impl<'de> Visitor<'de> for AnyJson {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Plain(if value { "yes" } else { "no" }.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Plain(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Plain(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Plain(number(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Plain(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Plain("–".into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Json::Object(entries))
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyJson)
    }
}

/// Six digits are enough for a page; the file beside it has all.
fn number(value: f64) -> String {
    let size = value.abs();
    if value != 0.0 && !(1e-3..1e6).contains(&size) {
        let text = format!("{value:.5e}");
        return match text.split_once('e') {
            Some((digits, power)) => {
                format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'))
            }
            None => text,
        };
    }
    let decimals = (5 - size.max(1.0).log10().floor() as usize).min(8);
    let text = format!("{value:.*}", if size < 1.0 { 8 } else { decimals });
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Text as HTML.
pub(super) fn escape(text: &str) -> String {
    let text: String = text.chars().filter(|letter| !letter.is_control() || *letter == '\n').collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// `balance_error` as `balance error`.
fn words(key: &str) -> String {
    escape(&key.replace('_', " "))
}

/// A JSON object as tables: one of its plain entries, one for each object and each list of objects in it.
pub(super) fn tables(caption: &str, json: &str) -> String {
    match serde_json::from_str(json) {
        Ok(Json::Object(entries)) => object(caption, &entries),
        _ => String::new(),
    }
}

fn object(caption: &str, entries: &[(String, Json)]) -> String {
    let (mut rows, mut more, mut n) = (String::new(), String::new(), 0);
    for (key, value) in entries {
        match cell(value) {
            Some(text) if n < MOST_ROWS => {
                rows += &format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", words(key), escape(&text));
                n += 1;
            }
            Some(_) => {}
            None => more += &nested(&format!("{caption}: {key}"), value),
        }
    }
    let table = if rows.is_empty() { String::new() } else { table(caption, "", &rows) };
    table + &more
}

/// What stands in one cell; none where a table of its own is needed.
fn cell(value: &Json) -> Option<String> {
    match value {
        Json::Plain(text) => Some(text.clone()),
        Json::Object(entries) => entries.is_empty().then(|| "–".to_owned()),
        Json::List(items) if items.is_empty() => Some("–".into()),
        Json::List(items) => {
            let plain: Option<Vec<String>> = items.iter().take(MOST_NUMBERS).map(cell).collect();
            // A list in a list is a matrix.
            let separator = if items.iter().any(|item| matches!(item, Json::List(_))) { "; " } else { ", " };
            plain.map(|plain| {
                let more = items.len() - plain.len();
                let more = if more > 0 { format!(", … and {more} more") } else { String::new() };
                plain.join(separator) + &more
            })
        }
    }
}

fn nested(caption: &str, value: &Json) -> String {
    match value {
        Json::Object(entries) => object(caption, entries),
        Json::List(items) => list(caption, items),
        Json::Plain(_) => String::new(),
    }
}

/// Objects with the same keys as the rows of one table.
fn list(caption: &str, items: &[Json]) -> String {
    let objects: Vec<&Vec<(String, Json)>> =
        items.iter().filter_map(|item| if let Json::Object(entries) = item { Some(entries) } else { None }).collect();
    let mut columns: Vec<&str> = Vec::new();
    for (key, value) in objects.iter().take(MOST_ROWS).flat_map(|entries| entries.iter()) {
        if cell(value).is_some() && !columns.contains(&key.as_str()) && columns.len() < MOST_COLUMNS {
            columns.push(key);
        }
    }
    let head: String = columns.iter().map(|key| format!("<th scope=\"col\">{}</th>", words(key))).collect();
    let (mut rows, mut more) = (String::new(), String::new());
    for (at, entries) in objects.iter().enumerate().take(MOST_ROWS) {
        let text = |key: &&str| {
            let value = entries.iter().find(|(own, _)| own == key).and_then(|(_, value)| cell(value));
            format!("<td>{}</td>", escape(&value.unwrap_or_default()))
        };
        rows += &format!("<tr>{}</tr>\n", columns.iter().map(text).collect::<String>());
        for (key, value) in entries.iter().filter(|(_, value)| cell(value).is_none()) {
            more += &nested(&format!("{caption} {}: {key}", at + 1), value);
        }
    }
    if objects.len() > MOST_ROWS {
        rows += &format!("<tr><td>… and {} more</td></tr>\n", objects.len() - MOST_ROWS);
    }
    let table = if columns.is_empty() { String::new() } else { table(caption, &head, &rows) };
    table + &more
}

fn table(caption: &str, head: &str, rows: &str) -> String {
    let head = if head.is_empty() { String::new() } else { format!("<thead><tr>{head}</tr></thead>\n") };
    let caption = words(caption);
    format!("<div class=\"wide\"><table><caption>{caption}</caption>\n{head}<tbody>\n{rows}</tbody></table></div>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_in_order_and_objects_become_tables() {
        let json = r#"{"b": 1, "a_key": "x < y", "none": null, "list": [1, 2.5], "energy": {"kinetic": 1.23456789e-9},
            "cases": [{"name": "x", "u": [1, 2]}, {"name": "y", "deep": {"k": true}}], "empty": []}"#;
        let html = tables("summary", json);
        let places =
            ["summary", ">b<", "a key", "x &lt; y", "–", "1, 2.5", "energy", "1.23457e-9", "cases", "deep", "yes"]
                .map(|text| html.find(text).unwrap_or_else(|| panic!("{text}: {html}")));
        assert!(places[..5].windows(2).all(|pair| pair[0] < pair[1]), "{html}");
        assert_eq!(html.matches("<table>").count(), html.matches("</table>").count());
        assert_eq!(tables("none", "[1]"), "");
    }

    #[test]
    fn numbers_have_six_digits() {
        for (value, expected) in [
            (0.0, "0"),
            (1.0, "1"),
            (123_456.7, "123457"),
            (1.0 / 3.0, "0.33333333"),
            (12.5, "12.5"),
            (-2.5e-7, "-2.5e-7"),
            (1e9, "1e9"),
            (999_999.0, "999999"),
        ] {
            assert_eq!(number(value), expected);
        }
    }
}
