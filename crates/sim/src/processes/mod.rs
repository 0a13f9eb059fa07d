//! The processes of one run: each simulates some nodes, and they exchange frames and figures in
//! between.
//!
//! ```text
//!   process 0   nodes, events, frames | network, routes, flows | results, recorder
//!   process 1   nodes, events, frames | network, routes, flows
//!                   its own                of all of them         at the first
//!          +------ mail for each of the others, all at the same time ------+
//! ```
//!
//! [`Processes`] is all that has to be known of how they reach each other: threads and channels
//! ([`local`]) or a network. All of them run the same program on the same scenario and draw the
//! same conclusions from the same figures, so that all call [`Processes::exchange`] equally often:
//! there is no process that decides for the others.

mod local;

use std::fmt;

pub use local::{Local, local};

use xoff_units::state::{Reader, Value, Writer};

/// Mail between one process of a run and the others.
pub trait Processes: Send {
    /// The number of this one, from 0.
    fn mine(&self) -> usize;
    /// Number of processes.
    fn count(&self) -> usize;
    /// Hands each process its mail, by number, and stores the mail of each process for this one in
    /// its place; this one's own mail stays where it is. Returns when all others have called it as
    /// often. It cannot fail: where another process is gone, this one ends.
    fn exchange(&mut self, mail: &mut [Vec<u8>]);
}

/// Share of a network that a process simulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Number of the process, from 0.
    pub mine: usize,
    /// Processes of the run.
    pub count: usize,
}

impl Share {
    /// Share of a process among others.
    pub fn of(processes: &dyn Processes) -> Share {
        Share { mine: processes.mine(), count: processes.count() }
    }

    /// By which number this process knows another one: itself by 0, those after it from 1 on, then
    /// those before it.
    pub(crate) fn local(self, process: usize) -> usize {
        (process + self.count - self.mine) % self.count
    }
}

/// Reason why a process of a run stops.
#[derive(Debug)]
pub enum Stopped<E> {
    /// Failure of this process.
    Here(E),
    /// Others have, and this one has not: the first of them, and its reason in words.
    Remote {
        /// Number of the failed process.
        process: usize,
        /// Reason of the failure.
        why: String,
    },
}

impl<E: fmt::Display> fmt::Display for Stopped<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stopped::Here(e) => e.fmt(f),
            Stopped::Remote { process, why } => write!(f, "process {process}: {why}"),
        }
    }
}

/// Continues if all processes can; all of them call this at the same point.
///
/// # Errors
/// One of them cannot.
pub fn agree<T, E: fmt::Display>(
    processes: &mut dyn Processes,
    mine: Result<T, E>,
) -> Result<T, Stopped<E>> {
    let answers = all(processes, &mut Vec::new(), &mine.as_ref().err().map(E::to_string));
    let failed =
        answers.into_iter().enumerate().find_map(|(process, why)| why.map(|why| (process, why)));
    match (mine, failed) {
        (Err(e), _) => Err(Stopped::Here(e)),
        (Ok(_), Some((process, why))) => Err(Stopped::Remote { process, why }),
        (Ok(value), None) => Ok(value),
    }
}

/// Answers of all processes, by number.
pub fn texts(processes: &mut dyn Processes, mine: String) -> Vec<String> {
    all(processes, &mut Vec::new(), &mine)
}

/// Appends values to mail.
#[inline]
pub(crate) fn pack(mail: &mut Vec<u8>, values: impl FnOnce(&mut Writer)) {
    let mut to = Writer::onto(std::mem::take(mail));
    values(&mut to);
    *mail = to.end().expect("processes send values only");
}

/// Reads the data of another process. Panics at unexpected bytes, because all processes are the
/// same program.
#[inline]
pub(crate) fn unpack<T: Value>(from: &mut Reader) -> T {
    from.take().expect("another process packed it")
}

/// Answers of all processes, by number. `mail` is memory for reuse.
fn all<T: Value>(processes: &mut dyn Processes, mail: &mut Vec<Vec<u8>>, mine: &T) -> Vec<T> {
    mail.resize_with(processes.count(), Vec::new);
    for to in mail.iter_mut() {
        to.clear();
        pack(to, |to| to.put(mine));
    }
    processes.exchange(mail);
    mail.iter().map(|from| unpack(&mut Reader::new(from))).collect()
}

/// Other processes of a world's run, if there are any. Without them the own answer is the answer of
/// all.
#[derive(Default)]
pub(crate) struct Others {
    processes: Option<Box<dyn Processes>>,
    mail: Vec<Vec<u8>>,
}

impl Others {
    pub fn new(processes: Box<dyn Processes>) -> Others {
        Others { processes: Some(processes), mail: Vec::new() }
    }

    /// True if there are other processes.
    #[inline]
    pub fn exist(&self) -> bool {
        self.processes.is_some()
    }

    /// Processes of the run.
    pub fn count(&self) -> usize {
        self.processes.as_ref().map_or(1, |p| p.count())
    }

    /// True for the process that keeps the results.
    pub fn is_first(&self) -> bool {
        self.processes.as_ref().is_none_or(|p| p.mine() == 0)
    }

    /// The answers of all, joined in the order of the processes.
    #[inline]
    pub fn joined<T: Value>(&mut self, mine: T, join: impl FnMut(T, T) -> T) -> T {
        let Some(processes) = &mut self.processes else { return mine };
        all(&mut **processes, &mut self.mail, &mine).into_iter().reduce(join).unwrap_or(mine)
    }

    /// The lists of all, one after the other in the order of the processes.
    #[inline]
    pub fn gathered<T: Value>(&mut self, mine: Vec<T>) -> Vec<T> {
        let Some(processes) = &mut self.processes else { return mine };
        all(&mut **processes, &mut self.mail, &mine).into_iter().flatten().collect()
    }

    /// Lists of all processes, one after the other, at the first process; nothing at the others.
    #[inline]
    pub fn at_first<T: Value>(&mut self, mine: Vec<T>) -> Vec<T> {
        let Some(processes) = &mut self.processes else { return mine };
        self.mail.resize_with(processes.count(), Vec::new);
        self.mail.iter_mut().for_each(Vec::clear);
        pack(&mut self.mail[0], |to| to.put(&mine));
        drop(mine);
        processes.exchange(&mut self.mail);
        if processes.mine() > 0 {
            return Vec::new();
        }
        self.mail
            .iter_mut()
            .flat_map(|from| unpack::<Vec<T>>(&mut Reader::new(&std::mem::take(from))))
            .collect()
    }

    /// The processes, to exchange mail that is packed already, with the memory for it.
    pub fn processes(&mut self) -> Option<(&mut dyn Processes, &mut Vec<Vec<u8>>)> {
        let processes = self.processes.as_deref_mut()?;
        self.mail.resize_with(processes.count(), Vec::new);
        Some((processes, &mut self.mail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the same work on a number of processes; returns the result of each.
    fn on<T: Send>(count: usize, work: impl Fn(Box<dyn Processes>) -> T + Sync) -> Vec<T> {
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                local(count).into_iter().map(|p| scope.spawn(|| work(Box::new(p)))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        })
    }

    #[test]
    fn all_come_to_the_same_and_the_first_gets_the_lists() {
        for count in [1, 2, 5] {
            let seen = on(count, |p| {
                let mine = p.mine() as u64;
                let mut others = Others::new(p);
                let sum = others.joined(mine, |a, b| a * 10 + b);
                let gathered = others.gathered(vec![mine; mine as usize]);
                (sum, gathered, others.at_first(vec![mine, mine + 100]), others.is_first())
            });
            let digits = (0..count as u64).fold(0, |a, b| a * 10 + b);
            let lists: Vec<u64> = (0..count as u64).flat_map(|n| vec![n; n as usize]).collect();
            for (mine, (sum, gathered, first, is_first)) in seen.into_iter().enumerate() {
                assert_eq!(
                    (sum, &gathered, is_first),
                    (digits, &lists, mine == 0),
                    "{count} processes"
                );
                let wanted: Vec<u64> = if mine == 0 {
                    (0..count as u64).flat_map(|n| [n, n + 100]).collect()
                } else {
                    vec![]
                };
                assert_eq!(first, wanted, "{count} processes");
            }
        }
        assert_eq!(Others::default().joined(7u64, |_, _| unreachable!()), 7);
    }

    #[test]
    fn none_goes_on_where_one_cannot() {
        let seen = on(3, |mut p| {
            let mine = p.mine();
            let first = agree(&mut *p, if mine == 1 { Err("no file") } else { Ok(mine) })
                .map_err(|e| e.to_string());
            (first, agree::<_, String>(&mut *p, Ok(mine)).map_err(|e| e.to_string()))
        });
        let elsewhere = || Err("process 1: no file".to_owned());
        assert_eq!(
            seen,
            [(elsewhere(), Ok(0)), (Err("no file".into()), Ok(1)), (elsewhere(), Ok(2))]
        );
    }

    #[test]
    fn each_process_is_zero_to_itself() {
        let share = Share { mine: 2, count: 4 };
        assert_eq!([0, 1, 2, 3].map(|p| share.local(p)), [2, 3, 0, 1]);
    }
}
