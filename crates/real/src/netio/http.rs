//! A small HTTP server: one thread and a bounded number of connections, each with a deadline; one
//! too many ends the oldest, so that silent ones delay no other. The small HTTP servers there are
//! take a thread for each connection, without a bound; here only the request's head is parsed by a
//! crate.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Time for one connection, from its beginning to its end; that in which an answer is made is
/// added.
pub(crate) const DEADLINE: Duration = Duration::from_secs(2);
/// Most connections at a time.
const CONNECTIONS_MAX: usize = 64;
/// Longest request [bytes].
pub(crate) const REQUEST_MAX: usize = 8192;
/// Most header lines of a request.
pub(crate) const HEADERS_MAX: usize = 64;

/// A GET request.
pub struct HttpRequest<'a> {
    /// Before the `?`.
    pub path: &'a str,
    /// After the `?`, as it was sent; empty: none.
    pub query: &'a str,
    /// The header `Host`.
    pub host: Option<&'a str>,
    /// A browser sent it for the page of another origin (`Origin`, `Sec-Fetch-Site`).
    pub is_foreign: bool,
}

/// An answer to a request.
pub struct HttpAnswer {
    /// Status line, such as `200 OK`.
    pub status: &'static str,
    /// Content type.
    pub content: &'static str,
    /// Content.
    pub body: Arc<[u8]>,
}

impl HttpAnswer {
    /// Plain text.
    pub fn text(status: &'static str, text: impl Into<String>) -> HttpAnswer {
        HttpAnswer {
            status,
            content: "text/plain; charset=utf-8",
            body: Arc::from(text.into().into_bytes()),
        }
    }
}

/// Answers requests until it is dropped.
pub struct HttpServer {
    address: SocketAddr,
    /// Closed to stop the thread, which polls the other end.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

/// Makes answers; on the thread of the server, one at a time.
type Handler = Box<dyn FnMut(&HttpRequest) -> HttpAnswer + Send>;

impl HttpServer {
    /// Answers requests to this listener.
    ///
    /// # Errors
    /// The operating system's, of the listener or for want of resources.
    pub fn start(
        name: &str,
        listener: TcpListener,
        handler: impl FnMut(&HttpRequest) -> HttpAnswer + Send + 'static,
    ) -> io::Result<HttpServer> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, its_stop) = UnixStream::pair()?;
        let mut handler: Handler = Box::new(handler);
        let thread = thread::Builder::new()
            .name(name.into())
            .spawn(move || serve(&listener, &its_stop, &mut handler))?;
        Ok(HttpServer { address, stop: Some(stop), thread: Some(thread) })
    }

    /// Address of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// State of a connection.
enum Stage {
    /// The request is not complete.
    Reading(Vec<u8>),
    /// So many bytes of the answer are written.
    Writing(Vec<u8>, usize),
    /// All is written and the end announced; the remaining input is read off. Closed with unread
    /// bytes, a connection is reset, and the answer with it.
    Ending,
}

struct Connection {
    stream: TcpStream,
    stage: Stage,
    /// Time at which the connection is closed in any case. A slow trickle of bytes does not extend
    /// it.
    end: Instant,
}

fn serve(listener: &TcpListener, stop: &UnixStream, handler: &mut Handler) {
    let mut all: VecDeque<Connection> = VecDeque::new();
    loop {
        let mut fds = vec![PollFd::new(listener, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        fds.extend(all.iter().map(|c| PollFd::new(&c.stream, c.waits_for())));
        let left = all
            .iter()
            .map(|c| c.end)
            .min()
            .map(|end| end.saturating_duration_since(Instant::now()));
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
        // An error or the end of a client is its own affair.
        all.retain_mut(|c| {
            let ready = ready_of.next().is_some_and(|&r| r);
            c.end > now && (!ready || c.go_on(handler).unwrap_or(false))
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
                all.push_back(Connection {
                    stream,
                    stage: Stage::Reading(Vec::new()),
                    end: Instant::now() + DEADLINE,
                });
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

    /// Advances as far as possible without waiting. False: the connection is over.
    fn go_on(&mut self, handler: &mut Handler) -> io::Result<bool> {
        loop {
            match &mut self.stage {
                Stage::Reading(request) => {
                    let asked = Instant::now();
                    if let Some(answer) = answer(request, handler) {
                        self.end += asked.elapsed();
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
fn answer(request: &[u8], handler: &mut Handler) -> Option<Vec<u8>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let refuse = HttpAnswer::text;
    let answer = match parsed.parse(request) {
        Ok(httparse::Status::Complete(_)) => match (parsed.method, parsed.path) {
            (Some("GET"), Some(path)) => {
                let (path, query) = path.split_once('?').unwrap_or((path, ""));
                let header = |name: &str| {
                    let given =
                        parsed.headers.iter().find(|h| h.name.eq_ignore_ascii_case(name))?;
                    Some(std::str::from_utf8(given.value).unwrap_or_default())
                };
                let host = header("host");
                let from_here =
                    |origin: &str| origin.strip_prefix("http://").is_some_and(|o| Some(o) == host);
                let is_foreign = !header("origin").is_none_or(from_here)
                    || !matches!(header("sec-fetch-site"), None | Some("same-origin" | "none"));
                handler(&HttpRequest { path, query, host, is_foreign })
            }
            _ => refuse("405 Method Not Allowed\r\nAllow: GET", "this server only accepts GET\n"),
        },
        Ok(httparse::Status::Partial) if request.len() < REQUEST_MAX => return None,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            refuse("431 Request Header Fields Too Large", "the request is too long\n")
        }
        Err(_) => refuse("400 Bad Request", "this is not HTTP\n"),
    };
    let HttpAnswer { status, content, body } = answer;
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    Some([head.as_bytes(), &body].concat())
}
