// The ring all-reduce of ring.c in C++, with receives: a rank sends its next part when one has been received.
//
//     c++ -std=c++17 -I crates/capi/include crates/capi/examples/ring.cpp -L target/release -lxoff_c -Wl,-rpath,target/release -o ring
#include <cinttypes>
#include <cstdio>

#include "xoff.hpp"

int main() try {
    const uint64_t ranks = 8, steps = 2 * (ranks - 1), part = 100000;
    xoff_cpp::network net(
        "[topology]\nkind = \"star\"\nhosts = 8\nrate = \"100Gbps\"\ndelay = \"1us\"\n"
        "[host]\nframe_max = \"1048B\"\nheader = \"48B\"\n[flow_control]\nkind = \"pfc\"\n",
        {3});
    net.enable(XOFF_RECEIVED);
    const auto host = net.hosts();
    const auto next = [&](uint64_t rank) { return (rank + 1) % ranks; };
    for (uint64_t rank = 0; rank < ranks; rank++) {
        for (uint64_t step = 0; step < steps; step++) net.recv(host[next(rank)], host[rank], step, part, step * ranks + next(rank));
        net.send(host[rank], host[next(rank)], part, 3, 0, 0);
    }
    uint64_t end = 0;
    while (auto e = net.next()) {
        if (e->what != XOFF_RECEIVED) continue;
        const uint64_t step = e->tag / ranks + 1, rank = e->tag % ranks;
        end = e->time_ps;
        if (step < steps) net.send(host[rank], host[next(rank)], part, 3, 0, step);
    }
    std::printf("%" PRIu64 " steps, %" PRIu64 " ps, %" PRIu64 " frames lost\n", steps, end, net.lost_frames());
} catch (const xoff_cpp::error &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
}
