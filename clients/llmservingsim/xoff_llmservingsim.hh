// LLMServingSim over a network of xoff: what its main program uses of the analytical back end, with the network of clients/astra-sim.
//
//   XOFF_SCENARIO  scenario of xoff (TOML); NPU i is its i-th host
//   XOFF_RESULTS   folder for tables and report
#ifndef XOFF_LLMSERVINGSIM_HH
#define XOFF_LLMSERVINGSIM_HH

#include <cstdlib>
#include <iostream>
#include <memory>
#include <regex>

#include "../astra-sim/xoff_rank.hh"

namespace xoff_llm {

[[noreturn]] inline void stop(const std::string &why, int code) {
    std::cerr << "xoff: " << why << std::endl;
    std::_Exit(code);
}

// One network for the process, from its first use on.
inline xoff_astra::Shared &shared() {
    static xoff_astra::Shared *all = [] {
        const char *scenario = std::getenv("XOFF_SCENARIO");
        if (!scenario) stop("XOFF_SCENARIO names no scenario", 2);
        try {
            return new xoff_astra::Shared(scenario, 3, 0, XOFF_DELIVERED);
        } catch (const std::exception &e) {
            stop(e.what(), 2);
        }
    }();
    return *all;
}

}  // namespace xoff_llm

namespace NetworkAnalytical {

class EventQueue {
  public:
    bool finished() const { return xoff_llm::shared().timers.size() + xoff_llm::shared().token_of_message.size() == 0; }
    // The next event, and all others of its time.
    void proceed() {
        auto &net = xoff_llm::shared().net;
        if (!one(XOFF_FOREVER)) xoff_llm::stop("nothing more happens, but messages or timers wait", 1);
        while (one(net.now())) {
        }
    }
    // Nothing happens, and requests may come later: 1 ms.
    void add_current_time() {
        uint64_t until = xoff_llm::shared().net.now() + 1000000000;
        while (one(until)) {
        }
    }
    ~EventQueue() {
        auto &all = xoff_llm::shared();
        std::cerr.precision(15);
        std::cerr << "xoff: " << static_cast<double>(all.net.now()) / 1e3 << " ns: " << all.messages << " messages, "
                  << static_cast<double>(all.bytes) / 1e6 << " MB, " << all.net.lost_frames() << " frames lost" << std::endl;
        const char *results = std::getenv("XOFF_RESULTS");
        if (results && all.messages == 0) std::cerr << "xoff: no message, so no results" << std::endl;
        if (results && all.messages > 0) all.net.finish(results);
    }

  private:
    static bool one(uint64_t until) {
        auto event = xoff_llm::shared().net.next(until);
        if (!event) return false;
        if (event->what == XOFF_DEADLOCK) xoff_llm::stop("deadlock", 1);
        xoff_llm::shared().on(*event);
        return true;
    }
};

// `npus_count: [4, 2]` of the network file that LLMServingSim writes. Its bandwidths and latencies are those of the scenario.
class NetworkParser {
  public:
    explicit NetworkParser(const std::string &path) {
        std::string text = xoff_astra::read(path);
        std::smatch list, number;
        if (!std::regex_search(text, list, std::regex("npus_count:([-\\[\\],\\s0-9]*)"))) xoff_llm::stop(path + " has no npus_count", 2);
        std::string numbers = list[1];
        while (std::regex_search(numbers, number, std::regex("[0-9]+"))) {
            dimensions.push_back(std::stoi(number[0]));
            numbers = number.suffix();
        }
    }
    std::vector<int> dimensions;
};

}  // namespace NetworkAnalytical

namespace NetworkAnalyticalCongestionAware {

struct Topology {
    std::vector<int> dimensions;
    static void set_event_queue(const std::shared_ptr<NetworkAnalytical::EventQueue> &) {}
    int get_npus_count() const {
        int all = 1;
        for (int d : dimensions) all *= d;
        return all;
    }
    std::vector<int> get_npus_count_per_dim() const { return dimensions; }
    int get_dims_count() const { return static_cast<int>(dimensions.size()); }
};

inline std::shared_ptr<Topology> construct_topology(const NetworkAnalytical::NetworkParser &parser) {
    auto topology = std::make_shared<Topology>(Topology{parser.dimensions});
    size_t hosts = xoff_llm::shared().hosts.size();
    if (static_cast<size_t>(topology->get_npus_count()) > hosts)
        xoff_llm::stop(std::to_string(topology->get_npus_count()) + " NPUs, but the scenario has " + std::to_string(hosts) + " hosts", 2);
    return topology;
}

}  // namespace NetworkAnalyticalCongestionAware

namespace AstraSimAnalyticalCongestionAware {

struct CongestionAwareNetworkApi : xoff_astra::Rank {
    explicit CongestionAwareNetworkApi(int rank) : Rank(rank, xoff_llm::shared()) {}
    static void set_event_queue(const std::shared_ptr<NetworkAnalytical::EventQueue> &) {}
    static void set_topology(const std::shared_ptr<NetworkAnalyticalCongestionAware::Topology> &) {}
};

}  // namespace AstraSimAnalyticalCongestionAware

#endif
