// astra-sim over a network of xoff: one network for all ranks, rank i is host i of the scenario.
//
//   Sys -> sim_send, sim_recv, sim_schedule -> xoff_send, xoff_recv, xoff_schedule
//   Sys <- callbacks <- acknowledged or delivered, received, timer <- xoff_next
#include <cmath>
#include <fstream>
#include <iostream>
#include <memory>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "astra-sim/common/AstraNetworkAPI.hh"
#include "astra-sim/common/Logging.hh"
#include "astra-sim/system/Sys.hh"
#include "extern/helper/cxxopts/cxxopts.hpp"
#include "extern/remote_memory_backend/analytical/AnalyticalRemoteMemory.hh"
#include "xoff.hpp"

namespace {

using Handler = void (*)(void *);

struct Callback {
    Handler handler;
    void *argument;
    void operator()() const { handler(argument); }
};

// Callbacks that wait, by the token that returns with the event.
class Waiting {
  public:
    uint64_t add(Callback c) {
        waiting_[next_] = c;
        return next_++;
    }
    void run(uint64_t token) {
        auto found = waiting_.find(token);
        Callback c = found->second;
        waiting_.erase(found);
        c();
    }

  private:
    std::unordered_map<uint64_t, Callback> waiting_;
    uint64_t next_ = 0;
};

// What all ranks share.
struct Shared {
    xoff_cpp::network net;
    std::vector<uint32_t> hosts;
    uint8_t priority;
    uint32_t queue_pair;
    int unfinished;
    Waiting sent, received, timers;
    // The tag of xoff matches receives, so the token of a send is found by the number of its message.
    std::unordered_map<uint64_t, uint64_t> token_of_message;
    uint64_t bytes = 0;
};

class Rank : public AstraSim::AstraNetworkAPI {
  public:
    Rank(int rank, Shared &shared) : AstraNetworkAPI(rank), shared_(shared) {}

    int sim_send(void *, uint64_t count, int, int dst, int tag, AstraSim::sim_request *, Handler handler, void *argument) override {
        uint64_t token = shared_.sent.add({handler, argument});
        uint64_t id = shared_.net.send(host(rank), host(dst), count, shared_.priority, shared_.queue_pair, static_cast<uint32_t>(tag));
        shared_.token_of_message[id] = token;
        shared_.bytes += count;
        return 0;
    }
    int sim_recv(void *, uint64_t count, int, int src, int tag, AstraSim::sim_request *, Handler handler, void *argument) override {
        shared_.net.recv(host(rank), host(src), static_cast<uint32_t>(tag), count, shared_.received.add({handler, argument}));
        return 0;
    }
    void sim_schedule(AstraSim::timespec_t delta, Handler handler, void *argument) override {
        shared_.net.schedule(static_cast<uint64_t>(std::llround(delta.time_val * 1000)), shared_.timers.add({handler, argument}));
    }
    AstraSim::timespec_t sim_get_time() override { return {AstraSim::NS, static_cast<long double>(shared_.net.now()) / 1000}; }
    // GB/s, as in the other back ends.
    double get_BW_at_dimension(int) override { return static_cast<double>(shared_.net.host_rate(host(rank))) / 8e9; }
    void sim_notify_finished() override { shared_.unfinished--; }

  private:
    uint32_t host(int of) const { return shared_.hosts.at(static_cast<size_t>(of)); }
    Shared &shared_;
};

std::string read(const std::string &path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

std::string folder_of(const std::string &path) {
    size_t end = path.find_last_of('/');
    return end == std::string::npos ? "." : path.substr(0, end);
}

cxxopts::Options options() {
    cxxopts::Options all("xoff-astra", "astra-sim over a lossless network of xoff");
    auto text = [](const char *standard) { return cxxopts::value<std::string>()->default_value(standard); };
    all.add_options()("workload-configuration", "prefix of the Chakra traces", cxxopts::value<std::string>())(
        "system-configuration", "system of astra-sim", cxxopts::value<std::string>())(
        "remote-memory-configuration", "remote memory of astra-sim", cxxopts::value<std::string>())(
        "network-configuration", "scenario of xoff (TOML)", cxxopts::value<std::string>())(
        "comm-group-configuration", "groups of ranks", text("empty"))("logging-configuration", "logging of astra-sim", text("empty"))(
        "logging-folder", "folder of its log", text("log"))(
        "npus-count", "ranks by dimension, such as 8 or 4,2; by default one dimension with all hosts", cxxopts::value<std::vector<int>>())(
        "num-queues-per-dim", "queues by dimension", cxxopts::value<int>()->default_value("1"))(
        "comm-scale", "factor of message sizes", cxxopts::value<double>()->default_value("1"))(
        "injection-scale", "factor of injection", cxxopts::value<double>()->default_value("1"))(
        "rendezvous-protocol", "a send waits for its receive", cxxopts::value<bool>()->default_value("false"))(
        "send-ends", "a send ends when it is delivered or acknowledged (scenario: host.acks)", text("delivered"))(
        "queue-pairs", "one queue pair a pair of ranks (shared), or a message (own)", text("shared"))(
        "priority", "priority of all messages", cxxopts::value<unsigned>()->default_value("3"))(
        "results", "folder for tables and report", text(""))("help", "these options");
    return all;
}

// Exit code: 0, or 1: a deadlock, lost frames, ranks that have not finished.
int simulate(const cxxopts::ParseResult &given) {
    auto text = [&](const char *name) { return given[name].as<std::string>(); };
    auto one_of = [&](const char *name, const char *first, const char *second) {
        if (text(name) != first && text(name) != second)
            throw std::runtime_error("--" + std::string(name) + "=" + text(name) + " (expected " + first + " or " + second + ")");
        return text(name) == first;
    };
    AstraSim::LoggerFactory::init(text("logging-configuration"), text("logging-folder"));
    unsigned priority = given["priority"].as<unsigned>();
    std::string scenario = text("network-configuration");
    Shared shared{xoff_cpp::network(read(scenario), {priority}, folder_of(scenario)), {}, static_cast<uint8_t>(priority),
                  one_of("queue-pairs", "shared", "own") ? 0 : XOFF_OWN_PAIR, 0, {}, {}, {}, {}, 0};
    xoff_cpp::network &net = shared.net;
    shared.hosts = net.hosts();
    bool ends_delivered = one_of("send-ends", "delivered", "acknowledged");
    net.enable(XOFF_RECEIVED);
    if (!ends_delivered) net.enable(XOFF_ACKNOWLEDGED);
    std::vector<int> dimensions{static_cast<int>(shared.hosts.size())};
    if (given.count("npus-count")) dimensions = given["npus-count"].as<std::vector<int>>();
    size_t ranks = std::accumulate(dimensions.begin(), dimensions.end(), size_t{1}, [](size_t a, int b) { return a * static_cast<size_t>(b); });
    if (ranks > shared.hosts.size())
        throw std::runtime_error("--npus-count: " + std::to_string(ranks) + " ranks, but the scenario has " + std::to_string(shared.hosts.size()) + " hosts");
    shared.unfinished = static_cast<int>(ranks);
    Analytical::AnalyticalRemoteMemory memory(text("remote-memory-configuration"));
    std::vector<int> queues(dimensions.size(), given["num-queues-per-dim"].as<int>());
    std::vector<std::unique_ptr<Rank>> networks;
    // They live as long as the process: their destructor expects that all ranks have finished.
    std::vector<AstraSim::Sys *> systems;
    for (size_t i = 0; i < ranks; i++) {
        networks.push_back(std::make_unique<Rank>(static_cast<int>(i), shared));
        systems.push_back(new AstraSim::Sys(static_cast<int>(i), text("workload-configuration"), text("comm-group-configuration"),
                                                          text("system-configuration"), &memory, networks.back().get(), dimensions, queues,
                                                          given["injection-scale"].as<double>(), given["comm-scale"].as<double>(),
                                                          given["rendezvous-protocol"].as<bool>()));
    }
    for (AstraSim::Sys *system : systems) system->workload->fire();
    bool deadlock = false;
    uint64_t messages = 0;
    while (shared.unfinished > 0 && !deadlock) {
        auto event = net.next();
        if (!event) break;
        switch (event->what) {
        case XOFF_TIMER:
            shared.timers.run(event->tag);
            break;
        case XOFF_RECEIVED:
            shared.received.run(event->tag);
            break;
        case XOFF_DELIVERED:
        case XOFF_ACKNOWLEDGED:
            if ((event->what == XOFF_DELIVERED) == ends_delivered) {
                auto found = shared.token_of_message.find(event->id);
                uint64_t token = found->second;
                shared.token_of_message.erase(found);
                messages++;
                shared.sent.run(token);
            }
            break;
        case XOFF_DEADLOCK:
            deadlock = true;
            break;
        default:
            break;
        }
    }
    // The log has a thread of its own, which writes between these lines otherwise.
    AstraSim::LoggerFactory::shutdown();
    uint64_t lost = net.lost_frames();
    std::cout << (deadlock ? "deadlock" : shared.unfinished > 0 ? "not finished" : "finished") << " at " << static_cast<double>(net.now()) / 1e3
              << " ns: " << messages << " messages, " << static_cast<double>(shared.bytes) / 1e6 << " MB, " << lost << " frames lost\n";
    if (shared.unfinished > 0) std::cout << shared.unfinished << " of " << ranks << " ranks have not finished\n";
    bool good = !deadlock && lost == 0 && shared.unfinished == 0;
    if (!text("results").empty()) {
        good = net.finish(text("results")) && good;
        std::cout << "results in " << text("results") << ": xoff view " << text("results") << "\n";
    }
    return good ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
    std::cout.precision(15);
    cxxopts::Options all = options();
    try {
        auto given = all.parse(argc, argv);
        if (given.count("help")) {
            std::cout << all.help();
            return 0;
        }
        return simulate(given);
    } catch (const std::exception &e) {
        std::cerr << "xoff-astra: " << e.what() << "\n";
        return 2;
    }
}
