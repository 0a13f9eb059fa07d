//! The C interface: [`xoff_run::Driven`] behind the functions of `include/xoff.h`, which documents
//! each of them.
//!
//! `NULL` in place of a network is a failure, and a panic ends as one too: nothing unwinds into the
//! caller, and the network is of no use then.

#![allow(unsafe_code, reason = "pointers of C callers")]

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr::null_mut;

use xoff_record::verdict::Conclusion;
use xoff_run::{Driven, Message, Receive, What};
use xoff_units::params::ParamError;
use xoff_units::{NodeId, Rate, Span, Time};

/// Version of this interface, `XOFF_ABI` of the header.
pub const ABI: u32 = 1;
/// Latest time of a wait or timer [ps], 106 days, so that later times can still be told apart.
const LAST: u64 = i64::MAX as u64;
/// A message with a queue pair of its own, `XOFF_OWN_PAIR`.
const OWN_PAIR: u32 = u32::MAX;

/// A network.
pub struct Network {
    driven: Driven,
    error: CString,
    /// A panic has left it as it was.
    broken: bool,
}

/// Event, `xoff_event`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Time [ps].
    pub time_ps: u64,
    /// Number of the message or the timer.
    pub id: u64,
    /// Tag.
    pub tag: u64,
    /// 1: sent, 2: delivered, 3: timer, 4: deadlock, 5: acknowledged, 6: received.
    pub what: u32,
    /// Zero.
    pub reserved: u32,
}

thread_local! {
    /// Reason why the last `xoff_new` failed.
    static REFUSED: RefCell<CString> = RefCell::default();
}

fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// A text of the caller; `None`: `NULL`.
///
/// # Safety
/// `text` is `NULL` or ends with a zero byte, and stays as it is during the call.
unsafe fn text<'a>(text: *const c_char) -> Option<Result<&'a str, String>> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not NULL; the rest is the caller's promise.
    let bytes = unsafe { CStr::from_ptr(text) };
    Some(bytes.to_str().map_err(|e| format!("the text is not UTF-8: {e}")))
}

/// Calls `act` with a network; notes the reason of a failure, of a panic too.
///
/// # Safety
/// `net` is `NULL` or comes from [`xoff_new`], was not freed, and no other thread uses it.
unsafe fn with<T>(
    net: *mut Network,
    act: impl FnOnce(&mut Driven) -> Result<T, String>,
) -> Option<T> {
    // SAFETY: the caller's promise.
    let net = unsafe { net.as_mut() }?;
    if net.broken {
        return None;
    }
    let driven = &mut net.driven;
    match catch_unwind(AssertUnwindSafe(|| act(driven))) {
        Ok(Ok(value)) => Some(value),
        Ok(Err(why)) => {
            net.error = c_text(&why);
            None
        }
        Err(_) => {
            net.broken = true;
            net.error = c_text("internal error in xoff: the network is no longer usable");
            None
        }
    }
}

fn words(e: ParamError) -> String {
    format!("{}: {} ({})", e.key, e.what, e.hint)
}

/// Refuses a time beyond [`LAST`].
fn within_reach(argument: &str, at: u64) -> Result<(), String> {
    if at > LAST {
        return Err(format!("{argument}: the time is {at} ps (expected at most 2^63 - 1)"));
    }
    Ok(())
}

/// `xoff_abi`.
#[unsafe(no_mangle)]
pub extern "C" fn xoff_abi() -> u32 {
    ABI
}

/// `xoff_new`.
///
/// # Safety
/// Both texts are `NULL` or end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_new(
    scenario: *const c_char,
    folder: *const c_char,
    priorities: u8,
) -> *mut Network {
    // SAFETY: the caller's promise.
    let (scenario, folder) = unsafe { (text(scenario), text(folder)) };
    let make = || -> Result<Driven, String> {
        let scenario = scenario.ok_or("the scenario is NULL")??;
        let folder = folder.unwrap_or(Ok("."))?;
        let priorities: Vec<u8> = (0..8).filter(|p| priorities >> p & 1 == 1).collect();
        Driven::new("scenario", scenario, &[], Path::new(folder), &priorities)
            .map_err(|e| e.to_string())
    };
    let made = catch_unwind(make).unwrap_or_else(|_| Err("internal error in xoff".into()));
    let (net, error) = match made {
        Ok(driven) => (
            Box::into_raw(Box::new(Network { driven, error: CString::default(), broken: false })),
            CString::default(),
        ),
        Err(why) => (null_mut(), c_text(&why)),
    };
    REFUSED.set(error);
    net
}

/// `xoff_free`.
///
/// # Safety
/// `net` is `NULL` or comes from [`xoff_new`] and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_free(net: *mut Network) {
    if !net.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(net) });
    }
}

/// `xoff_error`.
///
/// # Safety
/// `net` is `NULL` or comes from [`xoff_new`] and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_error(net: *const Network) -> *const c_char {
    // SAFETY: the caller's promise.
    match unsafe { net.as_ref() } {
        Some(net) => net.error.as_ptr(),
        None => REFUSED.with_borrow(|error| error.as_ptr()),
    }
}

/// `xoff_host`.
///
/// # Safety
/// `net` is `NULL` or comes from [`xoff_new`] and was not freed; `name` is `NULL` or ends with a
/// zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_host(net: *const Network, name: *const c_char) -> i64 {
    // SAFETY: the caller's promise.
    let (net, name) = unsafe { (net.as_ref(), text(name)) };
    let Some((net, Ok(name))) = net.zip(name) else { return -1 };
    net.driven.host(name).map_or(-1, |host| host.0.into())
}

/// `xoff_hosts`.
///
/// # Safety
/// `net` is `NULL` or comes from [`xoff_new`] and was not freed; `numbers` has room for `room`
/// numbers, or is `NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_hosts(net: *const Network, numbers: *mut u32, room: usize) -> usize {
    // SAFETY: the caller's promise.
    let Some(net) = (unsafe { net.as_ref() }) else { return 0 };
    let mut count = 0;
    for host in net.driven.hosts() {
        if count < room && !numbers.is_null() {
            // SAFETY: below the room that the caller has promised.
            unsafe { numbers.add(count).write(host.0) };
        }
        count += 1;
    }
    count
}

/// `xoff_now`.
///
/// # Safety
/// `net` is `NULL` or comes from [`xoff_new`] and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_now(net: *const Network) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { net.as_ref() }.map_or(0, |net| net.driven.now().0)
}

/// `xoff_lost_frames`.
///
/// # Safety
/// `net` is `NULL` or comes from [`xoff_new`] and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_lost_frames(net: *const Network) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { net.as_ref() }.map_or(0, |net| net.driven.lost_frames())
}

/// `xoff_send`.
///
/// # Safety
/// `net` is `NULL` or comes from [`xoff_new`], was not freed, and no other thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_send(
    net: *mut Network,
    src: u32,
    dst: u32,
    bytes: u64,
    priority: u8,
    queue_pair: u32,
    tag: u64,
) -> i64 {
    let send = |driven: &mut Driven| {
        let queue_pair = match queue_pair {
            OWN_PAIR => None,
            pair => Some(u16::try_from(pair).map_err(|_| {
                format!("queue_pair: {pair} (expected 0 to 65535, or XOFF_OWN_PAIR)")
            })?),
        };
        let message =
            Message { src: NodeId(src), dst: NodeId(dst), bytes, priority, queue_pair, tag };
        driven.send(&message).map_err(words)
    };
    // SAFETY: the caller's promise.
    unsafe { with(net, send) }.map_or(-1, |id| id as i64)
}

/// `xoff_enable`.
///
/// # Safety
/// As [`xoff_send`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_enable(net: *mut Network, what: u32) -> c_int {
    // SAFETY: the caller's promise.
    let enabled = unsafe {
        with(net, |driven| match what {
            5 => driven.report_acknowledged().map_err(words),
            6 => driven.match_receives().map_err(words),
            _ => Err(format!("what: {what} (expected XOFF_ACKNOWLEDGED or XOFF_RECEIVED)")),
        })
    };
    enabled.map_or(-1, |()| 0)
}

/// `xoff_recv`.
///
/// # Safety
/// As [`xoff_send`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_recv(
    net: *mut Network,
    dst: u32,
    src: u32,
    tag: u64,
    bytes: u64,
    token: u64,
) -> i64 {
    let receive = Receive { dst: NodeId(dst), src: NodeId(src), tag, bytes, token };
    // SAFETY: the caller's promise.
    unsafe { with(net, |driven| driven.receive(&receive).map_err(words)) }
        .map_or(-1, |id| id as i64)
}

/// `xoff_host_rate`.
///
/// # Safety
/// As [`xoff_send`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_host_rate(net: *mut Network, host: u32) -> i64 {
    // SAFETY: the caller's promise.
    unsafe { with(net, |driven| driven.host_rate(NodeId(host)).map_err(words)) }
        .map_or(-1, |rate| i64::try_from(rate.0).unwrap_or(i64::MAX))
}

/// `xoff_fail_link`.
///
/// # Safety
/// As [`xoff_send`]; `link` is `NULL` or ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_fail_link(net: *mut Network, link: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let link = text(link);
        with(net, |driven| {
            driven.fail_link(link.ok_or("link: NULL (expected a name, `A1-C1`)")??).map_err(words)
        })
    }
    .map_or(-1, |()| 0)
}

/// `xoff_set_rate`.
///
/// # Safety
/// As [`xoff_fail_link`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_set_rate(
    net: *mut Network,
    link: *const c_char,
    bits_per_second: u64,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let link = text(link);
        with(net, |driven| {
            let link = link.ok_or("link: NULL (expected a name, `A1-C1`)")??;
            driven.set_rate(link, Rate(bits_per_second)).map_err(words)
        })
    }
    .map_or(-1, |()| 0)
}

/// `xoff_finish`.
///
/// # Safety
/// As [`xoff_send`]; `folder` is `NULL` or ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_finish(net: *mut Network, folder: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let folder = text(folder);
        with(net, |driven| {
            let folder = folder.ok_or("folder: NULL (expected a path)")??;
            let report = |s: &_, f: &_| Some(xoff_report::view::of_network(s, f, folder));
            let finished = driven.finish(Path::new(folder), report).map_err(|e| e.to_string())?;
            let verdict = finished.manifest.verdict.as_ref();
            let yes = verdict.is_some_and(|v| v.conclusion(&[]) == Conclusion::Yes);
            Ok(c_int::from(!yes))
        })
    }
    .unwrap_or(-1)
}

/// `xoff_schedule`.
///
/// # Safety
/// As [`xoff_send`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_schedule(net: *mut Network, after_ps: u64, tag: u64) -> i64 {
    // SAFETY: the caller's promise.
    unsafe {
        with(net, |driven| {
            let at = driven.now().0.saturating_add(after_ps);
            within_reach("after_ps", at)?;
            Ok(driven.schedule(Span(after_ps), tag))
        })
    }
    .map_or(-1, |id| id as i64)
}

/// `xoff_next`.
///
/// # Safety
/// As [`xoff_send`]; `event` is `NULL` or has room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_next(net: *mut Network, until_ps: u64, event: *mut Event) -> c_int {
    // SAFETY: the caller's promise.
    let next = unsafe {
        with(net, |driven| {
            if Time(until_ps) != Time::NEVER {
                within_reach("until_ps", until_ps)?;
            }
            Ok(driven.next(Time(until_ps)))
        })
    };
    let Some(next) = next else { return -1 };
    let Some(h) = next else { return 0 };
    let what = match h.what {
        What::Sent => 1,
        What::Delivered => 2,
        What::Timer => 3,
        What::Deadlock => 4,
        What::Acknowledged => 5,
        What::Received => 6,
    };
    if !event.is_null() {
        // SAFETY: the caller's promise.
        unsafe { event.write(Event { time_ps: h.at.0, id: h.id, tag: h.tag, what, reserved: 0 }) };
    }
    1
}
