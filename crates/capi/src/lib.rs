//! The C interface: [`xoff_run::Driven`] behind the functions of `include/xoff.h`, which documents
//! each of them.
//!
//! A wrong handle is a failure: `NULL`, a network that was freed, one that another thread uses. A
//! panic ends as one too: nothing unwinds into the caller, and the network is of no use then.

#![allow(unsafe_code, reason = "pointers of C callers")]

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, UnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

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
/// Reason of every failure after a panic.
const BROKEN: &str = "internal error in xoff: the network is no longer usable";

/// A network for its caller: a pointer to it is a number in [`NETWORKS`] and no address.
pub struct Network(());

/// Networks by handle. No handle is used again, so that one of a freed network is known.
static NETWORKS: Mutex<BTreeMap<usize, Arc<Mutex<Driven>>>> = Mutex::new(BTreeMap::new());
/// The next handle.
static NEXT: AtomicUsize = AtomicUsize::new(1);

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
    /// Reasons why calls of this thread failed, by handle; 0: of `xoff_new`.
    static REFUSED: RefCell<HashMap<usize, CString>> = RefCell::default();
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

/// Notes the reason of a failure for [`xoff_error`].
fn note(handle: usize, why: &str) {
    // A thread that ends has no place for it.
    _ = REFUSED.try_with(|refused| refused.borrow_mut().insert(handle, c_text(why)));
}

/// Calls `act` with a network; notes the reason of a failure, of a panic too.
fn with<T>(net: *const Network, act: impl FnOnce(&mut Driven) -> Result<T, String>) -> Option<T> {
    let found = NETWORKS.lock().unwrap_or_else(PoisonError::into_inner).get(&net.addr()).cloned();
    let call = || {
        let driven = found.ok_or("net: NULL, freed, or no network")?;
        // A panic poisons it.
        let mut driven = driven.try_lock().map_err(|e| match e {
            TryLockError::WouldBlock => "net: another thread uses this network",
            TryLockError::Poisoned(_) => BROKEN,
        })?;
        act(&mut driven)
    };
    let result = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| Err(BROKEN.into()));
    result.map_err(|why| note(net.addr(), &why)).ok()
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
    keep(make)
}

/// A handle of a new network; `NULL`: it cannot be made, for the reason that is noted.
fn keep(make: impl FnOnce() -> Result<Driven, String> + UnwindSafe) -> *mut Network {
    let made = catch_unwind(make).unwrap_or_else(|_| Err("internal error in xoff".into()));
    note(0, made.as_ref().err().map_or("", String::as_str));
    let Ok(driven) = made else { return null_mut() };
    let handle = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut networks = NETWORKS.lock().unwrap_or_else(PoisonError::into_inner);
    networks.insert(handle, Arc::new(Mutex::new(driven)));
    without_provenance_mut(handle)
}

/// `xoff_load`.
///
/// # Safety
/// `path` is `NULL` or ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_load(path: *const c_char) -> *mut Network {
    // SAFETY: the caller's promise.
    let path = unsafe { text(path) };
    keep(|| Driven::load(Path::new(path.ok_or("path: NULL")??)).map_err(|e| e.to_string()))
}

/// `xoff_save`.
///
/// # Safety
/// As [`xoff_load`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_save(net: *mut Network, path: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let path = unsafe { text(path) };
    with(net, |driven| {
        driven.save(Path::new(path.ok_or("path: NULL")??)).map_err(|e| e.to_string())
    })
    .map_or(-1, |()| 0)
}

/// `xoff_threads`.
#[unsafe(no_mangle)]
pub extern "C" fn xoff_threads(net: *mut Network, threads: u32) -> c_int {
    with(net, |driven| driven.set_threads(threads as usize).map_err(words))
        .map_or(-1, |threads| c_int::try_from(threads).unwrap_or(c_int::MAX))
}

/// `xoff_free`.
#[unsafe(no_mangle)]
pub extern "C" fn xoff_free(net: *mut Network) {
    let mut networks = NETWORKS.lock().unwrap_or_else(PoisonError::into_inner);
    let freed = networks.remove(&net.addr());
    drop(networks);
    // A call of another thread that is under way keeps it until then.
    _ = catch_unwind(AssertUnwindSafe(|| drop(freed)));
    _ = REFUSED.try_with(|refused| refused.borrow_mut().remove(&net.addr()));
}

/// `xoff_error`.
#[unsafe(no_mangle)]
pub extern "C" fn xoff_error(net: *const Network) -> *const c_char {
    let error = |refused: &RefCell<HashMap<usize, CString>>| {
        refused.borrow().get(&net.addr()).map(|why| why.as_ptr())
    };
    REFUSED.try_with(error).ok().flatten().unwrap_or(c"".as_ptr())
}

/// `xoff_host`.
///
/// # Safety
/// `name` is `NULL` or ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_host(net: *const Network, name: *const c_char) -> i64 {
    // SAFETY: the caller's promise.
    let name = unsafe { text(name) };
    with(net, |driven| {
        let name = name.ok_or("name: NULL (expected the name of a host)")??;
        driven.host(name).ok_or_else(|| format!("name: there is no host {name}"))
    })
    .map_or(-1, |host| host.0.into())
}

/// `xoff_hosts`.
///
/// # Safety
/// `numbers` has room for `room` numbers, or is `NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_hosts(net: *const Network, numbers: *mut u32, room: usize) -> usize {
    with(net, |driven| {
        let mut count = 0;
        for host in driven.hosts() {
            if count < room && !numbers.is_null() {
                // SAFETY: below the room that the caller has promised.
                unsafe { numbers.add(count).write(host.0) };
            }
            count += 1;
        }
        Ok(count)
    })
    .unwrap_or(usize::MAX)
}

/// `xoff_now`.
#[unsafe(no_mangle)]
pub extern "C" fn xoff_now(net: *const Network) -> u64 {
    with(net, |driven| Ok(driven.now().0)).unwrap_or(u64::MAX)
}

/// `xoff_lost_frames`.
#[unsafe(no_mangle)]
pub extern "C" fn xoff_lost_frames(net: *const Network) -> u64 {
    with(net, |driven| Ok(driven.lost_frames())).unwrap_or(u64::MAX)
}

/// `xoff_send`.
#[unsafe(no_mangle)]
pub extern "C" fn xoff_send(
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
    with(net, send).map_or(-1, |id| id as i64)
}

/// `xoff_enable`.
#[unsafe(no_mangle)]
pub extern "C" fn xoff_enable(net: *mut Network, what: u32) -> c_int {
    with(net, |driven| match what {
        5 => driven.report_acknowledged().map_err(words),
        6 => driven.match_receives().map_err(words),
        _ => Err(format!("what: {what} (expected XOFF_ACKNOWLEDGED or XOFF_RECEIVED)")),
    })
    .map_or(-1, |()| 0)
}

/// `xoff_recv`.
#[unsafe(no_mangle)]
pub extern "C" fn xoff_recv(
    net: *mut Network,
    dst: u32,
    src: u32,
    tag: u64,
    bytes: u64,
    token: u64,
) -> i64 {
    let receive = Receive { dst: NodeId(dst), src: NodeId(src), tag, bytes, token };
    with(net, |driven| driven.receive(&receive).map_err(words)).map_or(-1, |id| id as i64)
}

/// `xoff_host_rate`.
#[unsafe(no_mangle)]
pub extern "C" fn xoff_host_rate(net: *mut Network, host: u32) -> i64 {
    with(net, |driven| driven.host_rate(NodeId(host)).map_err(words))
        .map_or(-1, |rate| i64::try_from(rate.0).unwrap_or(i64::MAX))
}

/// `xoff_fail_link`.
///
/// # Safety
/// `link` is `NULL` or ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_fail_link(net: *mut Network, link: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let link = unsafe { text(link) };
    with(net, |driven| {
        driven.fail_link(link.ok_or("link: NULL (expected a name, `A1-C1`)")??).map_err(words)
    })
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
    let link = unsafe { text(link) };
    with(net, |driven| {
        let link = link.ok_or("link: NULL (expected a name, `A1-C1`)")??;
        driven.set_rate(link, Rate(bits_per_second)).map_err(words)
    })
    .map_or(-1, |()| 0)
}

/// `xoff_finish`.
///
/// # Safety
/// `folder` is `NULL` or ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_finish(net: *mut Network, folder: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let folder = unsafe { text(folder) };
    with(net, |driven| {
        let folder = folder.ok_or("folder: NULL (expected a path)")??;
        let report = |s: &_, f: &_| Some(xoff_report::view::of_network(s, f, folder));
        let finished =
            driven.finish(Path::new(folder), report, |_| true).map_err(|e| e.to_string())?;
        let verdict = finished.manifest.verdict.as_ref();
        let yes = verdict.is_some_and(|v| v.conclusion(&[]) == Conclusion::Yes);
        Ok(c_int::from(!yes))
    })
    .unwrap_or(-1)
}

/// `xoff_schedule`.
#[unsafe(no_mangle)]
pub extern "C" fn xoff_schedule(net: *mut Network, after_ps: u64, tag: u64) -> i64 {
    with(net, |driven| {
        let at = driven.now().0.saturating_add(after_ps);
        within_reach("after_ps", at)?;
        Ok(driven.schedule(Span(after_ps), tag))
    })
    .map_or(-1, |id| id as i64)
}

/// `xoff_advance`.
#[unsafe(no_mangle)]
pub extern "C" fn xoff_advance(net: *mut Network, until_ps: u64) -> c_int {
    with(net, |driven| {
        within_reach("until_ps", until_ps)?;
        driven.advance(Time(until_ps));
        Ok(())
    })
    .map_or(-1, |()| 0)
}

/// `xoff_next`.
///
/// # Safety
/// `event` is `NULL` or has room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xoff_next(net: *mut Network, until_ps: u64, event: *mut Event) -> c_int {
    let next = with(net, |driven| {
        if event.is_null() {
            return Err("event: NULL".into());
        }
        if Time(until_ps) != Time::NEVER {
            within_reach("until_ps", until_ps)?;
        }
        Ok(driven.next(Time(until_ps)))
    });
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
    // SAFETY: not NULL; the rest is the caller's promise.
    unsafe { event.write(Event { time_ps: h.at.0, id: h.id, tag: h.tag, what, reserved: 0 }) };
    1
}
