//! Messages of MPI jobs and of parallel I/O that share a network (TCD, SIGCOMM'21, section 5.2.2).
//!
//! ```text
//!   rack:  H H H H | H H H H      some hosts of every rack: I/O servers
//!          s s s s   c m m m      a share of all hosts, none of them a server: I/O clients
//!                                 the rest: MPI, clients and servers alike
//!
//!   I/O:  client -> any I/O server      512 KiB, 1, 2 or 4 MiB, each equally likely        one message in ten
//!   MPI:  client -> any other of MPI    2, 4, 8, 16 or 32 KiB, each half as likely as the previous one
//! ```
//!
//! Clients of a kind send equally many messages, as Poisson processes. The paper's KB and MB are
//! read as KiB and MiB: they are powers of two. It says that more than half of the MPI messages
//! have 2 KB, and no more of the law; with halves the share is 16/31 = 51.6 % and the mean 160/31
//! KiB.
//!
//! In the paper several I/O messages share a connection and go in order. A flow here knows of no
//! connection: every message is a flow of its own with its own rate, and messages of one pair may
//! overlap. They share their ports, so that a hash sends them the same way.

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::{Bytes, NodeId};

use crate::workload::arrivals::{End, Poisson};
use crate::workload::destinations::Destinations;
use crate::workload::flow::{DST_PORT, FIRST_SRC_PORT};
use crate::workload::random::{Purpose, entity, stream, uniform};
use crate::workload::{Context, Flow, Generated, SizeCdf, select};
use rand_core::Rng;

const SOURCE: &str = "TCD section 5.2.2";

/// Declared keys, with defaults and sources.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::required(
        "load",
        Kind::Float,
        "Load of the busiest client's link, payload over link rate; 0.5 is 50 %.",
    ),
    ParamSpec::optional(
        "duration",
        Kind::Span,
        "Time after `start` during which messages start. Give this, `messages`, or both.",
        "",
    ),
    ParamSpec::optional(
        "messages",
        Kind::Count,
        "Only this many messages start, the first ones of all hosts together.",
        "TCD section 5.2.2: 80000",
    ),
    ParamSpec::new(
        "io_share",
        Kind::Float,
        "0.1",
        "Share of the messages that are I/O, 0 to 1.",
        SOURCE,
    ),
    ParamSpec::new(
        "io_sizes",
        Kind::Texts,
        "512KiB\n1MiB\n2MiB\n4MiB",
        "Payloads of I/O messages, each equally likely.",
        "TCD section 5.2.2, read as powers of two",
    ),
    ParamSpec::new(
        "mpi_size_min",
        Kind::Bytes,
        "2KiB",
        "Smallest payload of an MPI message.",
        SOURCE,
    ),
    ParamSpec::new(
        "mpi_size_max",
        Kind::Bytes,
        "32KiB",
        "Sizes double from the smallest up to this one.",
        SOURCE,
    ),
    ParamSpec::new(
        "mpi_ratio",
        Kind::Float,
        "0.5",
        "Probability of each MPI size relative to the previous one, 0 to 1.",
        "TCD section 5.2.2: over 50 % have 2 KB; 0.5 gives 51.6 %",
    ),
    select::HOSTS,
    ParamSpec::new(
        "io_servers_per_rack",
        Kind::Count,
        "4",
        "I/O servers in each rack, chosen at random.",
        SOURCE,
    ),
    ParamSpec::new(
        "io_clients_share",
        Kind::Float,
        "0.25",
        "Share of all hosts that are I/O clients, chosen at random, 0 to 1.",
        SOURCE,
    ),
    ParamSpec::optional(
        "io_servers",
        Kind::Texts,
        "I/O servers by name; absent: by `io_servers_per_rack`.",
        "",
    ),
    ParamSpec::optional(
        "io_clients",
        Kind::Texts,
        "I/O clients by name; absent: by `io_clients_share`.",
        "",
    ),
    ParamSpec::optional(
        "mpi_clients",
        Kind::Texts,
        "Hosts that send MPI messages; absent: hosts that take no part in I/O.",
        "",
    ),
    ParamSpec::optional(
        "mpi_servers",
        Kind::Texts,
        "Hosts that receive MPI messages; absent: the MPI clients.",
        "",
    ),
    select::START,
    select::PRIORITY,
];

/// One kind of message.
struct Class {
    /// Share of all messages.
    share: f64,
    /// Senders, ascending.
    clients: Vec<NodeId>,
    /// Receivers, ascending.
    servers: Vec<NodeId>,
    sizes: SizeCdf,
}

/// Messages by host, each host's in order of time.
pub fn generate(v: &mut dyn Values, cx: &Context) -> Result<Generated, ParamError> {
    let load = v.float("load")?;
    if load <= 0.0 {
        return Err(ParamError::new(
            "load",
            format!("{load} is not a load"),
            "give a number above 0, such as 0.5 for 50 %",
        ));
    }
    let end = End::read(v, "messages", "message")?;
    let mut out = Generated::default();
    let [io, mpi] = classes(v, cx, &mut out.notes)?;
    let among = |class: &Class, key| {
        Destinations::among(cx.topo, &class.clients, &class.servers, false)
            .map_err(|alone| select::no_destination(key, cx.topo, alone))
    };
    let io_dsts = (io.share > 0.0).then(|| among(&io, "io_servers")).transpose()?;
    let mpi_dsts = (mpi.share > 0.0).then(|| among(&mpi, "mpi_servers")).transpose()?;
    let (start, priority) = (select::start(v)?, select::priority(v)?);

    // Bytes of each host, as a part of one message of all hosts together: I/O, MPI.
    let mut hosts: Vec<NodeId> = [&io, &mpi]
        .iter()
        .filter(|c| c.share > 0.0)
        .flat_map(|c| c.clients.iter().copied())
        .collect();
    hosts.sort_unstable();
    hosts.dedup();
    let part = |class: &Class, h| {
        if class.clients.binary_search(&h).is_ok() {
            class.share / class.clients.len() as f64
        } else {
            0.0
        }
    };
    let parts: Vec<(f64, f64)> = hosts.iter().map(|&h| (part(&io, h), part(&mpi, h))).collect();
    // Time that a host's part takes on its link [ps per message of all hosts together].
    let time = |h, bytes: f64| bytes * 8e12 / select::link_rate(cx.topo, h).as_f64();
    let sent = hosts
        .iter()
        .zip(&parts)
        .map(|(&h, (a, b))| time(h, a * io.sizes.mean() + b * mpi.sizes.mean()));
    let busiest = sent.fold(0.0, f64::max);
    // Messages of all hosts together [1/ps].
    let rate = load / busiest;
    end.check("messages", rate, 1)?;
    notes(load, rate, &[&io, &mpi], &time, &mut out.notes);

    let who = |h| entity(cx.topo.name(h));
    let arrivals = |(&h, (a, b)): (&NodeId, &(f64, f64))| {
        Poisson::new(1.0 / (rate * (a + b)), stream(cx.seed, who(h), Purpose::Arrival.of(cx.label)))
    };
    let arrival_times = end.cut(hosts.iter().zip(&parts).map(arrivals).collect());
    for ((&src, &(a, b)), arrival_times) in hosts.iter().zip(&parts).zip(arrival_times) {
        let of = |purpose: Purpose| stream(cx.seed, who(src), purpose.of(cx.label));
        let (mut kind, mut size, mut to) =
            (of(Purpose::Kind), of(Purpose::Size), of(Purpose::Destination));
        for at in arrival_times {
            let is_io = uniform(&mut kind) < a / (a + b);
            let (class, dsts) = if is_io { (&io, &io_dsts) } else { (&mpi, &mpi_dsts) };
            out.flows.push(Flow {
                src,
                dst: dsts.as_ref().expect("a kind with a client has servers").pick(src, &mut to),
                priority,
                size: class.sizes.sample(&mut size),
                start: start + at,
                rate: None,
                controlled: true,
                src_port: FIRST_SRC_PORT,
                dst_port: DST_PORT,
                path: None,
                label: cx.label,
            });
        }
    }
    Ok(out)
}

/// Warns if the load of links exceeds their rate. `time`: time of a number of bytes on a host's
/// link [ps].
fn notes(
    load: f64,
    rate: f64,
    classes: &[&Class],
    time: &dyn Fn(NodeId, f64) -> f64,
    notes: &mut Vec<String>,
) {
    if load > 1.0 {
        notes.push(format!(
            "load {load} is more than the clients' links can carry: messages pile up in the hosts"
        ));
    }
    let mut servers: Vec<NodeId> = classes.iter().flat_map(|c| c.servers.iter().copied()).collect();
    servers.sort_unstable();
    servers.dedup();
    let received = |h| {
        let of = |c: &&&Class| c.servers.binary_search(&h).is_ok() && c.share > 0.0;
        let bytes: f64 = classes
            .iter()
            .filter(of)
            .map(|c| c.share * c.sizes.mean() / c.servers.len() as f64)
            .sum();
        rate * time(h, bytes)
    };
    let worst = servers.into_iter().map(received).fold(0.0, f64::max);
    if worst > 1.0 {
        notes.push(format!("the load of the busiest receiver is {worst:.2} times the rate of its link: messages pile up in the network"));
    }
}

/// I/O and MPI.
fn classes(
    v: &mut dyn Values,
    cx: &Context,
    notes: &mut Vec<String>,
) -> Result<[Class; 2], ParamError> {
    let io_share = share(v, "io_share")?;
    let mut io =
        Class { share: io_share, clients: Vec::new(), servers: Vec::new(), sizes: io_sizes(v)? };
    let mut mpi = Class {
        share: 1.0 - io_share,
        clients: Vec::new(),
        servers: Vec::new(),
        sizes: mpi_sizes(v)?,
    };
    let mut named = |key| -> Result<Option<Vec<NodeId>>, ParamError> {
        let Some(mut hosts) = select::named_hosts(v, key, cx.topo)? else { return Ok(None) };
        select::connected(key, cx.topo, &hosts)?;
        hosts.sort_unstable();
        Ok(Some(hosts))
    };
    let (io_servers, io_clients) = (named("io_servers")?, named("io_clients")?);
    let (mpi_clients, mpi_servers) = (named("mpi_clients")?, named("mpi_servers")?);
    // Two draws a host, so that the choice of servers does not lean on that of clients.
    let mut rest: Vec<(u64, u64, NodeId)> = select::participants(v, cx.topo, notes)?
        .into_iter()
        .map(|h| {
            let mut rng = stream(cx.seed, entity(cx.topo.name(h)), Purpose::Order.of(cx.label));
            (rng.next_u64(), rng.next_u64(), h)
        })
        .collect();
    let all = rest.len();
    if io_share > 0.0 {
        io.servers = match io_servers {
            Some(named) => named,
            None => per_rack(v, cx, &mut rest)?,
        };
        rest.retain(|(.., h)| io.servers.binary_search(h).is_err());
        io.clients = match io_clients {
            Some(named) => named,
            None => {
                let n = (share(v, "io_clients_share")? * all as f64 + 0.5) as usize;
                if n == 0 || n > rest.len() {
                    let what = format!(
                        "{n} I/O clients, but {} of {all} hosts are not I/O servers",
                        rest.len()
                    );
                    return Err(ParamError::new(
                        "io_clients_share",
                        what,
                        "give another share, fewer servers per rack, or name the clients",
                    ));
                }
                rest.sort_unstable_by_key(|&(_, draw, h)| (draw, h));
                let mut clients: Vec<NodeId> = rest[..n].iter().map(|&(.., h)| h).collect();
                clients.sort_unstable();
                clients
            }
        };
        rest.retain(|(.., h)| io.clients.binary_search(h).is_err());
    }
    if io_share < 1.0 {
        let mut others: Vec<NodeId> = rest.into_iter().map(|(.., h)| h).collect();
        others.sort_unstable();
        mpi.clients = mpi_clients.unwrap_or(others);
        mpi.servers = mpi_servers.unwrap_or_else(|| mpi.clients.clone());
        if mpi.clients.is_empty() {
            return Err(ParamError::new(
                "mpi_clients",
                "every host takes part in I/O",
                "name hosts, lower io_clients_share, or set io_share = 1",
            ));
        }
    }
    Ok([io, mpi])
}

/// The I/O servers: in every rack the hosts with the lowest first draws.
fn per_rack(
    v: &mut dyn Values,
    cx: &Context,
    hosts: &mut [(u64, u64, NodeId)],
) -> Result<Vec<NodeId>, ParamError> {
    let n = v.count("io_servers_per_rack")?;
    let key = "io_servers_per_rack";
    if n == 0 {
        return Err(ParamError::new(
            key,
            "the number of I/O servers is 0",
            "give a number above 0, name io_servers, or set io_share = 0",
        ));
    }
    let rack = |h: NodeId| cx.topo.nodes[h.index()].rack;
    hosts.sort_unstable_by_key(|&(draw, _, h)| (rack(h), draw, h));
    let mut servers = Vec::new();
    for members in hosts.chunk_by(|a, b| rack(a.2) == rack(b.2)) {
        if n > members.len() as u64 {
            let first = members.iter().map(|m| m.2).min().expect("a rack has hosts");
            let what = format!(
                "{n} servers, but the rack of '{}' has {} hosts",
                cx.topo.name(first),
                members.len()
            );
            return Err(ParamError::new(key, what, "give a smaller number, or name io_servers"));
        }
        servers.extend(members[..n as usize].iter().map(|m| m.2));
    }
    servers.sort_unstable();
    Ok(servers)
}

fn share(v: &mut dyn Values, key: &str) -> Result<f64, ParamError> {
    let share = v.float(key)?;
    if !(0.0..=1.0).contains(&share) {
        return Err(ParamError::new(key, format!("{share} is not a share"), "expected 0 to 1"));
    }
    Ok(share)
}

fn io_sizes(v: &mut dyn Values) -> Result<SizeCdf, ParamError> {
    let key = "io_sizes";
    let mut sizes = Vec::new();
    for text in v.texts(key)? {
        match text.parse::<Bytes>().map_err(|e| ParamError::unit(key, &e))? {
            Bytes::ZERO => {
                return Err(ParamError::new(key, "a message of 0 bytes", "give at least 1 B"));
            }
            Bytes(size) => sizes.push((size, 1.0)),
        }
    }
    sizes.sort_unstable_by_key(|s| s.0);
    SizeCdf::weighted(&sizes)
        .map_err(|_| ParamError::new(key, "missing", "give at least one size, such as [\"1MiB\"]"))
}

fn mpi_sizes(v: &mut dyn Values) -> Result<SizeCdf, ParamError> {
    let (min, max, ratio) =
        (v.bytes("mpi_size_min")?, v.bytes("mpi_size_max")?, share(v, "mpi_ratio")?);
    if min == Bytes::ZERO {
        return Err(ParamError::new("mpi_size_min", "a message of 0 bytes", "give at least 1 B"));
    }
    if max < min {
        return Err(ParamError::new(
            "mpi_size_max",
            format!("{max} is below the smallest, {min}"),
            "give a larger size",
        ));
    }
    let (mut sizes, mut weight) = (Vec::new(), 1.0);
    let mut size = Some(min.0);
    while let Some(s) = size.filter(|&s| s <= max.0) {
        sizes.push((s, weight));
        weight *= ratio;
        size = s.checked_mul(2);
    }
    Ok(SizeCdf::weighted(&sizes).expect("sizes grow and the first has weight 1"))
}
