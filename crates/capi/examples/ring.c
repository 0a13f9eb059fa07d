/* A ring all-reduce of 800 KB among eight hosts, driven from outside: each rank hands on a part as soon as it has come.
 *
 *     cc -I crates/capi/include crates/capi/examples/ring.c -L target/release -lxoff_c -Wl,-rpath,target/release -o ring && ./ring
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "xoff.h"

enum { RANKS = 8, STEPS = 2 * (RANKS - 1), PART = 100000 };

static const char *SCENARIO =
    "[topology]\nkind = \"star\"\nhosts = 8\nrate = \"100Gbps\"\ndelay = \"1us\"\n"
    "[host]\nframe_max = \"1048B\"\nheader = \"48B\"\n"
    "[flow_control]\nkind = \"pfc\"\n";

static void fail(const xoff *net) {
    fprintf(stderr, "%s\n", xoff_error(net));
    exit(2);
}

int main(void) {
    if (xoff_abi() != XOFF_ABI) {
        fprintf(stderr, "the library has another interface than the header\n");
        return 2;
    }
    xoff *net = xoff_new(SCENARIO, NULL, 1 << 3);
    if (!net) fail(NULL);
    uint32_t hosts[RANKS];
    if (xoff_hosts(net, hosts, RANKS) != RANKS) return 2;

    int steps[RANKS] = {0};
    uint64_t end = 0;
    /* The tag is the rank that the message goes to. */
    for (uint32_t r = 0; r < RANKS; r++)
        if (xoff_send(net, hosts[r], hosts[(r + 1) % RANKS], PART, 3, 0, (r + 1) % RANKS) < 0) fail(net);
    xoff_event e;
    int more;
    while ((more = xoff_next(net, XOFF_FOREVER, &e)) == 1) {
        if (e.what == XOFF_DEADLOCK) {
            fprintf(stderr, "deadlock\n");
            return 1;
        }
        if (e.what != XOFF_DELIVERED) continue;
        end = e.time_ps;
        uint64_t r = e.tag, next = (r + 1) % RANKS;
        if (++steps[r] < STEPS && xoff_send(net, hosts[r], hosts[next], PART, 3, 0, next) < 0) fail(net);
    }
    if (more < 0) fail(net);
    printf("%d steps, %" PRIu64 " ps, %" PRIu64 " frames lost\n", STEPS, end, xoff_lost_frames(net));
    xoff_free(net);
    return 0;
}
