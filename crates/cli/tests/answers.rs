//! Every field of a JSON answer has its text. `python/tests/test_answers.py` checks that real
//! answers follow the schema.

mod support;

use serde_json::Value;
use support::xoff;

/// Every object, and every property with its path.
fn walk(at: &str, of: &Value, each: &mut dyn FnMut(&str, &Value)) {
    for (name, field) in of["properties"].as_object().into_iter().flatten() {
        each(&format!("{at}.{name}"), field);
        walk(&format!("{at}.{name}"), field, each);
    }
    for key in ["oneOf", "anyOf", "allOf", "prefixItems"] {
        of[key].as_array().into_iter().flatten().for_each(|v| walk(at, v, each));
    }
    ["items", "additionalProperties"]
        .iter()
        .filter_map(|key| of.get(key))
        .for_each(|inner| walk(at, inner, each));
}

/// Finds fields without a text: they compile.
#[test]
fn every_field_of_every_answer_has_its_text() {
    let schema = xoff(&["schema", "answers"]).json();
    let mut fields = 0;
    for (name, of) in schema["$defs"].as_object().unwrap() {
        let text = of["description"].as_str().unwrap_or_default();
        assert!(
            text.ends_with('.') && !text.contains("]("),
            "{name}: a sentence says what it is: {text}"
        );
        walk(name, of, &mut |at, field| {
            // The word that says which of several forms it is.
            if field.get("const").is_none() {
                let text = field["description"].as_str().unwrap_or_default();
                assert!(
                    text.len() > 3 && text.ends_with('.'),
                    "{at}: its text is missing: {field}"
                );
                assert!(
                    !text.contains("`None`") && !text.contains("]("),
                    "{at}: a text for Rust: {text}"
                );
                // SONiC's own tables have SONiC's own schema.
                assert!(
                    at == "PlanFabric.sonic"
                        || ["type", "$ref", "anyOf"].iter().any(|k| field.get(k).is_some()),
                    "{at}: {field}"
                );
            }
            fields += 1;
        });
        for variant in of["oneOf"].as_array().into_iter().flatten() {
            assert!(
                variant["description"].as_str().is_some_and(|d| !d.is_empty()),
                "{name}: a word without its text: {variant}"
            );
        }
    }
    assert!(fields > 250, "{fields} fields");
}

/// Each subcommand has an answer, but for `schema`, whose answer is a schema.
#[test]
fn every_subcommand_has_a_schema() {
    let schema = xoff(&["schema", "answers"]).json();
    let commands: Vec<&str> = schema["answers"]
        .as_object()
        .unwrap()
        .values()
        .map(|a| a["description"].as_str().unwrap())
        .collect();
    for name in support::subcommands().iter().filter(|n| *n != "schema") {
        let of = [format!("`xoff {name} "), format!("`xoff {name}`")];
        assert!(
            of.iter().any(|of| commands.iter().any(|c| c.contains(of))),
            "no schema for the answer of xoff {name}"
        );
    }
}
