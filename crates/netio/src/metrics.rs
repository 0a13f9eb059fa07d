//! Numbers for Prometheus: a text that the program sets, served over HTTP to whoever asks for /metrics.
//!
//! One thread and a bounded number of connections, each with a deadline; one too many ends the oldest, so that silent ones delay no other.
//! The small HTTP servers there are take a thread for each connection, without a bound; here only the request's head is parsed by a crate.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

/// Time for one connection, from its beginning to its end.
const DEADLINE: Duration = Duration::from_secs(2);
/// Most connections at a time.
const CONNECTIONS_MAX: usize = 64;
/// Longest request [bytes].
const REQUEST_MAX: usize = 8192;
/// Most header lines of a request.
const HEADERS_MAX: usize = 64;

/// Serves a text at `http://address/metrics` until it is dropped.
pub struct MetricsServer {
    address: SocketAddr,
    text: Arc<Mutex<Arc<str>>>,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Listens at an address; port 0 takes any that is free ([`MetricsServer::address`]). The text is empty until it is set.
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<MetricsServer> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let text = Arc::new(Mutex::new(Arc::<str>::from("")));
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let (its_text, its_stop) = (text.clone(), stop.clone());
        let thread = thread::Builder::new().name("metrics".into()).spawn(move || serve(&listener, &its_stop, &its_text))?;
        Ok(MetricsServer { address, text, stop, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The text from now on, in Prometheus' exposition format (version 0.0.4).
    pub fn set(&self, text: impl Into<String>) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = Arc::from(text.into());
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        // Eight bytes into a counter that is at zero: neither blocks nor fails.
        let _ = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Where a connection stands.
enum Stage {
    /// Its request is not complete.
    Reading(Vec<u8>),
    /// So many bytes of the answer are written.
    Writing(Vec<u8>, usize),
    /// All is written and the end announced; what is still on its way is read off. Closed with unread bytes, a connection is reset, and
    /// the answer with it.
    Ending,
}

struct Connection {
    stream: TcpStream,
    stage: Stage,
    /// It is closed then, whatever it does: a byte now and then gains nothing.
    end: Instant,
}

fn serve(listener: &TcpListener, stop: &OwnedFd, text: &Mutex<Arc<str>>) {
    let mut all: VecDeque<Connection> = VecDeque::new();
    loop {
        let mut fds = vec![PollFd::new(listener, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        fds.extend(all.iter().map(|c| PollFd::new(&c.stream, c.waits_for())));
        let left = all.front().map(|c| c.end.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|d| Timespec::try_from(d).ok());
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        if ready[1] {
            return;
        }
        let now = Instant::now();
        let mut ready_of = ready[2..].iter();
        // An error or the end of a client is its own affair. The deadlines are in the order of the connections.
        all.retain_mut(|c| {
            let ready = ready_of.next().is_some_and(|&r| r);
            c.end > now && (!ready || c.go_on(text).unwrap_or(false))
        });
        if ready[0] {
            accept(listener, &mut all);
        }
    }
}

/// Takes all that wait. Beyond the most, the oldest goes.
fn accept(listener: &TcpListener, all: &mut VecDeque<Connection>) {
    // A flood of new ones may not keep the others from being answered.
    for _ in 0..CONNECTIONS_MAX {
        match listener.accept() {
            Ok((stream, _)) if stream.set_nonblocking(true).is_ok() => {
                if all.len() == CONNECTIONS_MAX {
                    all.pop_front();
                }
                all.push_back(Connection { stream, stage: Stage::Reading(Vec::new()), end: Instant::now() + DEADLINE });
            }
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
            // Too many open files, for one: it stays so for a while.
            Err(_) => return thread::sleep(Duration::from_millis(100)),
        }
    }
}

impl Connection {
    fn waits_for(&self) -> PollFlags {
        if matches!(self.stage, Stage::Writing(..)) { PollFlags::OUT } else { PollFlags::IN }
    }

    /// Does what can be done without waiting. False: it is over.
    fn go_on(&mut self, text: &Mutex<Arc<str>>) -> io::Result<bool> {
        loop {
            match &mut self.stage {
                Stage::Reading(request) => {
                    if let Some(answer) = answer(request, text) {
                        self.stage = Stage::Writing(answer, 0);
                        continue;
                    }
                    let mut buffer = [0; 1024];
                    match self.stream.read(&mut buffer) {
                        Ok(0) => return Ok(false),
                        Ok(n) => request.extend_from_slice(&buffer[..n]),
                        Err(e) => return again(e),
                    }
                }
                Stage::Writing(answer, written) if *written == answer.len() => {
                    self.stream.shutdown(Shutdown::Write)?;
                    self.stage = Stage::Ending;
                }
                Stage::Writing(answer, written) => match self.stream.write(&answer[*written..]) {
                    Ok(n) => *written += n,
                    Err(e) => return again(e),
                },
                Stage::Ending => {
                    let mut buffer = [0; 1024];
                    match self.stream.read(&mut buffer) {
                        Ok(n) => return Ok(n > 0),
                        Err(e) => return again(e),
                    }
                }
            }
        }
    }
}

/// Nothing more for now is no error.
fn again(e: io::Error) -> io::Result<bool> {
    match e.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(true),
        _ => Err(e),
    }
}

/// The answer to a request; `None`: it is not complete.
fn answer(request: &[u8], text: &Mutex<Arc<str>>) -> Option<Vec<u8>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let counters;
    let (status, body) = match parsed.parse(request) {
        Ok(httparse::Status::Complete(_)) => match (parsed.method, parsed.path.unwrap_or_default().split('?').next()) {
            (Some("GET"), Some("/metrics")) => {
                counters = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
                ("200 OK", &*counters)
            }
            (Some("GET"), Some("/")) => ("200 OK", "xoff: the counters are at /metrics\n"),
            (Some("GET"), _) => ("404 Not Found", "only /metrics is here\n"),
            _ => ("405 Method Not Allowed\r\nAllow: GET", "only GET is answered\n"),
        },
        Ok(httparse::Status::Partial) if request.len() < REQUEST_MAX => return None,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            ("431 Request Header Fields Too Large", "the request is too long\n")
        }
        Err(_) => ("400 Bad Request", "this is not HTTP\n"),
    };
    let head = "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\nConnection: close";
    Some(format!("HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(server: &MetricsServer, request: &str) -> String {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn metrics_are_served_as_they_were_set_last() {
        let server = MetricsServer::bind("127.0.0.1:0").unwrap();
        let get = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
        assert!(ask(&server, get).ends_with("Content-Length: 0\r\n\r\n"));
        server.set("frames_total 1\n");
        server.set(String::from("frames_total 2\n"));
        let answer = ask(&server, get);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("text/plain; version=0.0.4"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nframes_total 2\n"), "{answer}");
        assert!(ask(&server, "GET /metrics?x=1 HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 200"));
    }

    #[test]
    fn everything_else_is_refused() {
        let server = MetricsServer::bind("127.0.0.1:0").unwrap();
        server.set("secret 1\n");
        let long = format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(2 * REQUEST_MAX));
        let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(HEADERS_MAX + 1));
        let cases = [
            ("GET /metrics/ HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "405"),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", "405"),
            ("\u{1}\u{2}\u{3}\r\n\r\n", "400"),
            (&long, "431"),
            (&many, "431"),
        ];
        for (request, status) in cases {
            let answer = ask(&server, request);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")) && !answer.contains("secret"), "{request:.40}: {answer}");
        }
    }

    #[test]
    fn the_root_shows_where_the_counters_are() {
        let server = MetricsServer::bind("127.0.0.1:0").unwrap();
        let answer = ask(&server, "GET / HTTP/1.1\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("/metrics"), "{answer}");
    }

    /// Clients that send nothing delay no other, many as they are; and the server ends when it is dropped. (One at a time, each of them
    /// cost the next one two seconds.)
    #[test]
    fn silent_clients_do_not_stop_it() {
        let server = MetricsServer::bind("127.0.0.1:0").unwrap();
        let text = "up 1\n".repeat(100_000);
        server.set(text.clone());
        // As many as the kernel queues and the server keeps, and more.
        let silent: Vec<_> = (0..500).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
        let start = Instant::now();
        assert!(ask(&server, "GET /metrics HTTP/1.1\r\n\r\n").ends_with(&text));
        assert!(start.elapsed() < DEADLINE / 2, "{:?}", start.elapsed());
        drop(silent);
        let address = server.address();
        drop(server);
        assert!(TcpStream::connect(address).is_err());
    }
}
