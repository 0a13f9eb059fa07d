//! A host: a network namespace with a stack of its own, in which commands run.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::{Child, Command, Output};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use crate::netio::sys;

type Job = Box<dyn FnOnce() + Send>;

/// A network namespace without a name, held by a thread that lives in it.
///
/// Every request to the host is done by that thread. When the host is dropped, or the process ends
/// in whatever way, the thread ends, its commands are killed, and the namespace goes with its
/// interfaces.
pub struct Host {
    name: String,
    /// The thread's number, by which `ip` finds the namespace.
    thread_id: i32,
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Host {
    /// A host without interfaces but its loopback. Asks for the right to make network namespaces:
    /// [`super::enter`] gives it.
    pub fn new(name: &str) -> io::Result<Host> {
        let (ready, started) = mpsc::channel();
        let (jobs, todo) = mpsc::channel::<Job>();
        let live = move || {
            let begun = sys::own_network_here().and_then(|()| super::loopback_up());
            let failed = begun.is_err();
            // The receiver is gone: then there are no jobs either.
            let _ = ready.send(begun.map(|()| rustix::thread::gettid().as_raw_nonzero().get()));
            if !failed {
                todo.into_iter().for_each(|job| job());
            }
        };
        let thread = thread::Builder::new().name(format!("host {name}")).spawn(live)?;
        let thread_id = started.recv().map_err(io::Error::other)??;
        Ok(Host { name: name.to_owned(), thread_id, jobs: Some(jobs), thread: Some(thread) })
    }

    /// Name, which is valid in this process only.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs a function in the host's network and waits for it: sockets and ports opened in it stay
    /// there. A panic passes on.
    pub fn run<T: Send + 'static>(&self, f: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, result) = mpsc::channel::<Result<T, Box<dyn Any + Send>>>();
        let job: Job = Box::new(move || {
            let _ = done.send(catch_unwind(AssertUnwindSafe(f)));
        });
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        match result.recv() {
            Ok(Ok(value)) => value,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => unreachable!("a host's thread ends after its last job (job taken: {sent})"),
        }
    }

    /// Moves an interface from the calling thread's network to the host's, gives it addresses (such
    /// as "10.0.0.1/24") and sets it up.
    pub fn attach(&self, interface: &str, addresses: &[&str]) -> io::Result<()> {
        super::check_name(interface)?;
        super::ip(&format!("link set dev {interface} netns {}\n", self.thread_id))?;
        let mut batch: String =
            addresses.iter().map(|a| format!("addr add {a} dev {interface}\n")).collect();
        batch += &format!("link set dev {interface} up\n");
        let interface = interface.to_owned();
        self.run(move || {
            super::quiet(&interface)?;
            super::ip(&batch)
        })
    }

    /// Starts a command in the host's network. It is killed when the host goes.
    pub fn spawn(&self, mut command: Command) -> io::Result<Child> {
        self.run(move || {
            sys::killed_with_parent(&mut command);
            command.spawn()
        })
    }

    /// Runs a command in the host's network to its end.
    pub fn output(&self, mut command: Command) -> io::Result<Output> {
        self.run(move || {
            sys::killed_with_parent(&mut command);
            command.output()
        })
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // Jobs catch their panics.
            let _ = thread.join();
        }
    }
}
