//! The report of a run in progress: the same as that of a finished one. The browser requests it
//! about once a second.

use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use xoff_net::topology::PortNumbers;
use xoff_real::netio::{HttpAnswer, HttpRequest, HttpServer};
use xoff_report::view::Seen;
use xoff_run::{Course, NetworkScenario};
use xoff_scenario::Problems;
use xoff_sim::{Deadlock, FlowRecord, PortTotals, World};
use xoff_units::Time;

use crate::terminal;
use crate::view::{is_own, listen, not_own, open, unserved};

/// Time between two polls that go to the page.
const EVERY: Duration = Duration::from_millis(250);

/// Last state that the loop has seen; the server's thread copies it.
#[derive(Clone, Default)]
struct Last {
    now: Time,
    ports: Vec<Vec<PortTotals>>,
    flows: Vec<FlowRecord>,
    deadlocks: Vec<Deadlock>,
    course: Option<Course>,
}

/// A socket that waits for its page: to be bound before namespaces are entered.
pub struct Waiting(std::net::TcpListener);

/// Serves the page until it is dropped.
pub struct LivePage {
    server: HttpServer,
    last: Arc<Mutex<Last>>,
    looked: Option<Instant>,
}

impl Waiting {
    /// On a port of 127.0.0.1; 0: any that is free.
    pub fn bind(port: u16) -> Result<Waiting, Problems> {
        listen(port).map(Waiting)
    }

    /// Answers from now on.
    pub fn serve(self, s: &NetworkScenario, folder: &str) -> Result<LivePage, Problems> {
        let last = Arc::new(Mutex::new(Last::default()));
        let (its_last, folder) = (last.clone(), folder.to_owned());
        let html: Arc<[u8]> = xoff_report::view::live_page(s, &folder).into_bytes().into();
        let drawn = xoff_report::view::Drawn::of(s);
        let server = HttpServer::start("page", self.0, move |r| {
            answer(r, &html, &its_last, &drawn, &folder)
        })
        .map_err(|e| unserved(&e))?;
        Ok(LivePage { server, last, looked: None })
    }
}

impl LivePage {
    /// Address.
    pub fn address(&self) -> String {
        format!("http://{}/", self.server.address())
    }

    /// Names its address on the terminal, and opens it in the user's browser where there is one.
    pub fn announce(&self) {
        let address = self.address();
        terminal::note(&format!("the live page is at {address}"));
        if std::io::stderr().is_terminal() {
            open(&address);
        }
    }

    /// Stores the present state, if it is time to.
    pub fn look(&mut self, world: &World, s: &NetworkScenario) {
        if self.looked.is_some_and(|l| l.elapsed() < EVERY) {
            return;
        }
        self.looked = Some(Instant::now());
        let (ports, flows) = (world.port_totals(), world.flows_now());
        // The server's thread copies this state; it holds the lock for less than a millisecond.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let numbers = PortNumbers::new(&s.topology).len();
        last.course.get_or_insert_with(|| Course::new(world, numbers, Time::NEVER)).note(world);
        last.now = world.now();
        last.flows = flows.into_iter().filter(|f| f.flow.start <= last.now).collect();
        (last.ports, last.deadlocks) = (ports, world.deadlocks().to_vec());
    }
}

fn answer(
    r: &HttpRequest,
    html: &Arc<[u8]>,
    last: &Mutex<Last>,
    s: &xoff_report::view::Drawn,
    folder: &str,
) -> HttpAnswer {
    match r.path {
        _ if !is_own(r) => not_own(),
        "/" => {
            HttpAnswer { status: "200 OK", content: "text/html; charset=utf-8", body: html.clone() }
        }
        "/api/data" => {
            let l = last.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if l.ports.is_empty() {
                // The run has not started; the page asks again.
                return HttpAnswer::text("204 No Content", "");
            }
            let ideals = vec![None; l.flows.len()];
            let seen = Seen {
                now: l.now,
                ports: &l.ports,
                flows: &l.flows,
                ideals: &ideals,
                deadlocks: &l.deadlocks,
                course: l.course.as_ref(),
            };
            let body = xoff_report::view::live_data(s, &seen, folder, true).into_bytes().into();
            HttpAnswer { status: "200 OK", content: "application/json", body }
        }
        _ => HttpAnswer::text("404 Not Found", "the page is at /\n"),
    }
}
