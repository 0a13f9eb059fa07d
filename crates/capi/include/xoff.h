/* A lossless network beneath another simulator.
 *
 * The caller hands in messages and timers and takes out what becomes of them, one after the other; simulated time goes on no further than
 * the last one taken. What is sent then begins at that time, as if the host had decided so itself.
 *
 *     xoff *net = xoff_new(scenario, NULL, 1 << 3);
 *     if (!net) { fputs(xoff_error(NULL), stderr); exit(2); }
 *     xoff_send(net, a, b, 1000000, 3, XOFF_OWN_PAIR, 42);
 *     for (xoff_event e; xoff_next(net, XOFF_FOREVER, &e) == 1;)
 *         if (e.what == XOFF_DELIVERED) ...
 *     xoff_free(net);
 *
 * Times are picoseconds since the start. Nothing here is random but for the seed of the scenario: the same calls give the same answers.
 * A network may be used by one thread at a time. A call with NULL, with a network that was freed, or while another thread is in a call with
 * the same network fails, and does nothing.
 */
#ifndef XOFF_H
#define XOFF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. It changes when a program that was compiled for an older one would no longer work. */
#define XOFF_ABI 1
uint32_t xoff_abi(void);

/* A network. */
typedef struct xoff xoff;

enum xoff_what {
    XOFF_SENT = 1,      /* the source has begun to put the last frame of a message on its wire */
    XOFF_DELIVERED = 2, /* the last byte of a message has arrived, and all before it */
    XOFF_TIMER = 3,     /* a time that was asked for has come */
    XOFF_DEADLOCK = 4,  /* ports that can never send again; from then on each wait without a limit ends so */
    /* Only after xoff_enable: */
    XOFF_ACKNOWLEDGED = 5, /* the source of a message knows that it has arrived */
    XOFF_RECEIVED = 6      /* the bytes of a receive have arrived */
};

typedef struct {
    uint64_t time_ps; /* when */
    uint64_t id;      /* number of the message, receive or timer, as xoff_send, xoff_recv or xoff_schedule returned it */
    uint64_t tag;     /* the tag that was given with it; of a receive, the token */
    uint32_t what;    /* one of enum xoff_what */
    uint32_t reserved;
} xoff_event;

/* A wait without a limit. */
#define XOFF_FOREVER UINT64_MAX
/* A message with a queue pair of its own. */
#define XOFF_OWN_PAIR UINT32_MAX

/* A network at rest, from the text of a scenario: [topology], [flow_control], [switch], [host] and so on. It needs no flows; those that it
 * has run as usual and are not reported. Files that it names are looked up in `folder` (NULL: the working directory). Bit n of `priorities`:
 * messages may have priority n. NULL: it is wrong, and xoff_error(NULL) says how. */
xoff *xoff_new(const char *scenario, const char *folder, uint8_t priorities);
void xoff_free(xoff *net);

/* What was wrong with the last call of this thread that failed: with `net`, or, for NULL, of xoff_new or xoff_load. With file, line, column and a hint
 * where it is about the scenario. The text stays until the next call of this thread. Empty: nothing was. */
const char *xoff_error(const xoff *net);

/* Number of the host with a name; -1: there is none. */
int64_t xoff_host(const xoff *net, const char *name);
/* Writes the numbers of the first `room` hosts, in their order; returns how many there are; SIZE_MAX: that failed. */
size_t xoff_hosts(const xoff *net, uint32_t *numbers, size_t room);

/* How far time has come [ps]; UINT64_MAX: that failed. */
uint64_t xoff_now(const xoff *net);
/* Frames that were lost until now, of every kind; UINT64_MAX: that failed. */
uint64_t xoff_lost_frames(const xoff *net);

/* A message begins now: `bytes` of payload. Messages of one `queue_pair` (0 to 65535, counted for each source and destination) leave one
 * after the other, by one way, and share their congestion state; XOFF_OWN_PAIR: it shares nothing. A message without payload takes as long
 * as one of 1 byte; one to its own host arrives at once. Returns the number of the message; -1: it cannot be sent. 2^64 - 1 bytes are
 * refused: that is no size. */
int64_t xoff_send(xoff *net, uint32_t src, uint32_t dst, uint64_t bytes, uint8_t priority, uint32_t queue_pair, uint64_t tag);

/* Reports another kind of event from now on, XOFF_ACKNOWLEDGED (the scenario needs host.acks) or XOFF_RECEIVED: 0; -1: that failed. Before
 * the first message. */
int xoff_enable(xoff *net, uint32_t what);

/* A host expects `bytes` from `src`. XOFF_RECEIVED comes when messages with this tag have delivered so many that were not received before:
 * at once, or later. Receives of the same ends and tag are served in their order; a receive may take several messages, or a part of one. 0
 * bytes, of a message or a receive, count as 1. Returns the number of the receive; -1: that failed. */
int64_t xoff_recv(xoff *net, uint32_t dst, uint32_t src, uint64_t tag, uint64_t bytes, uint64_t token);

/* Rate of a host, of all its links that are up [bit/s]; -1: there is no such host. */
int64_t xoff_host_rate(xoff *net, uint32_t host);
/* A link, such as "A1-C1", fails now, in both directions, for the rest of the run: frames on it are lost, routes are found anew. 0; -1:
 * there is no such link. */
int xoff_fail_link(xoff *net, const char *link);
/* A link has this rate from its next frames on, more than 0 and at most that of the scenario. Thresholds, windows and rate controls stay
 * those of the scenario's rate. 0; -1: that failed. */
int xoff_set_rate(xoff *net, const char *link, uint64_t bits_per_second);

/* XOFF_TIMER comes so long from now [ps], 2^63 - 1 ps after the start at the latest. Returns the number of the timer; -1: that failed. */
int64_t xoff_schedule(xoff *net, uint64_t after_ps, uint64_t tag);

/* What happens next: 1 with `event`; 0: nothing until `until_ps` (at most 2^63 - 1), which is now then, or, for XOFF_FOREVER, nothing ever;
 * -1: that failed. At equal times the network comes first, then timers in the order in which they were made.
 * Receivers of cbfc, uec-cbfc and gfc-time send forever: there XOFF_FOREVER does not return while a message is under way whose frames were
 * lost and are not sent again. */
int xoff_next(xoff *net, uint64_t until_ps, xoff_event *event);

/* Nothing is sent before `until_ps` (at most 2^63 - 1): the network runs until then without stops, on all its threads. That time is now then,
 * and xoff_next returns what has happened, each event with its time; xoff_next(net, 0, &e) returns 0 after the last of them. The events are
 * those that xoff_next alone would have returned. 0; -1: that failed. */
int xoff_advance(xoff *net, uint64_t until_ps);
/* So many threads for xoff_advance, before any other call that the network sees; xoff_next uses one. No result depends on their number.
 * Returns how many it will use; fewer where the network cannot be divided so: it has fewer switches, cables shorter than 100 ns, or flows of
 * the scenario. -1: that failed. */
int xoff_threads(xoff *net, uint32_t threads);

/* Writes the state of the network into a file, with its scenario and the events that were not taken: whole, or not at all. 0; -1: that
 * failed. */
int xoff_save(xoff *net, const char *path);
/* The network of such a file. It continues as the other one would: the same events, results and numbers of messages, receives and timers.
 * Only the same build of this library can read it. NULL: it cannot be used, and xoff_error(NULL) says why. */
xoff *xoff_load(const char *path);

/* Writes the results of the network until now into `folder`, as `xoff run` would: tables, manifest, report.html, and resolved.toml, whose
 * [messages] names the table of all messages, messages.csv. The commands of xoff work on it: view, explain, tree, export --perfetto, compare.
 * For this the messages run again, with all that the scenario records, which takes about as long as they took here. The network stays as it
 * is. Returns what `xoff run` exits with, 0: nothing was lost and nothing is deadlocked; 1: the headline in manifest.json says what was or
 * is; -1: that failed. */
int xoff_finish(xoff *net, const char *folder);

#ifdef __cplusplus
}
#endif

#endif
