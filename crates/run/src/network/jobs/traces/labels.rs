//! Labels of operations, and identities like them: most count up with the operations, and then a
//! whole stretch of them takes one entry.
//!
//! ```text
//!   l0 l1 l2 l3 ... -> operations 0 1 2 3 ...     one stretch: l, from 0, operation 0, length
//! ```

use std::collections::{BTreeMap, HashMap};

/// Numbers that count up with operations.
#[derive(Default)]
pub(super) struct Stretches {
    /// By the first number: how many, and the operation of the first.
    all: BTreeMap<u64, (u64, u32)>,
}

impl Stretches {
    /// The operation of a number.
    pub fn get(&self, number: u64) -> Option<u32> {
        let (first, (many, op)) = self.all.range(..=number).next_back()?;
        (number - first < *many).then(|| op + (number - first) as u32)
    }

    /// A number for an operation. False: it has one.
    pub fn insert(&mut self, number: u64, op: u32) -> bool {
        if let Some((first, (many, at))) = self.all.range_mut(..=number).next_back() {
            if number - *first < *many {
                return false;
            }
            if number - *first == *many && u64::from(*at) + *many == u64::from(op) {
                *many += 1;
                return true;
            }
        }
        self.all.insert(number, (1, op));
        true
    }
}

/// Operations by label.
#[derive(Default)]
pub(super) struct Labels {
    /// Labels that end in a number, by the text before it.
    counted: HashMap<String, Stretches>,
    others: HashMap<String, u32>,
}

/// Text before the number at the end of a label, and the number; `None`: the label does not end in
/// a number, or the number has another spelling.
fn counted(label: &str) -> Option<(&str, u64)> {
    let name = label.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &label[name.len()..];
    let number = digits.parse().ok()?;
    (digits == "0" || !digits.starts_with('0')).then_some((name, number))
}

impl Labels {
    /// The operation of a label.
    pub fn get(&self, label: &str) -> Option<u32> {
        match counted(label) {
            Some((name, number)) => self.counted.get(name)?.get(number),
            None => self.others.get(label).copied(),
        }
    }

    /// A label for an operation. False: it has one.
    pub fn insert(&mut self, label: &str, op: u32) -> bool {
        match counted(label) {
            Some((name, number)) => match self.counted.get_mut(name) {
                Some(of_name) => of_name.insert(number, op),
                None => self.counted.entry(name.to_owned()).or_default().insert(number, op),
            },
            None if self.others.contains_key(label) => false,
            None => self.others.insert(label.to_owned(), op).is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_distinguished_and_those_that_count_up_take_one_entry() {
        let mut l = Labels::default();
        for (op, label) in [
            "l1",
            "l01",
            "l",
            "m1",
            "l2",
            "l9",
            "l18446744073709551615",
            "l99999999999999999999",
            "l001",
        ]
        .iter()
        .enumerate()
        {
            assert!(l.insert(label, op as u32), "{label}");
        }
        for (op, label) in [
            "l1",
            "l01",
            "l",
            "m1",
            "l2",
            "l9",
            "l18446744073709551615",
            "l99999999999999999999",
            "l001",
        ]
        .iter()
        .enumerate()
        {
            assert_eq!(l.get(label), Some(op as u32), "{label}");
            assert!(!l.insert(label, 77), "{label}");
        }
        assert_eq!([l.get("l3"), l.get("l0"), l.get("m2"), l.get("l10"), l.get("")], [None; 5]);
        let mut l = Labels::default();
        (0..1000u32).for_each(|n| assert!(l.insert(&format!("op{}", n + 5), n)));
        assert_eq!(
            (l.counted["op"].all.len(), l.get("op1004"), l.get("op1005")),
            (1, Some(999), None)
        );
    }
}
