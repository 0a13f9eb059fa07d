//! One `config_db.json`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{Place, Problem, Problems, suggest};

use super::maps::Maps;
use super::unread::Unread;
use super::watchdog;
use crate::import::network::Watchdog;
use crate::import::tree::{Document, Item, Tree};

/// A port that is there to carry data.
pub(super) struct Port {
    pub name: String,
    /// [Mb/s]
    pub speed: u64,
    pub up: bool,
    /// [bytes]
    pub mtu: Option<u64>,
    pub place: Place,
    /// As written, `40m`.
    pub cable: Option<(String, Place)>,
    /// Priorities with PFC.
    pub pfc: BTreeSet<u8>,
    /// Profile by priority group, as BUFFER_PG has it.
    pub groups: BTreeMap<u8, (String, Place)>,
    /// Profile by queue, as BUFFER_QUEUE has it.
    pub queues: BTreeMap<u8, (String, Place)>,
    /// Priority group and queue of each traffic class, which is the priority of a frame.
    pub maps: Maps,
}

/// Peer of a port.
pub(super) struct Neighbour {
    pub port: String,
    pub peer: String,
    pub peer_port: Option<String>,
    pub place: Place,
}

/// A pool of memory.
pub(super) struct Pool {
    pub size: Option<u64>,
    pub shared_headroom: u64,
    pub is_dynamic: bool,
}

/// A profile.
pub(super) struct Profile {
    pub pool: String,
    pub size: u64,
    pub xon: u64,
    pub xon_offset: Option<u64>,
    /// Present where groups with this profile are lossless.
    pub headroom: Option<u64>,
    pub dynamic_th: Option<i8>,
    pub static_th: Option<u64>,
}

/// A switch.
pub(super) struct Device {
    pub name: String,
    pub place: Place,
    pub ports: Vec<Port>,
    pub neighbours: Vec<Neighbour>,
    /// Type by name of a neighbour.
    pub types: HashMap<String, String>,
    pub aliases: HashMap<String, String>,
    /// Ports that are down, with a speed or without.
    pub down: BTreeSet<String>,
    pub pools: BTreeMap<String, Pool>,
    pub profiles: BTreeMap<String, Profile>,
    pub is_dynamic_model: bool,
    /// Settings that PFC_WD gives to ports.
    pub watchdogs: BTreeSet<Watchdog>,
    pub skipped: BTreeMap<&'static str, u32>,
    /// Tables and fields of which nothing is taken over.
    pub unread: Unread,
    pub warnings: Problems,
}

/// Tables by which a file is known.
const TABLES: [&str; 16] = [
    "DEVICE_METADATA",
    "PORT",
    "DEVICE_NEIGHBOR",
    "DEVICE_NEIGHBOR_METADATA",
    "CABLE_LENGTH",
    "BUFFER_POOL",
    "BUFFER_PROFILE",
    "BUFFER_PG",
    "BUFFER_QUEUE",
    "PORT_QOS_MAP",
    "TC_TO_PRIORITY_GROUP_MAP",
    "TC_TO_QUEUE_MAP",
    "PFC_WD",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
    "VERSIONS",
    "FEATURE",
];
impl Device {
    /// Reads a file.
    ///
    /// # Errors
    /// A table that has another shape, and a value that is rejected, with its place.
    pub fn read(d: &Document) -> Result<Device, Problem> {
        let tables = d.object(&d.root, "config_db.json")?;
        if !tables.iter().any(|(key, _)| TABLES.contains(&key.name.as_str())) {
            let hint = "expected tables such as PORT and DEVICE_NEIGHBOR; print them with: sonic-cfggen -d --print-data";
            return Err(d.problem(&d.root, "the file has no table of config_db.json", hint));
        }
        let metadata = d.root.get("DEVICE_METADATA").and_then(|t| t.get("localhost"));
        let file = std::path::Path::new(d.source.name())
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default();
        let name = match metadata.and_then(|m| m.get("hostname")) {
            Some(name) => (d.word(name, "hostname")?.to_owned(), d.place(name)),
            None => (file.split('.').next().unwrap_or("switch").to_owned(), d.source.place(0..0)),
        };
        let is_dynamic_model =
            metadata.and_then(|m| m.get("buffer_model")).and_then(Tree::as_text) == Some("dynamic");
        let mut device = Device {
            name: name.0,
            place: name.1,
            ports: Vec::new(),
            neighbours: Vec::new(),
            types: HashMap::new(),
            aliases: HashMap::new(),
            down: BTreeSet::new(),
            pools: BTreeMap::new(),
            profiles: BTreeMap::new(),
            is_dynamic_model,
            watchdogs: watchdog::read(d)?,
            skipped: BTreeMap::new(),
            unread: Unread::default(),
            warnings: Problems::default(),
        };
        let cables = cables(d)?;
        device.read_ports(d, &cables)?;
        device.read_neighbours(d)?;
        device.read_pools(d)?;
        device.read_profiles(d)?;
        device.read_priorities(d)?;
        device.read_members(d, "BUFFER_PG", |port| &mut port.groups)?;
        device.read_members(d, "BUFFER_QUEUE", |port| &mut port.queues)?;
        for port in &mut device.ports {
            port.maps = Maps::read(d, &port.name)?;
        }
        device.compare_maps(d);
        device.unread = Unread::of(tables);
        Ok(device)
    }

    fn port(&mut self, name: &str) -> Option<&mut Port> {
        self.ports.iter_mut().find(|p| p.name == name)
    }

    fn read_ports(
        &mut self,
        d: &Document,
        cables: &HashMap<String, (String, Place)>,
    ) -> Result<(), Problem> {
        let Some(table) = d.root.get("PORT") else { return Ok(()) };
        for (key, port) in d.object(table, "PORT")? {
            if let Some(alias) = port.get("alias") {
                self.aliases.insert(d.word(alias, "alias")?.to_owned(), key.name.clone());
            }
            let role = port.get("role").and_then(Tree::as_text).unwrap_or("Ext");
            if role != "Ext" {
                *self.skipped.entry("ports with another role than Ext").or_default() += 1;
                continue;
            }
            let what = format!("PORT|{}", key.name);
            let mtu =
                port.get("mtu").map(|m| d.count(m, &format!("{what}: mtu"), 65_536)).transpose()?;
            let up = match port.get("admin_status") {
                None => false,
                Some(status) => match d.text(status, "admin_status")? {
                    "up" => true,
                    "down" => false,
                    other => {
                        return Err(d.problem(
                            status,
                            format!("{what}: admin_status '{}'", suggest::clip(other)),
                            "expected up or down",
                        ));
                    }
                },
            };
            if !up {
                self.down.insert(key.name.clone());
            }
            let expected = "expected Mb/s, such as 100000";
            let Some(speed) = port.get("speed") else {
                if up {
                    return Err(Problem::new(format!("{what}: the speed is missing"), expected)
                        .at(d.source.place(key.span.clone())));
                }
                *self.skipped.entry("ports that are down and have no speed").or_default() += 1;
                continue;
            };
            let mbps = d
                .count(speed, &format!("{what}: speed"), 100_000_000)
                .ok()
                .filter(|mbps| *mbps > 0);
            let mbps = mbps.ok_or_else(|| {
                let found = speed
                    .as_text()
                    .map_or("no number".to_owned(), |t| format!("'{}'", suggest::clip(t)));
                d.problem(speed, format!("{what}: speed {found}"), expected)
            })?;
            self.ports.push(Port {
                name: key.name.clone(),
                speed: mbps,
                up,
                mtu,
                place: d.source.place(key.span.clone()),
                cable: cables.get(&key.name).cloned(),
                pfc: BTreeSet::new(),
                groups: BTreeMap::new(),
                queues: BTreeMap::new(),
                maps: Maps::default(),
            });
        }
        Ok(())
    }

    fn read_neighbours(&mut self, d: &Document) -> Result<(), Problem> {
        if let Some(table) = d.root.get("DEVICE_NEIGHBOR_METADATA") {
            for (key, value) in d.object(table, "DEVICE_NEIGHBOR_METADATA")? {
                if let Some(kind) = value.get("type").and_then(Tree::as_text) {
                    self.types.insert(key.name.clone(), kind.to_owned());
                }
            }
        }
        let Some(table) = d.root.get("DEVICE_NEIGHBOR") else { return Ok(()) };
        for (key, value) in d.object(table, "DEVICE_NEIGHBOR")? {
            let what = format!("DEVICE_NEIGHBOR|{}", key.name);
            // Either the key is the local port, or it is the peer's name.
            let (port, peer) = match value.get("local_port") {
                Some(port) => (
                    d.word(port, &what)?,
                    value.get("name").and_then(Tree::as_text).unwrap_or(&key.name),
                ),
                None => (key.name.as_str(), d.word(d.need(value, "name", &what)?, &what)?),
            };
            let port = self.aliases.get(port).map_or(port, String::as_str).to_owned();
            let place = d.source.place(key.span.clone());
            if d.root.get("PORT").is_some_and(|ports| ports.get(&port).is_none()) {
                return Err(Problem::new(
                    format!("{what}: there is no port '{}'", suggest::clip(&port)),
                    "add the port to PORT",
                )
                .at(place));
            }
            let peer_port =
                value.get("port").map(|p| d.word(p, &what)).transpose()?.map(str::to_owned);
            self.neighbours.push(Neighbour { port, peer: peer.to_owned(), peer_port, place });
        }
        Ok(())
    }

    fn read_pools(&mut self, d: &Document) -> Result<(), Problem> {
        let Some(table) = d.root.get("BUFFER_POOL") else { return Ok(()) };
        for (key, pool) in d.object(table, "BUFFER_POOL")? {
            let what = format!("BUFFER_POOL|{}", key.name);
            let number = |field: &str| {
                pool.get(field)
                    .map(|v| d.count(v, &format!("{what}: {field}"), u64::MAX))
                    .transpose()
            };
            let is_dynamic = match pool.get("mode") {
                None => false,
                Some(mode) => match d.text(mode, &what)? {
                    "dynamic" => true,
                    "static" => false,
                    other => {
                        return Err(d.problem(
                            mode,
                            format!("{what}: mode '{}'", suggest::clip(other)),
                            "expected static or dynamic",
                        ));
                    }
                },
            };
            let pool = Pool {
                size: number("size")?,
                shared_headroom: number("xoff")?.unwrap_or(0),
                is_dynamic,
            };
            self.pools.insert(key.name.clone(), pool);
        }
        Ok(())
    }

    fn read_profiles(&mut self, d: &Document) -> Result<(), Problem> {
        let Some(table) = d.root.get("BUFFER_PROFILE") else { return Ok(()) };
        for (key, profile) in d.object(table, "BUFFER_PROFILE")? {
            let what = format!("BUFFER_PROFILE|{}", key.name);
            let number = |field: &str| {
                profile
                    .get(field)
                    .map(|v| d.count(v, &format!("{what}: {field}"), u64::MAX))
                    .transpose()
            };
            let reference = d.need(profile, "pool", &what)?;
            let pool = plain(d.text(reference, &what)?);
            if !self.pools.contains_key(pool) {
                let hint = suggest::hint(
                    pool,
                    "pools",
                    &self.pools.keys().map(String::as_str).collect::<Vec<_>>(),
                );
                return Err(d.problem(
                    reference,
                    format!("{what}: pool '{}' is not defined", suggest::clip(pool)),
                    hint,
                ));
            }
            let dynamic_th = match profile.get("dynamic_th") {
                None => None,
                Some(v) => match d.word(v, &what)?.parse::<i8>() {
                    Ok(n) if (-8..=7).contains(&n) => Some(n),
                    _ => {
                        return Err(d.problem(
                            v,
                            format!("{what}: dynamic_th {}", suggest::clip(d.word(v, &what)?)),
                            "expected -8 to 7",
                        ));
                    }
                },
            };
            let static_th = number("static_th")?;
            if let (Some(_), Some(v)) = (dynamic_th, profile.get("static_th")) {
                return Err(d.problem(
                    v,
                    format!("{what} has both dynamic_th and static_th"),
                    "keep one of the two",
                ));
            }
            let profile = Profile {
                pool: pool.to_owned(),
                size: number("size")?.unwrap_or(0),
                xon: number("xon")?.unwrap_or(0),
                xon_offset: number("xon_offset")?,
                headroom: number("xoff")?,
                dynamic_th,
                static_th,
            };
            self.profiles.insert(key.name.clone(), profile);
        }
        Ok(())
    }

    fn read_priorities(&mut self, d: &Document) -> Result<(), Problem> {
        let Some(table) = d.root.get("PORT_QOS_MAP") else { return Ok(()) };
        let strict = d.root.get("PORT").is_some() && self.skipped.is_empty();
        let mut global = BTreeSet::new();
        for pass_global in [true, false] {
            for (key, map) in d.object(table, "PORT_QOS_MAP")? {
                if (key.name == "global") != pass_global {
                    continue;
                }
                let Some(list) = map.get("pfc_enable") else { continue };
                let what = format!("PORT_QOS_MAP|{}: pfc_enable", key.name);
                let pfc = priorities(d, list, &what)?;
                if pass_global {
                    global = pfc;
                    continue;
                }
                for name in key.name.split(',') {
                    match self.port(name) {
                        Some(port) => port.pfc = pfc.clone(),
                        None if strict => {
                            let what = format!(
                                "PORT_QOS_MAP|{}: there is no port '{}'",
                                key.name,
                                suggest::clip(name)
                            );
                            return Err(Problem::new(what, "add the port to PORT")
                                .at(d.source.place(key.span.clone())));
                        }
                        None => {}
                    }
                }
            }
            if pass_global {
                self.ports.iter_mut().for_each(|p| p.pfc = global.clone());
            }
        }
        Ok(())
    }

    /// Profiles of priority groups or queues, by port.
    fn read_members(
        &mut self,
        d: &Document,
        name: &str,
        of: impl Fn(&mut Port) -> &mut BTreeMap<u8, (String, Place)>,
    ) -> Result<(), Problem> {
        let Some(table) = d.root.get(name) else { return Ok(()) };
        let strict = d.root.get("PORT").is_some() && self.skipped.is_empty();
        for (key, group) in d.object(table, name)? {
            let what = format!("{name}|{}", key.name);
            let place = d.source.place(key.span.clone());
            let Some((ports, groups)) = key.name.split_once('|') else {
                return Err(Problem::new(
                    format!("{what}: no '|'"),
                    "expected a key such as Ethernet0|3-4",
                )
                .at(place));
            };
            let groups = range(groups).map_err(|(what_is, hint)| {
                Problem::new(format!("{what}: {what_is}"), hint).at(place.clone())
            })?;
            let Some(reference) = group.get("profile") else { continue };
            let profile = plain(d.text(reference, &what)?).to_owned();
            if profile.is_empty() || profile == "NULL" {
                *self
                    .skipped
                    .entry("groups and queues with a profile that the switch computes (NULL)")
                    .or_default() += 1;
                continue;
            }
            if d.root.get("PORT").is_none()
                && !self.profiles.contains_key(&profile)
                && !profile.starts_with("pg_lossless_")
            {
                return Err(d.problem(
                    reference,
                    format!("{what}: profile '{}' is not defined", suggest::clip(&profile)),
                    "add the profile to BUFFER_PROFILE",
                ));
            }
            for name in ports.split(',') {
                match self.port(name) {
                    Some(port) => groups.iter().for_each(|&g| {
                        drop(of(port).insert(g, (profile.clone(), d.place(reference))))
                    }),
                    None if strict => {
                        let what = format!("{what}: there is no port '{}'", suggest::clip(name));
                        return Err(Problem::new(what, "add the port to PORT").at(place.clone()));
                    }
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// A pause must be sent for the priority whose group fills.
    fn compare_maps(&mut self, d: &Document) {
        let (Some(tc), Some(pfc)) = (
            d.root.get("TC_TO_PRIORITY_GROUP_MAP"),
            d.root.get("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"),
        ) else {
            return;
        };
        let Item::Object(maps) = &tc.item else { return };
        let lossless: BTreeSet<u8> =
            self.ports.iter().flat_map(|p| p.pfc.iter().copied()).collect();
        for (key, map) in maps {
            for p in &lossless {
                let number =
                    |map: &Tree| map.get(&p.to_string()).and_then(Tree::as_text).map(str::to_owned);
                let other = pfc.get(&key.name).and_then(number);
                if let (Some(a), Some(b)) = (number(map), other)
                    && a != b
                {
                    let what = format!(
                        "'{}': priority {p} fills group {a} and pauses for group {b}",
                        key.name
                    );
                    let hint = "TC_TO_PRIORITY_GROUP_MAP and PFC_PRIORITY_TO_PRIORITY_GROUP_MAP must agree";
                    self.warnings.push(
                        Problem::new(what, hint).at(d.source.place(key.span.clone())).warning(),
                    );
                }
            }
        }
    }
}

/// A reference without the form of old images, `[BUFFER_POOL|x]`.
fn plain(reference: &str) -> &str {
    let inside = reference.strip_prefix('[').and_then(|r| r.strip_suffix(']'));
    inside.and_then(|r| r.split_once('|')).map_or(reference, |(_, name)| name)
}

fn cables(d: &Document) -> Result<HashMap<String, (String, Place)>, Problem> {
    let mut cables = HashMap::new();
    let Some(table) = d.root.get("CABLE_LENGTH") else { return Ok(cables) };
    for (name, map) in d.object(table, "CABLE_LENGTH")? {
        for (key, value) in d.object(map, &format!("CABLE_LENGTH|{}", name.name))? {
            let length = d.word(value, "CABLE_LENGTH")?;
            let metres = length
                .strip_suffix('m')
                .filter(|m| !m.is_empty() && m.len() < 9 && m.bytes().all(|b| b.is_ascii_digit()));
            if metres.is_none() {
                let what = format!("CABLE_LENGTH: {} has '{}'", key.name, suggest::clip(length));
                return Err(d.problem(value, what, "expected a length such as 40m"));
            }
            cables.insert(key.name.clone(), (length.to_owned(), d.place(value)));
        }
    }
    Ok(cables)
}

/// `3,4`, or a list of numbers; may be empty.
fn priorities(d: &Document, list: &Tree, what: &str) -> Result<BTreeSet<u8>, Problem> {
    let words: Vec<&str> = match &list.item {
        Item::List(items) => items.iter().map(|i| d.word(i, what)).collect::<Result<_, _>>()?,
        _ => d.word(list, what)?.split(',').filter(|w| !w.trim().is_empty()).collect(),
    };
    let mut all = BTreeSet::new();
    for word in words {
        all.extend(
            range(word.trim())
                .map_err(|(wrong, hint)| d.problem(list, format!("{what}: {wrong}"), hint))?,
        );
    }
    Ok(all)
}

/// `3` or `3-4`.
fn range(text: &str) -> Result<Vec<u8>, (String, &'static str)> {
    let hint = "expected a priority group 0 to 7, or a range such as 3-4";
    let one = |t: &str| t.parse::<u8>().ok().filter(|n| *n < 8 && t.len() == 1);
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (one(first), one(last)) {
        (Some(a), Some(b)) if a <= b => Ok((a..=b).collect()),
        (Some(_), Some(_)) => {
            Err((format!("the range '{}' is reversed", suggest::clip(text)), hint))
        }
        _ => Err((format!("'{}' is not a range of priority groups", suggest::clip(text)), hint)),
    }
}
