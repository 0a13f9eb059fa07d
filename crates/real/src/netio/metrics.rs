//! Numbers for Prometheus: a text that the program sets, served over HTTP at /metrics.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};

use crate::netio::http::{HttpAnswer, HttpServer};

/// Serves a text at `http://address/metrics` until it is dropped.
pub struct MetricsServer {
    server: HttpServer,
    text: Arc<Mutex<Arc<[u8]>>>,
}

impl MetricsServer {
    /// Listens at an address; port 0 takes any that is free ([`MetricsServer::address`]). The text
    /// is empty until it is set.
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<MetricsServer> {
        let text = Arc::new(Mutex::new(Arc::<[u8]>::from([])));
        let its_text = text.clone();
        let server =
            HttpServer::start(
                "metrics",
                TcpListener::bind(address)?,
                move |request| match request.path {
                    "/metrics" => HttpAnswer {
                        status: "200 OK",
                        content: "text/plain; version=0.0.4; charset=utf-8",
                        body: its_text.lock().unwrap_or_else(PoisonError::into_inner).clone(),
                    },
                    "/" => HttpAnswer::text("200 OK", "xoff: the counters are at /metrics\n"),
                    _ => HttpAnswer::text("404 Not Found", "the only page is /metrics\n"),
                },
            )?;
        Ok(MetricsServer { server, text })
    }

    /// Address of the server.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The text from now on, in Prometheus' exposition format (version 0.0.4).
    pub fn set(&self, text: impl Into<String>) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) =
            Arc::from(text.into().into_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Instant;

    use super::*;
    use crate::netio::http::{DEADLINE, HEADERS_MAX, REQUEST_MAX};

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
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n")
                && answer.contains("text/plain; version=0.0.4"),
            "{answer}"
        );
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
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status} ")) && !answer.contains("secret"),
                "{request:.40}: {answer}"
            );
        }
    }

    #[test]
    fn the_root_shows_where_the_counters_are() {
        let server = MetricsServer::bind("127.0.0.1:0").unwrap();
        let answer = ask(&server, "GET / HTTP/1.1\r\n\r\n");
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("/metrics"),
            "{answer}"
        );
    }

    /// Clients that send nothing delay no other, many as they are; and the server ends when it is
    /// dropped. (One at a time, each of them cost the next one two seconds.)
    #[test]
    fn silent_clients_do_not_stop_it() {
        let server = MetricsServer::bind("127.0.0.1:0").unwrap();
        let text = "up 1\n".repeat(100_000);
        server.set(text.clone());
        // As many as the kernel queues and the server keeps, and more.
        let silent: Vec<_> =
            (0..500).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
        let start = Instant::now();
        assert!(ask(&server, "GET /metrics HTTP/1.1\r\n\r\n").ends_with(&text));
        assert!(start.elapsed() < DEADLINE / 2, "{:?}", start.elapsed());
        drop(silent);
        let address = server.address();
        drop(server);
        assert!(TcpStream::connect(address).is_err());
    }
}
