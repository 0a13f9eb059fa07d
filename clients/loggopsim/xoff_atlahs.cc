// ATLAHS's front end over a network of xoff: GOAL schedules, whose receives LogGOPSim matches.
//
//   start_lgs -> AtlahsApi::Send            -> xoff_send
//   start_lgs <- AtlahsApi::EventFinished   <- delivered <- xoff_next
//   computation stays in its event list, and both have one clock: see __wrap below
#include <cstdlib>
#include <iostream>
#include <fstream>
#include <map>
#include <new>
#include <queue>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "logsim-interface.h"
#include "lgs/Parser.hpp"
#include "xoff.hpp"

namespace {

// Later than any event of a run: the front end looks at the first pending event without asking whether there is one.
constexpr simtime_picosec END = uint64_t{1} << 62;

// The schedule cannot go on.
struct Stuck : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Xoff : public AtlahsHtsimApi {
  public:
    Xoff(const std::string &scenario, const std::string &folder, unsigned priority) : net(scenario, {priority}, folder), hosts_(net.hosts()), priority_(priority) {}

    void Send(const SendEvent &event, graph_node_properties node) override {
        uint64_t id = net.send(host(event.getFrom(), node), host(event.getTo(), node), node.size, static_cast<uint8_t>(priority_), 0, node.tag);
        under_way_.emplace(id, Message{node, event.getStartTimeEvent()});
        messages++;
        bytes += node.size;
    }
    void delivered(uint64_t id) {
        auto found = under_way_.find(id);
        Message message = found->second;
        under_way_.erase(found);
        EventOver over;
        over.node = &message.node;
        over.start_time_event = message.start;
        EventFinished(over);
    }

    xoff_cpp::network net;
    uint64_t messages = 0, bytes = 0;

  private:
    struct Message {
        graph_node_properties node;
        uint64_t start;
    };
    uint32_t host(int rank, const graph_node_properties &node) {
        size_t number = getNumberNic() > 1 ? static_cast<size_t>(getHtsimNodeNumber(rank, node.nic)) : static_cast<size_t>(rank);
        if (number >= hosts_.size())
            throw std::runtime_error("the schedule uses host " + std::to_string(number) + ", but the scenario has " + std::to_string(hosts_.size()) + " hosts");
        return hosts_[number];
    }
    std::vector<uint32_t> hosts_;
    unsigned priority_;
    std::unordered_map<uint64_t, Message> under_way_;
};

Xoff *xoff_api;

// Hands over messages at the time at which they arrived.
class Arrivals : public EventSource {
  public:
    Arrivals(EventList &list) : EventSource(list, "arrivals") {}
    void add(const xoff_event &event) {
        ids_.push(event.id);
        eventlist().sourceIsPending(*this, event.time_ps);
    }
    void doNextEvent() override {
        uint64_t id = ids_.front();
        ids_.pop();
        xoff_api->delivered(id);
    }

  private:
    std::queue<uint64_t> ids_;
};

class End : public EventSource {
  public:
    End(EventList &list) : EventSource(list, "end") { list.sourceIsPending(*this, END); }
    void doNextEvent() override { throw Stuck("not finished"); }
};

Arrivals *arrivals;

}  // namespace

// The linker puts this in the place of EventList::doNextEvent (--wrap): messages that arrive until the next event come first.
extern "C" bool __real__ZN9EventList11doNextEventEv();
extern "C" bool __wrap__ZN9EventList11doNextEventEv() {
    simtime_picosec until = EventList::getPendingSources().begin()->first;
    while (auto event = xoff_api->net.next(until == END ? XOFF_FOREVER : until)) {
        if (event->what == XOFF_DEADLOCK) throw Stuck("deadlock");
        if (event->what == XOFF_DELIVERED) {
            arrivals->add(*event);
            break;
        }
    }
    return __real__ZN9EventList11doNextEventEv();
}

namespace {

std::string read(const std::string &path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

// Sends and receives between two ranks. The front end ends in silence when nothing is left that it can start.
std::pair<uint64_t, uint64_t> messages_of(const std::string &goal) {
    Parser parser(goal, false);
    uint64_t sends = 0, receives = 0;
    for (uint32_t rank = 0; rank < parser.schedules.size(); rank++) {
        SerializedGraph::nodelist_t ready;
        do {
            ready.clear();
            parser.schedules[rank].GetExecutableNodes(&ready);
            for (const graph_node_properties &node : ready) {
                sends += node.type == OP_SEND && node.target != rank;
                receives += node.type == OP_RECV && node.target != rank;
                parser.schedules[rank].MarkNodeAsStarted(node.offset);
                parser.schedules[rank].MarkNodeAsDone(node.offset);
            }
        } while (!ready.empty());
    }
    return {sends, receives};
}

constexpr const char *USAGE =
    "xoff-atlahs --goal=FILE --network=SCENARIO [--overhead=NS] [--priority=3] [--results=DIR]\n"
    "  --goal      binary GOAL, as txt2bin writes it\n"
    "  --network   scenario of xoff (TOML)\n"
    "  --overhead  LogGOPS's o [ns]\n"
    "  --priority  priority of all messages\n"
    "  --results   folder for tables and report\n";

// Exit code: 0, or 1: a deadlock, lost frames, operations that have not finished.
int simulate(std::map<std::string, std::string> given) {
    for (const char *wanted : {"goal", "network"})
        if (given[wanted].empty()) throw std::runtime_error("--" + std::string(wanted) + " is missing");
    read(given["goal"]);
    auto [sends, receives] = messages_of(given["goal"]);
    if (sends != receives) throw std::runtime_error(given["goal"] + " has " + std::to_string(sends) + " sends and " + std::to_string(receives) + " receives");
    std::string scenario = given["network"];
    size_t slash = scenario.find_last_of('/');
    Xoff api(read(scenario), slash == std::string::npos ? "." : scenario.substr(0, slash), given.count("priority") ? std::stoul(given["priority"]) : 3);
    xoff_api = &api;
    EventList &clock = EventList::getTheEventList();
    Arrivals on_arrival(clock);
    arrivals = &on_arrival;
    End end(clock);
    // Its constructor reads members that nothing has set: zeros.
    void *room = std::calloc(1, sizeof(LogSimInterface));
    LogSimInterface &front_end = *new (room) LogSimInterface(nullptr, static_cast<TrafficLoggerSimple *>(nullptr), clock, nullptr, nullptr);
    api.setEventList(&clock);
    api.setLogSimInterface(&front_end);
    front_end.htsim_api = &api;
    front_end.set_protocol(EQDS_PROTOCOL);
    front_end.percentage_lgs = 0;
    if (given.count("overhead")) front_end.lgs_o = std::stoi(given["overhead"]);
    std::string how = "finished";
    simtime_picosec at = 0;
    try {
        start_lgs(given["goal"], front_end);
        at = EventList::now();
        if (api.messages != sends) how = "not finished";
    } catch (const Stuck &stuck) {
        how = stuck.what();
        at = api.net.now();
    }
    uint64_t lost = api.net.lost_frames();
    std::cout << how << " at " << static_cast<double>(at) / 1e3 << " ns: " << api.messages << " messages, " << static_cast<double>(api.bytes) / 1e6 << " MB, "
              << lost << " frames lost\n";
    bool good = how == "finished" && lost == 0;
    if (!given["results"].empty()) {
        good = api.net.finish(given["results"]) && good;
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
            std::cerr << "xoff-atlahs: " << option << " is no option\n" << USAGE;
            return 2;
        }
        given[name.substr(2)] = option.substr(equals + 1);
    }
    try {
        return simulate(given);
    } catch (const std::exception &e) {
        std::cerr << "xoff-atlahs: " << e.what() << "\n";
        return 2;
    }
}
