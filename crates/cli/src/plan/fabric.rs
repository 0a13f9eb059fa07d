//! `xoff plan sonic:configs/`: every lossless port of a fabric against its present settings.
//!
//! ```text
//!   port: rate, cable, MTU, priorities --plan()--> headroom H and thresholds --+-- below the exact rule: loses frames
//!   port: profile as configured ---------------------------------------------- +-- below H: below a standard's row
//!                                                                              +-- else: kept
//! ```

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use xoff_analysis::plan::{Answer as PlanAnswer, Plan, PlanInput, plan};
use xoff_net::topology::NodeKind;
use xoff_scenario::import::{End, Network, Profile, Wire};
use xoff_scenario::{Problem, Problems};
use xoff_units::{Bytes, Length, Rate, Span};

use super::Args;
use crate::answer::{Answer, Exit};
use crate::terminal::{self, counted};

/// SONiC's largest frame of a port, which a pause may have to wait for.
const MTU: Bytes = Bytes(9_100);
/// Use of the numbers.
const SET: &str = "headroom of each lossless priority (SONiC: xoff, which is headroom, not the threshold); keep a larger value";

/// One lossless port.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "PlannedPort")]
pub struct Row {
    /// Switch.
    pub switch: String,
    /// Name; the peer's where the format has none.
    pub port: String,
    /// The node behind it.
    pub peer: String,
    /// Rate of the link [bit/s].
    #[serde(rename = "rate_bps", serialize_with = "rate")]
    #[schemars(with = "u64")]
    pub rate: Rate,
    /// As written, or the delay.
    pub cable: String,
    /// Lossless priorities.
    pub priorities: Vec<u8>,
    /// Largest frame of both ends [bytes].
    #[serde(rename = "mtu_bytes", serialize_with = "bytes")]
    #[schemars(with = "u64")]
    pub mtu: Bytes,
    /// Value of the plan: the safe headroom of one priority [bytes].
    #[serde(rename = "headroom_bytes", serialize_with = "bytes")]
    #[schemars(with = "u64")]
    pub headroom: Bytes,
    /// The exact rule: below it frames are lost in the worst case [bytes].
    #[serde(rename = "lossless_bytes", serialize_with = "bytes")]
    #[schemars(with = "u64")]
    pub least: Bytes,
    /// The least of today's profiles [bytes]; null: the files have none.
    #[serde(rename = "headroom_today_bytes")]
    pub today: Option<u64>,
    /// Occupancy at or below which the peer is resumed: today's, or the distance of XON to XOFF if
    /// that is more [bytes].
    #[serde(rename = "xon_bytes", serialize_with = "bytes")]
    #[schemars(with = "u64")]
    pub xon: Bytes,
    /// Verdict on today's setting.
    pub verdict: Verdict,
    /// The profile of today with the least headroom, whose kind of threshold and of `size` a new
    /// one keeps.
    #[serde(skip)]
    pub profile: Option<Profile>,
}

fn rate<S: Serializer>(rate: &Rate, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_u64(rate.0)
}

fn bytes<S: Serializer>(bytes: &Bytes, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_u64(bytes.0)
}

/// Verdict on today's setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "PlannedVerdict")]
pub enum Verdict {
    /// At least the planned value.
    Enough,
    /// No frame is lost if peers react in time; less than the plan sets.
    BelowStandard,
    /// Frames are lost in the worst case.
    LosesFrames,
    /// PFC without a lossless profile: frames are lost.
    NotSet,
    /// The files have no settings.
    Unknown,
}

impl Verdict {
    fn words(self) -> &'static str {
        match self {
            Verdict::Enough => "enough",
            Verdict::BelowStandard => "below the plan",
            Verdict::LosesFrames => "loses frames in the worst case",
            Verdict::NotSet => "no lossless profile: loses frames",
            Verdict::Unknown => "not in the files",
        }
    }
}

/// Lossless ports of a fabric, compared with their settings today.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "PlanFabric")]
pub struct Json<'a> {
    /// The answer in a line.
    headline: &'a str,
    /// `yes`: today's settings lose no frames, and there is no warning.
    answer: &'static str,
    /// The key to set.
    set: &'a str,
    /// Reason for these numbers.
    why: &'a str,
    /// Conditions for these values that xoff cannot check.
    check: &'a [String],
    /// Doubtful settings, one sentence each.
    warnings: &'a [String],
    /// The lossless ports.
    ports: &'a [Row],
    /// Tables of `config_db.json` for each switch, in SONiC's form; absent without --format sonic.
    #[serde(skip_serializing_if = "Option::is_none")]
    sonic: Option<BTreeMap<String, serde_json::Value>>,
}

/// Plans a fabric.
pub fn run(args: &Args, text: &str) -> Result<Answer, Problems> {
    let Some(network) = crate::import::short(text) else {
        let formats: Vec<&str> = xoff_scenario::import::FORMATS.iter().map(|f| f.name).collect();
        let problem = xoff_scenario::import::unknown_format(text, "plan").unwrap_or_else(|| {
            Problem::new(
                format!("'{text}' is not a network"),
                format!("expected FORMAT:FILES; formats: {}", formats.join(", ")),
            )
        });
        return Err(problem.at(terminal::option("--network", text)).into());
    };
    let network = network?;
    let (rows, first) = rows(args, &network)?;
    let Some(plan) = first else {
        return Err(Problem::new(
            "no switch has a lossless port",
            "PFC is on for no priority (PORT_QOS_MAP, pfc_enable)",
        )
        .into());
    };
    let mut warnings = warnings(&rows);
    let full = pools(&network, &rows);
    let loses =
        rows.iter().filter(|r| matches!(r.verdict, Verdict::LosesFrames | Verdict::NotSet)).count()
            as u64;
    let below = rows.iter().filter(|r| r.verdict == Verdict::BelowStandard).count() as u64;
    let known = rows.iter().any(|r| r.verdict != Verdict::Unknown);
    let of = counted(rows.len() as u64, "lossless port");
    let mut headline = match (loses, below) {
        _ if !known => format!("{of}: the files have no buffer settings to compare with."),
        _ if rows.iter().all(|r| r.verdict == Verdict::NotSet) => {
            format!(
                "{of}: the configuration has no buffer profile for them, so there is no lossless headroom to judge."
            )
        }
        (0, 0) => format!("{of}: today's headroom is enough on all of them."),
        (0, n) => format!(
            "{of}: no frame is lost if peers react within t_r, but {n} have less headroom than planned."
        ),
        (n, 0) => {
            format!("{of}: today's configuration loses frames on {n} of them in the worst case.")
        }
        (n, b) => {
            format!(
                "{of}: today's configuration loses frames on {n} of them in the worst case; {b} more have less headroom than planned."
            )
        }
    };
    if !full.is_empty() {
        let plural = if full.len() == 1 { "switch" } else { "switches" };
        headline += &format!(
            " The memory of {} {plural} does not hold the headroom of all ports at once.",
            full.len()
        );
    }
    warnings.extend(full.iter().cloned());
    let why = plan.answer.why.first().cloned().unwrap_or_default();
    let sonic = args.is_sonic().then(|| super::sonic::profiles(&rows)).transpose()?;
    let bad = loses > 0 || !warnings.is_empty();
    let json = Json {
        headline: &headline,
        answer: if bad { "no" } else { "yes" },
        set: SET,
        why: &why,
        check: &plan.answer.check,
        warnings: &warnings,
        ports: &rows,
        sonic,
    };
    let text = match args.is_sonic() {
        true => super::sonic::lookup(&rows)?,
        false => words(&headline, bad, &plan.answer, (&full, &rows), args.explain),
    };
    let next = (bad && !args.is_sonic()).then(|| args.command("--format sonic"));
    Ok(Answer::new(text, &json, if bad { Exit::No } else { Exit::Done }).next(next))
}

/// Every lossless port with its plan, and the plan that needs most.
fn rows(args: &Args, network: &Network) -> Result<(Vec<Row>, Option<Plan>), Problems> {
    let mut plans: HashMap<(Rate, Span, Bytes, u64), Plan> = HashMap::new();
    let (mut rows, mut most, mut problems) = (Vec::new(), None::<(u64, Plan)>, Problems::default());
    let settings = &network.buffering.ports;
    for link in &network.links {
        for (own, other) in [(&link.a, &link.b), (&link.b, &link.a)] {
            if network.nodes[own.node].kind != NodeKind::Switch {
                continue;
            }
            let set = own.port.as_ref().and_then(|p| settings.get(&(own.node, p.clone())));
            // Where some ports have settings, those without pause nothing.
            if set.map_or(!settings.is_empty(), |s| s.pfc.is_empty()) {
                continue;
            }
            let name =
                format!("{}-{}", network.nodes[own.node].name, network.nodes[other.node].name);
            let (Some(rate), Some(wire)) = (link.rate, link.wire) else {
                let what = format!(
                    "the link {name} has no {}",
                    if link.rate.is_none() { "rate" } else { "length or delay" }
                );
                problems.push(
                    Problem::new(what, "add rate=100Gbps or length=5m after the files")
                        .at(link.place.clone()),
                );
                continue;
            };
            let priorities: Vec<u8> =
                set.map(|s| s.pfc.iter().copied().collect()).unwrap_or_default();
            // Frames come as long as the other end sends them, and one of this end may be on the
            // wire first.
            let of = |end: &End| {
                end.port
                    .as_ref()
                    .and_then(|p| settings.get(&(end.node, p.clone())))
                    .and_then(|s| s.mtu)
            };
            let ends = [of(own), of(other)];
            let mtu = ends.into_iter().flatten().max().unwrap_or(MTU);
            let key = (rate, wire.delay(), mtu, priorities.len().max(1) as u64);
            let plan = match plans.get(&key) {
                Some(plan) => plan.clone(),
                None => {
                    let own = planned(args, key).map_err(|e| args.refused(&e))?;
                    plans.insert(key, own.clone());
                    own
                }
            };
            let number = |symbol| plan.integer(symbol).map(Bytes).unwrap_or_default();
            let (headroom, least) = (number("H"), number("H worst"));
            let today = set.and_then(|s| {
                s.pfc.iter().map(|p| s.profiles.get(p).map_or(Bytes::ZERO, |f| f.headroom)).min()
            });
            let profile = set.and_then(|s| s.profiles.values().min_by_key(|f| f.headroom)).cloned();
            let xon_today =
                set.and_then(|s| s.profiles.values().map(|f| f.xon).max()).unwrap_or_default();
            let verdict = match today {
                None => Verdict::Unknown,
                Some(Bytes::ZERO) => Verdict::NotSet,
                Some(today) if today < least => Verdict::LosesFrames,
                Some(today) if today < headroom => Verdict::BelowStandard,
                Some(_) => Verdict::Enough,
            };
            let cable = match wire {
                Wire::Length(length) => length.compact(),
                Wire::Delay(delay) => delay.compact(),
            };
            if most.as_ref().is_none_or(|(h, _)| headroom.0 > *h) {
                most = Some((headroom.0, plan.clone()));
            }
            rows.push(Row {
                switch: network.nodes[own.node].name.clone(),
                port: own
                    .port
                    .clone()
                    .unwrap_or_else(|| format!("to {}", network.nodes[other.node].name)),
                peer: network.nodes[other.node].name.clone(),
                rate,
                cable,
                priorities,
                mtu,
                headroom,
                least,
                today: today.map(|t| t.0).filter(|t| *t > 0),
                xon: (number("XOFF") - number("XON")).max(xon_today),
                verdict,
                profile,
            });
        }
    }
    problems.or(())?;
    Ok((rows, most.map(|(_, plan)| plan)))
}

/// The plan of a port; values of the command line override the frame sizes of the files.
fn planned(
    args: &Args,
    (rate, delay, mtu, priorities): (Rate, Span, Bytes, u64),
) -> Result<Plan, xoff_units::params::ParamError> {
    let mut input = PlanInput::read(&mut &*args)?;
    (input.rate, input.t_w, input.priorities, input.buffer) = (rate, Some(delay), priorities, None);
    if !args.gives("mtu") {
        input.mtu = mtu;
    }
    input.mtu_other = Some(input.mtu_other.unwrap_or(mtu));
    plan(&input)
}

fn warnings(rows: &[Row]) -> Vec<String> {
    let one = |r: &Row| match (r.verdict, r.today) {
        (Verdict::LosesFrames, Some(today)) => Some(format!(
            "{} {}: {today} B of headroom lose frames in the worst case, which needs {} B; set {} B",
            r.switch, r.port, r.least.0, r.headroom.0
        )),
        (Verdict::NotSet, _) => Some(format!(
            "{} {}: PFC is on for {:?}, but no profile has headroom, so frames are lost",
            r.switch, r.port, r.priorities
        )),
        _ => None,
    };
    rows.iter().filter_map(one).collect()
}

/// Headrooms of all ports against the memory that they share.
fn pools(network: &Network, rows: &[Row]) -> Vec<String> {
    let mut found = Vec::new();
    for (&node, pool) in &network.buffering.pools {
        let name = &network.nodes[node].name;
        let of_each = |bytes: &dyn Fn(&Row) -> u64| -> u64 {
            rows.iter()
                .filter(|r| r.switch == *name)
                .map(|r| bytes(r) * r.priorities.len() as u64)
                .sum()
        };
        let headrooms = of_each(&|r| r.headroom.0.max(r.today.unwrap_or(0)));
        let reserves = of_each(&|r| r.profile.as_ref().map_or(0, |p| p.reserve().0));
        let (shared, size) = (pool.shared_headroom.0, pool.size.0);
        if shared > 0 && headrooms > shared {
            found.push(format!("{name}: shared headroom of {shared} B cannot hold the headroom of all ports, {headrooms} B"));
        }
        // Shared headroom is a part of the pool (saibuffer.h).
        let held = if shared > 0 { shared } else { headrooms };
        if held + reserves > size {
            let and =
                if reserves > 0 { format!(" and reserves {reserves} B") } else { String::new() };
            found.push(format!(
                "{name}: pool of {size} B cannot hold the headroom of all ports, {held} B{and}"
            ));
        }
    }
    found
}

/// Ports to change come first, in red.
fn words(
    headline: &str,
    bad: bool,
    answer: &PlanAnswer,
    (full, rows): (&[String], &[Row]),
    explain: bool,
) -> String {
    let head = terminal::hanging(headline, "");
    let mut out =
        if bad { terminal::bad(head.trim_end()) } else { terminal::good(head.trim_end()) };
    out.push('\n');
    for text in full {
        out += &terminal::bad(terminal::wrapped(text).trim_end());
        out.push('\n');
    }
    let fails = |r: &&Row| matches!(r.verdict, Verdict::LosesFrames | Verdict::NotSet);
    let cable = |r: &Row| {
        r.cable.parse::<Length>().map_or_else(|_| r.cable.clone(), |length| length.to_string())
    };
    let number = |b: Option<u64>| b.map_or("-".to_owned(), |b| b.to_string());
    if rows.iter().any(|r| fails(&r)) {
        let mut t = terminal::table([
            "Switch",
            "Port",
            "Peer",
            "Rate",
            "Cable",
            "Today [B]",
            "Lossless from [B]",
            "Set to [B]",
        ]);
        for r in rows.iter().filter(fails) {
            let (today, least, set) =
                (number(r.today), number(Some(r.least.0)), number(Some(r.headroom.0)));
            t.add_row([
                &r.switch,
                &r.port,
                &r.peer,
                &r.rate.to_string(),
                &cable(r),
                &today,
                &least,
                &set,
            ]);
        }
        out +=
            &format!("\nHeadroom to change:\n\n{}\n", terminal::bad(terminal::draw(&t).trim_end()));
    }
    if rows.iter().any(|r| !fails(&r)) {
        let mut t = terminal::table([
            "Switch",
            "Port",
            "Peer",
            "Rate",
            "Cable",
            "Today [B]",
            "Planned [B]",
            "Today's is",
        ]);
        for r in rows.iter().filter(|r| !fails(r)) {
            let (today, planned) = (number(r.today), number(Some(r.headroom.0)));
            t.add_row([
                &r.switch,
                &r.port,
                &r.peer,
                &r.rate.to_string(),
                &cable(r),
                &today,
                &planned,
                r.verdict.words(),
            ]);
        }
        let title = if rows.iter().any(|r| fails(&r)) { "Other ports:" } else { "Headroom:" };
        out += &format!("\n{title}\n\n{}", terminal::draw(&t));
    }
    let set = [SET.to_owned()];
    let why: &[String] = if explain { &answer.why[..answer.why.len().min(1)] } else { &[] };
    out + &super::listed(&[("Set", &set), ("Why", why), ("Check", &answer.check)])
}
