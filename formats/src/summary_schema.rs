//! The layout of `summary.json`, made of the structures that are written: `docs/summary.schema.json`, a JSON schema, and
//! `docs/summary.md`, which people read.
//!
//! The test fails when a structure has changed and the files have not, and when a key has no description. It writes the files
//! anew with POGO_WRITE_DOCS=1.

use std::fmt::Write;
use std::path::Path;

use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use crate::eikonal::summary::EikonalSummary;
use crate::explicit::summary::ExplicitSummary;
use crate::spring::results::SpringSummary;
use crate::timings::Stage;
use crate::voxel::summary::VoxelSummary;

const TITLE: &str = "summary.json of pogo-solve";
const ABOUT: &str = "Every run writes one into its folder of results, and so does every case of a study. `physics` says which \
                     keys there are. All keys are always there but `timings`, which --timings adds. Numbers that are not \
                     finite are null.";

/// The summaries of all kinds of physics, by the value of `physics`.
fn all(generator: &mut SchemaGenerator) -> [(&'static str, &'static str, Value); 4] {
    fn of<S: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
        generator.root_schema_for::<S>().to_value()
    }
    [
        ("explicit", "Explicit dynamics, SI units", of::<ExplicitSummary>(generator)),
        ("static", "Voxel statics, in the units of the model", of::<VoxelSummary>(generator)),
        ("spring", "Masses and springs, SI units", of::<SpringSummary>(generator)),
        ("eikonal", "Arrival times, in the units of the job", of::<EikonalSummary>(generator)),
    ]
}

/// Says what schemars cannot know: no other keys, null for numbers that are not finite, and no formats of Rust.
fn finish(schema: &mut Value) {
    if let Value::Object(object) = schema {
        object.remove("format");
        if object.contains_key("properties") {
            object.insert("additionalProperties".into(), false.into());
        }
        if object.get("type") == Some(&json!("number")) {
            object.insert("type".into(), json!(["number", "null"]));
        }
        if let Some(text) = object.get_mut("description") {
            *text = text.as_str().map(|text| text.replace('\n', " ")).into();
        }
        object.values_mut().for_each(finish);
    } else if let Value::Array(items) = schema {
        items.iter_mut().for_each(finish);
    }
}

/// The whole schema.
fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let stage = generator.root_schema_for::<Stage>().to_value();
    let (mut definitions, mut kinds) = (Map::new(), Map::new());
    for (physics, title, mut kind) in all(&mut generator) {
        let object = kind.as_object_mut().expect("a schema of a structure");
        object.remove("$schema");
        if let Some(Value::Object(more)) = object.remove("$defs") {
            definitions.extend(more);
        }
        object.insert("title".into(), title.into());
        object["properties"]["physics"] = json!({ "const": physics, "description": "The kind of physics." });
        object["properties"]["timings"] = json!({
            "type": "array",
            "items": { "$ref": "#/$defs/Stage" },
            "description": "Stages of the run and what they use, with --timings."
        });
        kinds.insert(physics.into(), kind);
    }
    let mut stage = stage;
    stage.as_object_mut().expect("a schema of a structure").remove("$schema");
    definitions.insert("Stage".into(), stage);
    let names: Vec<Value> = kinds.keys().map(|name| json!({ "$ref": format!("#/$defs/{name}") })).collect();
    definitions.extend(kinds);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": TITLE,
        "description": ABOUT,
        "oneOf": names,
        "$defs": definitions,
    });
    finish(&mut schema);
    schema
}

/// What a value may be, in words.
fn words(schema: &Value, definitions: &Value) -> String {
    let name = |schema: &Value| schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()).map(str::to_owned);
    if let Some(name) = name(schema) {
        let of = &definitions[&name];
        return if of["properties"].is_object() {
            format!("[{name}](#{})", name.to_lowercase())
        } else {
            words(of, definitions)
        };
    }
    if let Some(word) = schema["const"].as_str() {
        return format!("`\"{word}\"`");
    }
    let several = schema["enum"].as_array().or(schema["oneOf"].as_array()).or(schema["anyOf"].as_array());
    if let Some(several) = several {
        let word = |value: &Value| match value {
            Value::String(word) => format!("`\"{word}\"`"),
            schema if schema["type"] == "null" => "null".to_owned(),
            schema => words(schema, definitions),
        };
        return several.iter().map(word).collect::<Vec<_>>().join(" or ");
    }
    let mut types: Vec<&str> = match &schema["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    };
    let is_number = types.contains(&"number");
    types.retain(|name| !(is_number && *name == "null"));
    let text = |name: &str| match name {
        "array" => format!("list of {}", words(&schema["items"], definitions)),
        "object" => format!("object by name of {}", words(&schema["additionalProperties"], definitions)),
        other => other.to_owned(),
    };
    types.into_iter().map(text).collect::<Vec<_>>().join(" or ")
}

/// The schema as tables.
fn page(schema: &Value) -> String {
    let definitions = &schema["$defs"];
    let mut out =
        format!("# `summary.json`\n\n{ABOUT}\n[summary.schema.json](summary.schema.json) says the same to programs.\n");
    let kinds = schema["oneOf"].as_array().expect("all kinds");
    let names = kinds.iter().filter_map(|kind| kind["$ref"].as_str()?.rsplit('/').next());
    let names: Vec<&str> = names.collect();
    let further = definitions.as_object().expect("structures").keys().map(String::as_str);
    let further = further.filter(|name| !names.contains(name) && definitions[*name]["properties"].is_object());
    for name in names.iter().copied().chain(further) {
        let (of, is_kind) = (&definitions[name], names.contains(&name));
        let (title, about) = (of["title"].as_str(), of["description"].as_str().unwrap_or_default());
        let heading = if is_kind { title.unwrap_or(name) } else { name };
        let _ = writeln!(out, "\n## {heading}\n");
        if !is_kind {
            let _ = writeln!(out, "{about}\n");
        }
        out += "| key | value | what |\n|---|---|---|\n";
        for (key, value) in of["properties"].as_object().expect("keys") {
            let (kind, what) = (words(value, definitions), value["description"].as_str().unwrap_or_default());
            let _ = writeln!(out, "| `{key}` | {kind} | {} |", what.replace('|', "\\|"));
        }
    }
    out
}

#[test]
fn the_layout_of_summaries_is_the_one_that_is_described() {
    let schema = schema();
    for (name, of) in schema["$defs"].as_object().unwrap() {
        for (key, value) in of["properties"].as_object().into_iter().flatten() {
            assert!(
                value["description"].as_str().is_some_and(|text| !text.is_empty()),
                "{name}.{key} is not described"
            );
        }
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    for (file, expected) in [("summary.schema.json", text), ("summary.md", page(&schema))] {
        let path = docs.join(file);
        if std::env::var_os("POGO_WRITE_DOCS").is_some() {
            std::fs::write(&path, &expected).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == expected,
            "docs/{file} is not up to date: POGO_WRITE_DOCS=1 cargo test -p pogo-formats summaries writes it"
        );
    }
}
