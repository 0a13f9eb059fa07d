//! Tables and fields of a `config_db.json` of which nothing is taken over: each is named, so that
//! no setting is taken for granted.

use std::collections::{BTreeMap, BTreeSet};

use crate::import::Network;
use crate::import::tree::{Item, Key, Tree};

/// Read for `xoff plan`; the scenario has one MTU for all hosts.
const ONLY_PLANNED: (&str, &str) = ("PORT", "mtu");

/// Parts that a reader ignored.
#[derive(Default)]
pub(super) struct Unread {
    /// Nothing of these.
    tables: BTreeSet<String>,
    /// Fields of the others that were read of no entry.
    fields: BTreeMap<String, BTreeSet<String>>,
    /// Fields that were.
    read: BTreeSet<(String, String)>,
    /// Ports have MTUs.
    has_mtu: bool,
}

impl Unread {
    /// Unread keys of all tables, when everything has been read.
    pub fn of(tables: &[(Key, Tree)]) -> Unread {
        let mut unread = Unread::default();
        for (table, entries) in tables {
            if !entries.is_read() {
                unread.tables.insert(table.name.clone());
                continue;
            }
            let Item::Object(entries) = &entries.item else { continue };
            let fields = entries.iter().filter_map(|(_, entry)| match &entry.item {
                Item::Object(fields) => Some(fields),
                _ => None,
            });
            // A number is an entry of a map, no field.
            for (field, value) in
                fields.flatten().filter(|(field, _)| field.name.parse::<u64>().is_err())
            {
                let path = (table.name.clone(), field.name.clone());
                unread.has_mtu |= (path.0.as_str(), path.1.as_str()) == ONLY_PLANNED;
                match value.is_read() {
                    true => drop(unread.read.insert(path)),
                    false => drop(unread.fields.entry(path.0).or_default().insert(path.1)),
                }
            }
        }
        unread
    }

    /// Names keys that were read of no switch.
    pub fn name<'u>(all: impl Iterator<Item = &'u Unread> + Clone, network: &mut Network) {
        let read: BTreeSet<_> = all.clone().flat_map(|u| &u.read).collect();
        let mut fields: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (table, names) in all.clone().flat_map(|u| &u.fields) {
            let unread = names
                .iter()
                .filter(|name| !read.contains(&(table.clone(), (*name).clone())))
                .map(String::as_str);
            fields.entry(table).or_default().extend(unread);
        }
        let list = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join(", ");
        for (table, names) in fields.iter().filter(|(_, names)| !names.is_empty()) {
            network.leave_out(format!("{table}: {}", list(names)));
        }
        if all.clone().any(|u| u.has_mtu) {
            network.leave_out("PORT: mtu, except for xoff plan, because host.frame_max gives the length of frames");
        }
        let known: BTreeSet<&str> = read.iter().map(|(table, _)| table.as_str()).collect();
        let tables: BTreeSet<&str> = all
            .flat_map(|u| &u.tables)
            .map(String::as_str)
            .filter(|t| !known.contains(t))
            .collect();
        if !tables.is_empty() {
            network.leave_out(format!("tables {}", list(&tables)));
        }
    }
}
