// Network of astra-sim, and of simulators that contain it: one network of xoff for all ranks, rank i is host i of the scenario.
//
//   Sys -> sim_send, sim_recv, sim_schedule -> xoff_send, xoff_recv, xoff_schedule
//   Sys <- callbacks <- acknowledged or delivered, received, timer <- xoff_next
#ifndef XOFF_RANK_HH
#define XOFF_RANK_HH

#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "astra-sim/common/AstraNetworkAPI.hh"
#include "xoff.hpp"

namespace xoff_astra {

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
    size_t size() const { return waiting_.size(); }

  private:
    std::unordered_map<uint64_t, Callback> waiting_;
    uint64_t next_ = 0;
};

inline std::string read(const std::string &path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

// What all ranks share.
struct Shared {
    xoff_cpp::network net;
    std::vector<uint32_t> hosts;
    uint8_t priority;
    uint32_t queue_pair;
    // The event that ends a send.
    xoff_what send_ends;
    Waiting sent, received, timers;
    // The tag of xoff matches receives, so the token of a send is found by the number of its message.
    std::unordered_map<uint64_t, uint64_t> token_of_message;
    uint64_t messages = 0, bytes = 0;
    int finished_ranks = 0;

    Shared(const std::string &scenario, unsigned priority, uint32_t queue_pair, xoff_what send_ends)
        : net(read(scenario), {priority}, folder_of(scenario)), hosts(net.hosts()), priority(static_cast<uint8_t>(priority)), queue_pair(queue_pair),
          send_ends(send_ends) {
        net.enable(XOFF_RECEIVED);
        if (send_ends == XOFF_ACKNOWLEDGED) net.enable(XOFF_ACKNOWLEDGED);
    }
    // Runs the callback that waits for an event.
    void on(const xoff_event &event) {
        if (event.what == XOFF_TIMER) {
            timers.run(event.tag);
        } else if (event.what == XOFF_RECEIVED) {
            received.run(event.tag);
        } else if (event.what == send_ends) {
            auto found = token_of_message.find(event.id);
            uint64_t token = found->second;
            token_of_message.erase(found);
            messages++;
            sent.run(token);
        }
    }

  private:
    static std::string folder_of(const std::string &path) {
        size_t end = path.find_last_of('/');
        return end == std::string::npos ? "." : path.substr(0, end);
    }
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
    void sim_notify_finished() override { shared_.finished_ranks++; }

  private:
    uint32_t host(int of) const { return shared_.hosts.at(static_cast<size_t>(of)); }
    Shared &shared_;
};

}  // namespace xoff_astra

#endif
