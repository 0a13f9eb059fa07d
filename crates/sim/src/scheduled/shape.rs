//! How switching elements are wired: Clos and Benes networks of any odd number of stages, and fat
//! trees.
//!
//! ```text
//!   port -> left 0 -> left 1 -> ... -> middle -> ... -> right 1 -> right 0 -> port
//!           n x m     n x m            c x c            m x n      m x n
//! ```
//!
//! A Clos network is recursive: `m` sub-networks are between the first and the last stage, each
//! with one input and one output per element of those stages. With `h` levels of recursion there
//! are 2h + 1 stages and N = n^h c ports. A Benes network has n = m = c. In a fat tree the left and
//! the right element of a place are one element, and traffic turns round as soon as it can (section
//! 1 of the paper names all three as its non-blocking networks).

/// A wiring of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Ports below an element of the outer stages, the paper's n.
    pub below: u32,
    /// Elements of the next stage that it is wired to, m: the paths that each level offers.
    pub above: u32,
    /// Ports of a middle element, c.
    pub middle: u32,
    /// Levels of recursion h.
    pub levels: u32,
    /// True if left and right elements are the same.
    pub folded: bool,
}

/// Kind of element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// On the way in, or in a fat tree on both: level, sub-network, index in it.
    Left { level: u32, net: u32, index: u32 },
    /// In the middle: sub-network.
    Middle { net: u32 },
    /// On the way out.
    Right { level: u32, net: u32, index: u32 },
}

/// End of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// An input of an element.
    Element { element: u32, input: u32 },
    /// A port of the fabric.
    Port(u32),
}

impl Shape {
    /// A Benes network of `stages` stages of `radix` x `radix` elements, as the paper's evaluation
    /// uses with 3 of 8 x 8.
    pub fn benes(radix: u32, stages: u32) -> Shape {
        Shape {
            below: radix,
            above: radix,
            middle: radix,
            levels: stages.saturating_sub(1) / 2,
            folded: false,
        }
    }

    /// Stages that the longest path passes.
    pub fn stages(&self) -> u32 {
        2 * self.levels + 1
    }
    /// Ports of the fabric, N.
    pub fn ports(&self) -> u32 {
        self.below.pow(self.levels) * self.middle
    }
    /// Paths between two ports that share no element of the outer stages.
    pub fn paths(&self) -> u32 {
        self.above.pow(self.levels)
    }

    /// Inputs of an element before a port.
    pub(crate) fn last_inputs(&self) -> u32 {
        match (self.levels, self.folded) {
            (0, _) => self.middle,
            (_, true) => self.below + self.above,
            (_, false) => self.above,
        }
    }

    /// Indices within a sub-network of this level.
    pub(crate) fn indices(&self, level: u32) -> u32 {
        self.below.pow(self.levels - level - 1) * self.middle
    }

    /// All elements: left by level, middle, right by level.
    pub(crate) fn places(&self) -> Vec<Place> {
        let level_places = |level: u32| {
            (0..self.above.pow(level))
                .flat_map(move |net| (0..self.indices(level)).map(move |index| (net, index)))
        };
        let mut places = Vec::new();
        for level in 0..self.levels {
            places.extend(level_places(level).map(|(net, index)| Place::Left {
                level,
                net,
                index,
            }));
        }
        places.extend((0..self.paths()).map(|net| Place::Middle { net }));
        if !self.folded {
            for level in 0..self.levels {
                places.extend(level_places(level).map(|(net, index)| Place::Right {
                    level,
                    net,
                    index,
                }));
            }
        }
        places
    }

    fn number(&self, place: Place) -> u32 {
        let of_level = |level: u32| self.above.pow(level) * self.indices(level);
        let before = |level: u32| (0..level).map(of_level).sum::<u32>();
        match place {
            Place::Left { level, net, index } => before(level) + net * self.indices(level) + index,
            Place::Middle { net } => before(self.levels) + net,
            Place::Right { level, net, index } if self.folded => {
                self.number(Place::Left { level, net, index })
            }
            Place::Right { level, net, index } => {
                before(self.levels)
                    + self.paths()
                    + before(level)
                    + net * self.indices(level)
                    + index
            }
        }
    }

    /// Inputs and outputs of an element.
    pub(crate) fn size(&self, place: Place) -> (u32, u32) {
        match place {
            _ if self.folded && !matches!(place, Place::Middle { .. }) => {
                (self.below + self.above, self.below + self.above)
            }
            Place::Left { .. } => (self.below, self.above),
            Place::Middle { .. } => (self.middle, self.middle),
            Place::Right { .. } => (self.above, self.below),
        }
    }

    /// End of the uplink of a port.
    pub(crate) fn entry(&self, port: u32) -> End {
        self.enter_net(0, 0, port)
    }

    /// Input `local` of sub-network `net` of `level`.
    fn enter_net(&self, level: u32, net: u32, local: u32) -> End {
        if level == self.levels {
            return End::Element { element: self.number(Place::Middle { net }), input: local };
        }
        let place = Place::Left { level, net, index: local / self.below };
        End::Element { element: self.number(place), input: local % self.below }
    }

    /// Output `local` of sub-network `net` of `level` leads to a right element of the level before,
    /// or to a port.
    fn out_of_net(&self, level: u32, net: u32, local: u32) -> End {
        if level == 0 {
            return End::Port(local);
        }
        let place = Place::Right { level: level - 1, net: net / self.above, index: local };
        let side = if self.folded { self.below } else { 0 };
        End::Element { element: self.number(place), input: side + net % self.above }
    }

    /// Destination of an output of an element.
    pub(crate) fn next(&self, place: Place, output: u32) -> End {
        match place {
            Place::Left { level, net, index } if self.folded && output < self.below => {
                self.out_of_net(level, net, index * self.below + output)
            }
            Place::Left { level, net, index } => {
                let up = if self.folded { output - self.below } else { output };
                self.enter_net(level + 1, net * self.above + up, index)
            }
            Place::Middle { net } => self.out_of_net(self.levels, net, output),
            Place::Right { level, net, index } => {
                self.out_of_net(level, net, index * self.below + output)
            }
        }
    }

    /// Output of an element for a destination; `path` has one digit of base m per level, the first
    /// level's lowest.
    pub(crate) fn output(&self, place: Place, destination: u32, path: u32) -> u32 {
        match place {
            Place::Left { level, index, .. } => {
                let local = destination / self.below.pow(level);
                if self.folded && local / self.below == index {
                    return local % self.below;
                }
                let digit = path / self.above.pow(level) % self.above;
                if self.folded { self.below + digit } else { digit }
            }
            Place::Middle { .. } => destination / self.below.pow(self.levels),
            Place::Right { level, .. } => destination / self.below.pow(level) % self.below,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hops(shape: Shape, from: u32, to: u32, path: u32) -> u32 {
        let places = shape.places();
        let (mut at, mut hops) = (shape.entry(from), 0);
        loop {
            match at {
                End::Port(port) => {
                    assert_eq!(port, to, "{shape:?} from {from} path {path}");
                    return hops;
                }
                End::Element { element, input } => {
                    let place = places[element as usize];
                    assert_eq!(shape.number(place), element);
                    let output = shape.output(place, to, path);
                    let (inputs, outputs) = shape.size(place);
                    assert!(input < inputs && output < outputs);
                    at = shape.next(place, output);
                    hops += 1;
                }
            }
        }
    }

    /// Every path of every pair ends where it should, after all stages, or in a fat tree after
    /// twice the level of the turn.
    #[test]
    fn every_path_leads_to_its_destination() {
        let uneven = Shape { below: 3, above: 4, middle: 5, levels: 1, folded: false };
        for unfolded in [
            Shape::benes(8, 3),
            Shape::benes(2, 5),
            Shape::benes(3, 5),
            Shape::benes(2, 7),
            Shape::benes(4, 1),
            uneven,
        ] {
            for folded in [false, true] {
                let shape = Shape { folded, ..unfolded };
                for (from, to) in
                    (0..shape.ports()).flat_map(|a| (0..shape.ports()).map(move |b| (a, b)))
                {
                    let turn = (0..shape.levels)
                        .find(|l| from / shape.below.pow(l + 1) == to / shape.below.pow(l + 1));
                    let want = if folded {
                        turn.map_or(shape.stages(), |l| 2 * l + 1)
                    } else {
                        shape.stages()
                    };
                    for path in 0..shape.paths() {
                        assert_eq!(hops(shape, from, to, path), want);
                    }
                }
            }
        }
    }

    /// Every input is the end of exactly one wire, and the figures of section 4: 64 ports of 8 x 8,
    /// 256 of 16 x 16.
    #[test]
    fn wires_and_sizes() {
        assert_eq!(
            [Shape::benes(8, 3), Shape::benes(16, 3), Shape::benes(2, 5)]
                .map(|s| (s.ports(), s.paths())),
            [(64, 8), (256, 16), (8, 4)]
        );
        for shape in [Shape::benes(2, 7), Shape { folded: true, ..Shape::benes(4, 5) }] {
            let places = shape.places();
            let mut ends: Vec<End> = (0..shape.ports()).map(|p| shape.entry(p)).collect();
            for &place in &places {
                ends.extend((0..shape.size(place).1).map(|o| shape.next(place, o)));
            }
            let inputs: u32 = places.iter().map(|&p| shape.size(p).0).sum();
            assert_eq!(ends.len() as u32, inputs + shape.ports());
            ends.sort_by_key(|e| match e {
                End::Element { element, input } => (0, *element, *input),
                End::Port(p) => (1, *p, 0),
            });
            assert!(ends.windows(2).all(|w| w[0] != w[1]));
        }
    }
}
