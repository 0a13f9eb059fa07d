// A call that fails throws, also where its answer is a count: no failure looks like 0 lost frames.
#include <cstdio>
#include <cstring>
#include <functional>
#include <utility>

#include "xoff.hpp"

int main() {
    using xoff_cpp::network;
    network net("[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Gbps\"\n[flow_control]\nkind = \"pfc\"\n", {3});
    if (net.lost_frames() != 0 || net.now() != 0 || net.hosts().size() != 2) return std::puts("answers"), 1;
    const network other = std::move(net);
    const std::function<void()> calls[] = {
        [&] { net.lost_frames(); }, [&] { net.now(); }, [&] { net.hosts(); }, [&] { net.host("H0"); }, [&] { net.next(); },
    };
    for (const auto &call : calls) {
        try {
            call();
            return std::puts("no exception"), 1;
        } catch (const xoff_cpp::error &e) {
            if (!std::strstr(e.what(), "net: ")) return std::puts(e.what()), 1;
        }
    }
    try {
        other.host("H9");
        return std::puts("no exception"), 1;
    } catch (const xoff_cpp::error &e) {
        std::puts(e.what());
    }
}
