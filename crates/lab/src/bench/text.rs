//! The text of a scenario, from the sections of another one.

use std::fmt::Write;

use xoff_scenario::document::Given;

/// A scenario in the making.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    sections: Vec<Given>,
}

impl Text {
    /// Text of sections, each with the values that a file gave.
    pub fn new(sections: Vec<Given>) -> Text {
        Text { sections }
    }

    /// Sets a key of a section that is there once.
    pub fn set(&mut self, section: &str, key: &str, value: String) {
        let at = self.sections.iter().position(|s| s.path == section).unwrap_or_else(|| {
            self.sections.push(Given::new(section));
            self.sections.len() - 1
        });
        let values = &mut self.sections[at].values;
        match values.iter_mut().find(|(k, _)| k == key) {
            Some((_, old)) => *old = value,
            None => values.push((key.to_owned(), value)),
        }
    }

    /// The value of a key as TOML has it.
    pub fn get(&self, section: &str, key: &str) -> Option<&str> {
        let s = self.sections.iter().find(|s| s.path == section)?;
        s.values.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// Takes a key away.
    pub fn unset(&mut self, section: &str, key: &str) {
        for s in self.sections.iter_mut().filter(|s| s.path == section) {
            s.values.retain(|(k, _)| k != key);
        }
    }

    /// Takes a section away.
    pub fn drop(&mut self, section: &str) {
        self.sections.retain(|s| s.path != section);
    }

    /// Adds a section that may be repeated.
    pub fn add<'k>(&mut self, section: &str, values: impl IntoIterator<Item = (&'k str, String)>) {
        let mut s = Given::new(&format!("{section}[]"));
        s.values = values.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
        self.sections.push(s);
    }

    /// Adds a key to the section that was added last.
    pub fn add_to_last(&mut self, key: &str, value: String) {
        if let Some(s) = self.sections.last_mut() {
            s.values.push((key.to_owned(), value));
        }
    }

    /// The file, with a comment at its top.
    pub fn write(&self, comment: &str) -> String {
        let mut out = String::new();
        for line in comment.lines() {
            let _ = writeln!(out, "# {line}");
        }
        // Keys without a section first, then what is run, then the rest as it was.
        let rank = |s: &Given| match s.path.as_str() {
            "" => 0,
            "run" => 1,
            _ => 2,
        };
        let mut sections: Vec<&Given> = self.sections.iter().collect();
        sections.sort_by_key(|s| rank(s));
        for s in sections {
            let steps: Vec<&str> =
                s.path.split('.').map(|step| step.split('[').next().unwrap_or(step)).collect();
            let name = steps.join(".");
            if s.path.ends_with(']') {
                let _ = writeln!(out, "\n[[{name}]]");
            } else if !name.is_empty() {
                let _ = writeln!(out, "\n[{name}]");
            }
            for (key, value) in &s.values {
                let _ = writeln!(out, "{key} = {value}");
            }
        }
        out
    }
}

/// A text as TOML writes it: its basic strings escape as JSON's do.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A list of texts.
pub(crate) fn list<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let texts: Vec<String> = texts.into_iter().map(quoted).collect();
    format!("[{}]", texts.join(", "))
}
