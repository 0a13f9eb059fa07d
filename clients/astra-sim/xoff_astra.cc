// astra-sim over a network of xoff: command line and main loop. xoff_rank.hh is the network.
#include <iostream>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "astra-sim/common/Logging.hh"
#include "astra-sim/system/Sys.hh"
#include "extern/helper/cxxopts/cxxopts.hpp"
#include "extern/remote_memory_backend/analytical/AnalyticalRemoteMemory.hh"
#include "xoff_rank.hh"

namespace {

using xoff_astra::Rank;
using xoff_astra::Shared;

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
    Shared shared(text("network-configuration"), given["priority"].as<unsigned>(), one_of("queue-pairs", "shared", "own") ? 0 : XOFF_OWN_PAIR,
                  one_of("send-ends", "delivered", "acknowledged") ? XOFF_DELIVERED : XOFF_ACKNOWLEDGED);
    xoff_cpp::network &net = shared.net;
    std::vector<int> dimensions{static_cast<int>(shared.hosts.size())};
    if (given.count("npus-count")) dimensions = given["npus-count"].as<std::vector<int>>();
    size_t ranks = std::accumulate(dimensions.begin(), dimensions.end(), size_t{1}, [](size_t a, int b) { return a * static_cast<size_t>(b); });
    if (ranks > shared.hosts.size())
        throw std::runtime_error("--npus-count: " + std::to_string(ranks) + " ranks, but the scenario has " + std::to_string(shared.hosts.size()) + " hosts");
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
    auto unfinished = [&] { return static_cast<int>(ranks) - shared.finished_ranks; };
    while (unfinished() > 0 && !deadlock) {
        auto event = net.next();
        if (!event) break;
        deadlock = event->what == XOFF_DEADLOCK;
        shared.on(*event);
    }
    // The log has a thread of its own, which writes between these lines otherwise.
    AstraSim::LoggerFactory::shutdown();
    uint64_t lost = net.lost_frames();
    std::cout << (deadlock ? "deadlock" : unfinished() > 0 ? "not finished" : "finished") << " at " << static_cast<double>(net.now()) / 1e3
              << " ns: " << shared.messages << " messages, " << static_cast<double>(shared.bytes) / 1e6 << " MB, " << lost << " frames lost\n";
    if (unfinished() > 0) std::cout << unfinished() << " of " << ranks << " ranks have not finished\n";
    bool good = !deadlock && lost == 0 && unfinished() == 0;
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
