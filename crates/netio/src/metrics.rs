//! Numbers for Prometheus: a text that the program sets, served over HTTP to whoever asks for /metrics.
//!
//! One thread and one connection at a time, each with a deadline; nothing of the answer depends on the request but whether it is given.
//! The small HTTP servers there are take a thread for each connection, without a bound; here only the request's head is parsed by a crate.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

/// Time for one connection, from its beginning to its end.
const DEADLINE: Duration = Duration::from_secs(2);
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

fn serve(listener: &TcpListener, stop: &OwnedFd, text: &Mutex<Arc<str>>) {
    loop {
        let mut fds = [PollFd::new(listener, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
        if !fds[1].revents().is_empty() {
            return;
        }
        match listener.accept() {
            Ok((stream, _)) => {
                let text = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
                // A client that goes away or says nothing is its own affair.
                let _ = answer(stream, &text);
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            // Too many open files, for one: it stays so for a while.
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// Reads one request, answers it, and ends the connection.
fn answer(mut stream: TcpStream, text: &str) -> io::Result<()> {
    let end = Instant::now() + DEADLINE;
    stream.set_nonblocking(false)?;
    let mut request = Vec::new();
    let (status, body) = loop {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut parsed = httparse::Request::new(&mut headers);
        match parsed.parse(&request) {
            Ok(httparse::Status::Complete(_)) => {
                let path = parsed.path.unwrap_or_default().split('?').next();
                break match (parsed.method, path) {
                    (Some("GET"), Some("/metrics")) => ("200 OK", text),
                    (Some("GET"), _) => ("404 Not Found", "only /metrics is here\n"),
                    _ => ("405 Method Not Allowed\r\nAllow: GET", "only GET is answered\n"),
                };
            }
            Ok(httparse::Status::Partial) if request.len() < REQUEST_MAX => {}
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                break ("431 Request Header Fields Too Large", "the request is too long\n");
            }
            Err(_) => break ("400 Bad Request", "this is not HTTP\n"),
        }
        // Each read may wait for what is left of the deadline: a byte now and then gains nothing.
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let mut buffer = [0; 1024];
        let n = stream.read(&mut buffer)?;
        if n == 0 {
            return Ok(());
        }
        request.extend_from_slice(&buffer[..n]);
    };
    stream.set_write_timeout(Some(DEADLINE))?;
    let length = body.len();
    let head = "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\nConnection: close";
    stream.write_all(format!("HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}").as_bytes())?;
    // Closed with unread bytes, a connection is reset, and the answer with it: the end is announced, and what is on its way read off.
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    let mut rest = [0; 1024];
    for _ in 0..64 {
        if stream.read(&mut rest)? == 0 {
            break;
        }
    }
    Ok(())
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
            ("GET / HTTP/1.1\r\n\r\n", "404"),
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

    /// A client that says nothing holds up the next one for the deadline, not for ever; and the server ends when it is dropped.
    #[test]
    fn a_silent_client_does_not_stop_it() {
        let server = MetricsServer::bind("127.0.0.1:0").unwrap();
        server.set("up 1\n");
        let silent = TcpStream::connect(server.address()).unwrap();
        let start = Instant::now();
        assert!(ask(&server, "GET /metrics HTTP/1.1\r\n\r\n").ends_with("up 1\n"));
        assert!(start.elapsed() < 10 * DEADLINE);
        drop(silent);
        let address = server.address();
        drop(server);
        assert!(TcpStream::connect(address).is_err());
    }
}
