//! Priority group and queue of a traffic class at a port: PORT_QOS_MAP, TC_TO_PRIORITY_GROUP_MAP,
//! TC_TO_QUEUE_MAP.

use crate::{Problem, suggest};

use crate::import::tree::{Document, Tree};

/// Traffic classes.
const CLASSES: usize = 8;

/// By traffic class; without a map each has the group and the queue of its own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Maps {
    pub group: [u8; CLASSES],
    pub queue: [u8; CLASSES],
}

impl Default for Maps {
    fn default() -> Maps {
        let own = std::array::from_fn(|class| class as u8);
        Maps { group: own, queue: own }
    }
}

impl Maps {
    /// Maps of a port.
    ///
    /// # Errors
    /// A map that is not there, and a number that is none.
    pub fn read(d: &Document, port: &str) -> Result<Maps, Problem> {
        let mut maps = Maps::default();
        let Some(of_ports) = d.root.get("PORT_QOS_MAP") else { return Ok(maps) };
        let own = d
            .object(of_ports, "PORT_QOS_MAP")?
            .iter()
            .find(|(key, _)| key.name.split(',').any(|name| name == port));
        let of = |key: &str| {
            own.and_then(|(_, map)| map.get(key))
                .or_else(|| of_ports.get("global").and_then(|map| map.get(key)))
        };
        if let Some(name) = of("tc_to_pg_map") {
            read_map(d, name, "TC_TO_PRIORITY_GROUP_MAP", &mut maps.group)?;
        }
        if let Some(name) = of("tc_to_queue_map") {
            read_map(d, name, "TC_TO_QUEUE_MAP", &mut maps.queue)?;
        }
        Ok(maps)
    }
}

/// A file may name a map that another image defines: then each class has its own number.
fn read_map(d: &Document, name: &Tree, table: &str, of: &mut [u8; CLASSES]) -> Result<(), Problem> {
    let name = d.text(name, table)?;
    let name = name.trim_matches(['[', ']']).rsplit('|').next().unwrap_or(name);
    let Some(map) = d.root.get(table).and_then(|t| t.get(name)) else { return Ok(()) };
    for (class, number) in d.object(map, &format!("{table}|{name}"))? {
        let one = |text: &str| text.parse::<u8>().ok().filter(|n| usize::from(*n) < CLASSES);
        let what = format!("{table}|{name}: '{}'", suggest::clip(&class.name));
        let (Some(class), Some(number)) = (one(&class.name), number.as_text().and_then(one)) else {
            return Err(d.problem(
                number,
                format!("{what}: expected a traffic class and a number"),
                "expected numbers from 0 to 7",
            ));
        };
        of[usize::from(class)] = number;
    }
    Ok(())
}
