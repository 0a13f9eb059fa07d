//! Processes that are threads of one process, and reach each other by channels: for tests, and as
//! the example of a [`Processes`].

use std::sync::mpsc::{Receiver, Sender, channel};

use super::Processes;

/// Process among several that are threads.
pub struct Local {
    mine: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

/// A number of processes, each to be given to a separate thread.
pub fn local(count: usize) -> Vec<Local> {
    let mut all: Vec<Local> =
        (0..count).map(|mine| Local { mine, to: Vec::new(), from: Vec::new() }).collect();
    for sender in 0..count {
        for receiver in 0..count {
            let (to, from) = channel();
            all[sender].to.push(to);
            all[receiver].from.push(from);
        }
    }
    all
}

impl Processes for Local {
    fn mine(&self) -> usize {
        self.mine
    }

    fn count(&self) -> usize {
        self.to.len()
    }

    fn exchange(&mut self, mail: &mut [Vec<u8>]) {
        const GONE: &str = "another process of this run failed";
        for (other, mail) in mail.iter_mut().enumerate().filter(|o| o.0 != self.mine) {
            self.to[other].send(std::mem::take(mail)).expect(GONE);
        }
        for (other, mail) in mail.iter_mut().enumerate().filter(|o| o.0 != self.mine) {
            *mail = self.from[other].recv().expect(GONE);
        }
    }
}
