//! Mail between processes over MPI.
//!
//! ```text
//!   exchange:  send to each (does not wait) | receive from each, in order | wait until all has been sent
//!   mail of 2.5 GiB:   1 GiB | 1 GiB | 0.5 GiB: the message that is shorter than the others is the last one
//! ```

use mpi::request::multiple_scope;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, MatchedReceiveVec, Source};
use xoff_run::Processes;

/// The longest message [bytes]: MPI counts in 31 bits.
const MESSAGE_MAX: usize = 1 << 30;

/// The processes of `MPI_COMM_WORLD`.
pub struct OverMpi {
    mine: usize,
    count: usize,
    /// Received bytes, by sender.
    came: Vec<Vec<u8>>,
    message_max: usize,
}

impl OverMpi {
    /// As `mpirun` has started them.
    pub fn new(world: &SimpleCommunicator) -> OverMpi {
        let count = world.size() as usize;
        OverMpi {
            mine: world.rank() as usize,
            count,
            came: vec![Vec::new(); count],
            message_max: MESSAGE_MAX,
        }
    }
}

impl Processes for OverMpi {
    fn mine(&self) -> usize {
        self.mine
    }

    fn count(&self) -> usize {
        self.count
    }

    fn exchange(&mut self, mail: &mut [Vec<u8>]) {
        let world = SimpleCommunicator::world();
        let others = (0..self.count).filter(|&other| other != self.mine);
        let process = |other: usize| world.process_at_rank(other as i32);
        let (came, longest) = (&mut self.came, self.message_max);
        let sent: &[Vec<u8>] = mail;
        multiple_scope(self.count, |scope, requests| {
            for other in others.clone() {
                messages(&sent[other], longest)
                    .for_each(|m| _ = requests.add(process(other).immediate_send(scope, m)));
            }
            for other in others.clone() {
                let came = &mut came[other];
                came.clear();
                loop {
                    let message = receive(&process(other));
                    let is_last = message.len() < longest;
                    if came.is_empty() {
                        *came = message
                    } else {
                        came.extend(message)
                    }
                    if is_last {
                        break;
                    }
                }
            }
            requests.wait_all(&mut Vec::new());
        });
        for other in others {
            std::mem::swap(&mut mail[other], &mut came[other]);
        }
    }
}

/// Looks for a message before a process leaves its core to others: some 100 microseconds. A window
/// often lasts less than that, but there may be fewer cores than processes, and other programs.
const LOOKS: u32 = 1000;

/// The next message of a process.
fn receive(from: &impl Source) -> Vec<u8> {
    let mut looks = 0;
    loop {
        if let Some(message) = from.immediate_matched_probe() {
            return message.matched_receive_vec().0;
        }
        looks += 1;
        if looks < LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
    }
}

/// Mail as messages of at most so many bytes, of which the last is shorter.
fn messages(mail: &[u8], longest: usize) -> impl Iterator<Item = &[u8]> {
    let rest = mail.len() / longest * longest;
    mail[..rest].chunks(longest).chain([&mail[rest..]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_message_is_shorter_than_the_others() {
        let of = |mail: &'static [u8]| messages(mail, 3).collect::<Vec<_>>();
        assert_eq!(of(b""), [b""]);
        assert_eq!(of(b"ab"), [b"ab"]);
        assert_eq!(of(b"abc"), [&b"abc"[..], b""]);
        assert_eq!(of(b"abcdefg"), [&b"abc"[..], b"def", b"g"]);
    }
}
