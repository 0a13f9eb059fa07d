// SimAI over a network of xoff: GPU i is host i of the scenario, and NVSwitches are switches of the scenario.
//
//   Sys -> sim_send, sim_recv, sim_schedule -> xoff_schedule (latency), xoff_send, xoff_recv, xoff_schedule
//   Sys <- callbacks with the flow tag <- sent, received, timer <- xoff_next
#include <cmath>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "astra-sim/system/AstraNetworkAPI.hh"
#include "astra-sim/system/RecvPacketEventHadndlerData.hh"
#include "astra-sim/system/SendPacketEventHandlerData.hh"
#include "astra-sim/system/Sys.hh"
#if __has_include("SimCCL/mock/MockNcclLog.h")
#include "SimCCL/mock/MockNcclLog.h"
#else
#include "astra-sim/system/MockNcclLog.h"
#endif
#include "xoff.hpp"

namespace {

using Handler = void (*)(void *);
using FlowTag = AstraSim::ncclFlowTag;

struct Callback {
    Handler handler;
    void *argument;
    void operator()() const { handler(argument); }
};

struct Message {
    FlowTag tag;
    uint32_t src, dst;
    uint64_t bytes;
    Callback sent;
};

struct Receive {
    FlowTag *tag;
    std::tuple<uint32_t, uint32_t, int> from;
    Callback received;
};

// What all ranks share.
struct Shared {
    xoff_cpp::network net;
    std::vector<uint32_t> hosts;
    uint8_t priority;
    uint64_t latency_ps;
    bool finished = false;
    std::unordered_map<uint64_t, std::function<void()>> timers;
    std::unordered_map<uint64_t, Message> messages;
    std::unordered_map<uint64_t, Receive> receives;
    // Tags of messages that have arrived, by source, destination and tag.
    std::map<std::tuple<uint32_t, uint32_t, int>, std::deque<FlowTag>> arrived;
    uint64_t tokens = 0, sent = 0, bytes = 0;

    void schedule(uint64_t after_ps, std::function<void()> what) {
        timers.emplace(tokens, std::move(what));
        net.schedule(after_ps, tokens++);
    }
    void send(const Message &m) {
        uint64_t id = net.send(m.src, m.dst, m.bytes, priority, 0, static_cast<uint32_t>(m.tag.tag_id));
        messages.emplace(id, m);
        sent++;
        bytes += m.bytes;
    }
    void on(const xoff_event &event) {
        if (event.what == XOFF_TIMER) {
            auto what = std::move(timers.at(event.tag));
            timers.erase(event.tag);
            what();
        } else if (event.what == XOFF_SENT) {
            Message &m = messages.at(event.id);
            static_cast<AstraSim::SendPacketEventHandlerData *>(m.sent.argument)->flowTag = m.tag;
            m.sent();
        } else if (event.what == XOFF_DELIVERED) {
            auto found = messages.find(event.id);
            const Message &m = found->second;
            arrived[{m.src, m.dst, m.tag.tag_id}].push_back(m.tag);
            messages.erase(found);
        } else if (event.what == XOFF_RECEIVED) {
            auto found = receives.find(event.tag);
            Receive receive = found->second;
            receives.erase(found);
            auto tags = arrived.find(receive.from);
            *receive.tag = tags->second.front();
            tags->second.pop_front();
            if (tags->second.empty()) arrived.erase(tags);
            receive.received();
        }
    }
};

class Rank : public AstraSim::AstraNetworkAPI {
  public:
    Rank(int rank, Shared &shared) : AstraNetworkAPI(rank), shared_(shared) {}

    int sim_comm_size(AstraSim::sim_comm, int *) override { return 0; }
    double sim_time_resolution() override { return 0; }
    int sim_init(AstraSim::AstraMemoryAPI *) override { return 0; }
    int sim_finish() override {
        shared_.finished = true;
        return 0;
    }
    AstraSim::timespec_t sim_get_time() override { return {AstraSim::NS, std::floor(static_cast<double>(shared_.net.now()) / 1000)}; }
    void sim_schedule(AstraSim::timespec_t delta, Handler handler, void *argument) override {
        // Sys counts whole ns, and looks its events up by the ns of now.
        uint64_t at = (shared_.net.now() / 1000 + static_cast<uint64_t>(delta.time_val)) * 1000;
        shared_.schedule(at > shared_.net.now() ? at - shared_.net.now() : 0, Callback{handler, argument});
    }
    int sim_send(void *, uint64_t count, int, int dst, int, AstraSim::sim_request *request, Handler handler, void *argument) override {
        Message message{request->flowTag, host(rank), host(dst), count, {handler, argument}};
        if (shared_.latency_ps == 0)
            shared_.send(message);
        else
            shared_.schedule(shared_.latency_ps, [this, message] { shared_.send(message); });
        return 0;
    }
    int sim_recv(void *, uint64_t count, int, int src, int, AstraSim::sim_request *, Handler handler, void *argument) override {
        FlowTag *tag = &static_cast<AstraSim::RecvPacketEventHadndlerData *>(argument)->flowTag;
        uint64_t token = shared_.tokens++;
        shared_.receives.emplace(token, Receive{tag, {host(src), host(rank), tag->tag_id}, {handler, argument}});
        shared_.net.recv(host(rank), host(src), static_cast<uint32_t>(tag->tag_id), count, token);
        return 0;
    }

  private:
    uint32_t host(int of) const {
        if (static_cast<size_t>(of) >= shared_.hosts.size())
            throw std::runtime_error("node " + std::to_string(of) + ", but the scenario has " + std::to_string(shared_.hosts.size()) + " hosts");
        return shared_.hosts[static_cast<size_t>(of)];
    }
    Shared &shared_;
};

std::string read(const std::string &path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

const std::map<std::string, GPUType> GPUS = {{"A100", GPUType::A100}, {"A800", GPUType::A800}, {"H100", GPUType::H100}, {"H800", GPUType::H800}};

constexpr const char *USAGE =
    "xoff-simai --workload=FILE --network=SCENARIO [options]\n"
    "  --workload         workload of SimAI\n"
    "  --network          scenario of xoff (TOML)\n"
    "  --gpus             GPUs; by default all hosts\n"
    "  --gpus-per-server  8 by default\n"
    "  --gpu-type         A100 (default), A800, H100 or H800\n"
    "  --send-latency     of each message before it is sent [ns], 6000 by default\n"
    "  --priority         priority of all messages, 3 by default\n"
    "  --prefix           of SimAI's own tables, ncclFlowModel_ by default\n"
    "  --results          folder for tables and report\n";

// Exit code: 0, or 1: a deadlock, lost frames, GPUs that have not finished.
int simulate(std::map<std::string, std::string> given) {
    for (const char *wanted : {"workload", "network"})
        if (given[wanted].empty()) throw std::runtime_error("--" + std::string(wanted) + " is missing");
    auto text = [&](const char *name, const std::string &standard) { return given.count(name) ? given[name] : standard; };
    std::string scenario = given["network"];
    size_t slash = scenario.find_last_of('/');
    unsigned priority = static_cast<unsigned>(std::stoul(text("priority", "3")));
    Shared shared{xoff_cpp::network(read(scenario), {priority}, slash == std::string::npos ? "." : scenario.substr(0, slash)), {},
                  static_cast<uint8_t>(priority), std::stoull(text("send-latency", "6000")) * 1000};
    xoff_cpp::network &net = shared.net;
    shared.hosts = net.hosts();
    net.enable(XOFF_RECEIVED);
    int gpus = std::stoi(text("gpus", std::to_string(shared.hosts.size())));
    if (gpus < 1 || static_cast<size_t>(gpus) > shared.hosts.size())
        throw std::runtime_error("--gpus=" + std::to_string(gpus) + ", but the scenario has " + std::to_string(shared.hosts.size()) + " hosts");
    if (!GPUS.count(text("gpu-type", "A100"))) throw std::runtime_error("--gpu-type=" + given["gpu-type"]);
    int per_server = std::stoi(text("gpus-per-server", "8"));
    if (per_server < 1 || gpus % per_server != 0)
        throw std::runtime_error("--gpus-per-server=" + std::to_string(per_server) + " does not divide " + std::to_string(gpus) + " GPUs");
    // Numbers of NVSwitches, which only NVLS would send to.
    std::vector<int> nvswitches;
    for (int server = 0; server < gpus / per_server; server++) nvswitches.push_back(gpus + server);
    MockNcclLog::set_log_name("SimAI.log");
    std::vector<AstraSim::Sys *> systems;
    for (int i = 0; i < gpus; i++) {
        // They live until the workload has finished, and delete themselves.
        systems.push_back(new AstraSim::Sys(new Rank(i, shared), nullptr, i, 0, 1, {gpus}, {1}, "", given["workload"], 1, 1, 1, 1, 0,
                                            text("prefix", "ncclFlowModel_"), "xoff", true, false, GPUS.at(text("gpu-type", "A100")), {gpus}, nvswitches, per_server));
        systems.back()->num_gpus = gpus;
    }
    for (AstraSim::Sys *system : systems) system->workload->fire();
    bool deadlock = false;
    while (!shared.finished && !deadlock) {
        auto event = net.next();
        if (!event) break;
        deadlock = event->what == XOFF_DEADLOCK;
        shared.on(*event);
    }
    uint64_t lost = net.lost_frames();
    std::cout << (deadlock ? "deadlock" : shared.finished ? "finished" : "not finished") << " at " << static_cast<double>(net.now()) / 1e3
              << " ns: " << shared.sent << " messages, " << static_cast<double>(shared.bytes) / 1e6 << " MB, " << lost << " frames lost\n";
    bool good = shared.finished && lost == 0;
    if (!given["results"].empty()) {
        good = net.finish(given["results"]) && good;
        std::cout << "results in " << given["results"] << ": xoff view " << given["results"] << "\n";
    }
    return good ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
    std::cout.precision(15);
    std::map<std::string, std::string> given;
    for (int i = 1; i < argc; i++) {
        std::string option = argv[i];
        size_t equals = option.find('=');
        std::string name = option.substr(0, equals);
        if (name == "--help") {
            std::cout << USAGE;
            return 0;
        }
        if (equals == std::string::npos || std::string(USAGE).find("  " + name + " ") == std::string::npos) {
            std::cerr << "xoff-simai: " << option << " is no option\n" << USAGE;
            return 2;
        }
        given[name.substr(2)] = option.substr(equals + 1);
    }
    try {
        return simulate(given);
    } catch (const std::exception &e) {
        std::cerr << "xoff-simai: " << e.what() << "\n";
        return 2;
    }
}
