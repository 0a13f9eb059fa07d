#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "xoff.h"

#define CHECK(what)                                             \
    do {                                                        \
        if (!(what)) {                                          \
            printf("line %d: %s\n", __LINE__, #what);           \
            return 1;                                           \
        }                                                       \
    } while (0)

#define HEAD "[topology]\nkind = \"star\"\nhosts = 3\nrate = \"100Gbps\"\ndelay = \"1us\"\n[flow_control]\nkind = \"pfc\"\n"

static int ended;

/* A call of another thread, as long as 250,000 frames take. */
static void *waits(void *net) {
    xoff_event e;
    int next;
    while ((next = xoff_next(net, XOFF_FOREVER, &e)) == -1 && strstr(xoff_error(net), "another thread")) {}
    __atomic_store_n(&ended, 1, __ATOMIC_SEQ_CST);
    return next == 1 && e.what == XOFF_SENT ? net : NULL;
}

/* A run without stops and a checkpoint: the events of the network that goes on. */
static int ahead_and_saved(const char *path) {
    xoff_event e, f;
    xoff *net = xoff_new(HEAD, NULL, 1 << 3);
    CHECK(net && xoff_threads(net, 0) == -1 && strstr(xoff_error(net), "threads") && xoff_threads(net, 4) == 1);
    CHECK(xoff_send(net, 0, 1, 100000, 3, 7, 1) == 0 && xoff_send(net, 0, 1, 100000, 3, 7, 2) == 1 && xoff_schedule(net, 9000000, 5) == 0);
    CHECK(xoff_threads(net, 1) == -1 && strstr(xoff_error(net), "has begun"));
    CHECK(xoff_advance(net, XOFF_FOREVER) == -1 && xoff_advance(NULL, 1) == -1 && xoff_now(net) == 0);
    CHECK(xoff_advance(net, 10000000) == 0 && xoff_now(net) == 10000000);
    CHECK(xoff_next(net, 0, &e) == 1 && e.what == XOFF_SENT && e.tag == 1 && e.time_ps < 9000000);
    CHECK(xoff_save(net, NULL) == -1 && xoff_save(NULL, path) == -1 && xoff_save(net, "/dev/null/state") == -1);
    CHECK(strstr(xoff_error(net), "/dev/null/state") && xoff_save(net, path) == 0);
    CHECK(!xoff_load(NULL) && strstr(xoff_error(NULL), "NULL") && !xoff_load("/dev/null") && strstr(xoff_error(NULL), "not a checkpoint"));
    xoff *again = xoff_load(path);
    CHECK(again && !*xoff_error(NULL) && xoff_now(again) == 10000000);
    int timers = 0, next;
    do {
        next = xoff_next(net, XOFF_FOREVER, &e);
        CHECK(xoff_next(again, XOFF_FOREVER, &f) == next && (next == 0 || memcmp(&e, &f, sizeof e) == 0));
        timers += next == 1 && e.what == XOFF_TIMER && e.time_ps == 9000000;
    } while (next == 1);
    CHECK(timers == 1 && xoff_now(net) == xoff_now(again) && xoff_send(again, 0, 1, 1, 3, 7, 3) == 2);
    xoff_free(net);
    xoff_free(again);
    return 0;
}

/* A network that another thread uses, and one that was freed. */
static int wrong_threads_and_handles(const char *folder) {
    xoff_event e;
    xoff *net = xoff_new(HEAD, NULL, 1 << 3);
    CHECK(net && xoff_send(net, 0, 1, 250000000, 3, XOFF_OWN_PAIR, 1) == 0);
    CHECK(xoff_hosts(net, NULL, 0) == 3);
    pthread_t other;
    CHECK(pthread_create(&other, NULL, waits, net) == 0);
    /* Refused again and again: the other thread is in its long call, not between two short ones. */
    int refused = 0;
    while (refused < 1000 && !__atomic_load_n(&ended, __ATOMIC_SEQ_CST)) refused = xoff_hosts(net, NULL, 0) == SIZE_MAX ? refused + 1 : 0;
    CHECK(refused == 1000 && strstr(xoff_error(net), "another thread") && xoff_schedule(net, 1, 9) == -1);
    void *sent = NULL;
    CHECK(pthread_join(other, &sent) == 0 && sent == net);
    xoff_free(net);
    xoff_free(net);
    CHECK(xoff_next(net, XOFF_FOREVER, &e) == -1 && strstr(xoff_error(net), "freed"));
    CHECK(xoff_send(net, 0, 1, 1, 3, XOFF_OWN_PAIR, 0) == -1 && xoff_now(net) == UINT64_MAX && xoff_hosts(net, NULL, 0) == SIZE_MAX);
    CHECK(xoff_finish(net, folder) == -1 && xoff_host(net, "H0") == -1 && xoff_host_rate(net, 0) == -1);
    int here = 0;
    CHECK(xoff_next((xoff *)&here, 0, &e) == -1 && strstr(xoff_error((xoff *)&here), "no network"));
    return 0;
}

int main(int argc, char **argv) {
    CHECK(argc == 3); /* a folder for results, a file for a state */
    CHECK(sizeof(xoff_event) == 32 && offsetof(xoff_event, what) == 24 && xoff_abi() == XOFF_ABI);
    /* What is wrong with a scenario, with its place. */
    CHECK(!xoff_new(NULL, NULL, 8) && strstr(xoff_error(NULL), "NULL"));
    CHECK(!xoff_new("[topology]\nkind = \"stra\"\n", NULL, 8) && strstr(xoff_error(NULL), "scenario:2:8") && strstr(xoff_error(NULL), "star"));
    CHECK(!xoff_new(HEAD, NULL, 0) && strstr(xoff_error(NULL), "priorities"));
    CHECK(!xoff_new("\xff", NULL, 8) && strstr(xoff_error(NULL), "UTF-8"));
    xoff *net = xoff_new(HEAD, NULL, 1 << 3 | 1 << 5);
    CHECK(net && !*xoff_error(NULL));
    uint32_t hosts[5] = {99, 99, 99, 99, 99};
    CHECK(xoff_hosts(net, NULL, 0) == 3 && xoff_hosts(net, hosts, 2) == 3 && hosts[2] == 99);
    CHECK(xoff_hosts(net, hosts, 5) == 3 && hosts[2] != 99 && hosts[3] == 99);
    CHECK(xoff_host(net, "H1") == hosts[1] && xoff_host(net, "H9") == -1 && xoff_host(net, NULL) == -1 && xoff_host(net, "") == -1);
    CHECK(xoff_finish(net, argv[1]) == -1 && strstr(xoff_error(net), "no message has begun"));
    /* What cannot be sent. */
    CHECK(xoff_send(net, hosts[0], 77, 1, 3, XOFF_OWN_PAIR, 0) == -1 && strstr(xoff_error(net), "dst"));
    CHECK(xoff_send(net, 77, hosts[0], 1, 3, XOFF_OWN_PAIR, 0) == -1 && strstr(xoff_error(net), "src"));
    CHECK(xoff_send(net, hosts[0], hosts[1], UINT64_MAX, 3, XOFF_OWN_PAIR, 0) == -1 && strstr(xoff_error(net), "bytes"));
    CHECK(xoff_recv(net, hosts[1], hosts[0], 1, 1, 1) == -1 && strstr(xoff_error(net), "receive"));
    CHECK(xoff_enable(net, XOFF_ACKNOWLEDGED) == -1 && strstr(xoff_error(net), "host.acks"));
    CHECK(xoff_enable(net, 9) == -1 && strstr(xoff_error(net), "XOFF_RECEIVED"));
    CHECK(xoff_host_rate(net, hosts[0]) == 100000000000 && xoff_host_rate(net, 77) == -1 && strstr(xoff_error(net), "host"));
    CHECK(xoff_fail_link(net, NULL) == -1 && xoff_fail_link(net, "\xff") == -1 && xoff_fail_link(net, "A1-C1") == -1 && strstr(xoff_error(net), "A1-C1"));
    CHECK(xoff_set_rate(net, "H0-S1", 0) == -1 && xoff_set_rate(net, "H0-S1", UINT64_MAX) == -1 && strstr(xoff_error(net), "at most 100"));
    CHECK(xoff_send(net, hosts[0], hosts[1], 1, 4, XOFF_OWN_PAIR, 0) == -1 && strstr(xoff_error(net), "[3, 5]"));
    CHECK(xoff_send(net, hosts[0], hosts[1], 1, 3, 65536, 0) == -1 && strstr(xoff_error(net), "queue_pair"));
    /* Nothing has happened by that. */
    xoff_event e;
    memset(&e, 0x55, sizeof e);
    CHECK(xoff_next(net, XOFF_FOREVER, &e) == 0 && xoff_now(net) == 0 && e.what == 0x55555555);
    CHECK(xoff_next(net, 500, &e) == 0 && xoff_now(net) == 500);
    /* A limit that lies in the past is now. */
    CHECK(xoff_next(net, 100, &e) == 0 && xoff_now(net) == 500);
    CHECK(xoff_schedule(net, 1000, 5) == 0 && xoff_schedule(net, 1000, 6) == 1 && xoff_schedule(net, UINT64_MAX, 7) == -1);
    CHECK(strstr(xoff_error(net), "expected at most 2^63 - 1") != NULL && xoff_next(net, UINT64_MAX - 1, &e) == -1);
    int64_t id = xoff_send(net, hosts[0], hosts[1], 1000, 5, XOFF_OWN_PAIR, 42);
    CHECK(id == 0);
    CHECK(xoff_next(net, XOFF_FOREVER, &e) == 1 && e.what == XOFF_SENT && e.time_ps == 500 && e.tag == 42 && e.id == 0 && e.reserved == 0);
    CHECK(xoff_next(net, XOFF_FOREVER, &e) == 1 && e.what == XOFF_TIMER && e.time_ps == 1500 && e.tag == 5 && e.id == 0);
    CHECK(xoff_next(net, XOFF_FOREVER, NULL) == -1 && strstr(xoff_error(net), "event: NULL"));
    CHECK(xoff_next(net, XOFF_FOREVER, &e) == 1 && e.what == XOFF_TIMER && e.tag == 6);
    CHECK(xoff_next(net, XOFF_FOREVER, &e) == 1 && e.what == XOFF_DELIVERED && e.tag == 42 && xoff_now(net) == e.time_ps);
    CHECK(xoff_lost_frames(net) == 0);
    CHECK(xoff_enable(net, XOFF_RECEIVED) == -1 && strstr(xoff_error(net), "before the first message"));
    /* Results; the network goes on. */
    CHECK(xoff_finish(net, NULL) == -1 && xoff_finish(net, "/dev/null/results") == -1 && strstr(xoff_error(net), "/dev/null"));
    CHECK(xoff_finish(net, argv[1]) == 0);
    CHECK(xoff_send(net, hosts[0], hosts[1], 1000, 5, XOFF_OWN_PAIR, 43) == 1 && xoff_finish(net, argv[1]) == 0);
    xoff_free(net);
    /* Receives and acknowledgements; a message to itself, one without payload, a link that fails. */
    net = xoff_new(HEAD "[host]\nacks = \"per-frame\"\n", NULL, 1 << 3);
    CHECK(net && xoff_enable(net, XOFF_RECEIVED) == 0 && xoff_enable(net, XOFF_ACKNOWLEDGED) == 0);
    CHECK(xoff_recv(net, hosts[1], hosts[0], 42, 1000, 4711) == 0 && xoff_send(net, hosts[0], hosts[1], 1000, 3, XOFF_OWN_PAIR, 42) == 0);
    static const uint32_t in_order[] = {XOFF_SENT, XOFF_DELIVERED, XOFF_RECEIVED, XOFF_ACKNOWLEDGED};
    for (int i = 0; i < 4; i++) {
        CHECK(xoff_next(net, XOFF_FOREVER, &e) == 1 && e.what == in_order[i] && e.id == 0);
        CHECK(e.tag == (e.what == XOFF_RECEIVED ? 4711 : 42));
    }
    CHECK(xoff_send(net, hosts[2], hosts[2], 0, 3, 5, 43) == 1 && xoff_recv(net, hosts[2], hosts[2], 43, 0, 4712) == 1);
    static const uint32_t to_itself[] = {XOFF_SENT, XOFF_DELIVERED, XOFF_ACKNOWLEDGED, XOFF_RECEIVED};
    for (int i = 0; i < 4; i++) CHECK(xoff_next(net, XOFF_FOREVER, &e) == 1 && e.what == to_itself[i] && e.time_ps == xoff_now(net));
    CHECK(xoff_set_rate(net, "H0-S1", 50000000000) == 0 && xoff_fail_link(net, "H0-S1") == 0 && xoff_fail_link(net, "S1-H0") == 0);
    CHECK(xoff_host_rate(net, hosts[0]) == 0 && xoff_send(net, hosts[0], hosts[1], 1, 3, 0, 0) == -1 && strstr(xoff_error(net), "route"));
    CHECK(xoff_next(net, XOFF_FOREVER, &e) == 0);
    xoff_free(net);
    /* NULL everywhere. */
    xoff_free(NULL);
    CHECK(xoff_next(NULL, 0, &e) == -1 && xoff_send(NULL, 0, 1, 1, 0, 0, 0) == -1 && xoff_schedule(NULL, 0, 0) == -1);
    CHECK(xoff_enable(NULL, 5) == -1 && xoff_recv(NULL, 0, 1, 0, 1, 0) == -1 && xoff_host_rate(NULL, 0) == -1);
    CHECK(xoff_finish(NULL, argv[1]) == -1 && xoff_fail_link(NULL, "H0-S1") == -1 && xoff_set_rate(NULL, "H0-S1", 1) == -1);
    CHECK(xoff_now(NULL) == UINT64_MAX && xoff_hosts(NULL, NULL, 0) == SIZE_MAX && xoff_lost_frames(NULL) == UINT64_MAX && xoff_host(NULL, "H0") == -1);
    CHECK(strstr(xoff_error(NULL), "NULL"));
    /* Counts that no machine has memory for. */
    CHECK(!xoff_new("[topology]\nkind = \"star\"\nhosts = 4000000000\n", NULL, 8) && strstr(xoff_error(NULL), "hosts"));
    CHECK(!xoff_new("[topology]\nkind = \"star\"\nhosts = 99999999999999999999\n", NULL, 8) && *xoff_error(NULL));
    if (wrong_threads_and_handles(argv[1]) || ahead_and_saved(argv[2])) return 1;
    printf("ok\n");
    return 0;
}
