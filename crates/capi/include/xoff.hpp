// xoff.h for C++17: a network that is freed by itself, and errors as exceptions.
//
//     xoff_cpp::network net(scenario, {3});
//     net.send(net.host("H0"), net.host("H1"), 1000000, 3, XOFF_OWN_PAIR, 42);
//     while (auto e = net.next())
//         if (e->what == XOFF_DELIVERED) ...
#ifndef XOFF_HPP
#define XOFF_HPP

#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "xoff.h"

namespace xoff_cpp {

// What xoff_error says.
struct error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The functions of xoff.h, which documents them, with their names.
class network {
  public:
    // `priorities`: those that messages may have. `folder`: where files of the scenario are looked up.
    network(const std::string &scenario, std::initializer_list<unsigned> priorities, const std::string &folder = ".") {
        uint8_t bits = 0;
        for (unsigned p : priorities) {
            if (p > 7) throw error("priorities: " + std::to_string(p) + " (expected 0 to 7)");
            bits = static_cast<uint8_t>(bits | 1u << p);
        }
        net_.reset(xoff_new(scenario.c_str(), folder.c_str(), bits));
        if (!net_) throw error(xoff_error(nullptr));
    }
    // The network that `save` wrote.
    static network load(const std::string &path) {
        network loaded;
        loaded.net_.reset(xoff_load(path.c_str()));
        if (!loaded.net_) throw error(xoff_error(nullptr));
        return loaded;
    }
    void save(const std::string &path) { checked(xoff_save(get(), path.c_str())); }

    // Threads for `advance`; returns how many it will use.
    unsigned threads(unsigned n) { return static_cast<unsigned>(checked(xoff_threads(get(), n))); }
    // Nothing is sent before then; `next` returns what has happened.
    void advance(uint64_t until_ps) { checked(xoff_advance(get(), until_ps)); }

    uint32_t host(const std::string &name) const {
        return static_cast<uint32_t>(checked(xoff_host(get(), name.c_str())));
    }
    std::vector<uint32_t> hosts() const {
        std::vector<uint32_t> all(counted(xoff_hosts(get(), nullptr, 0), static_cast<size_t>(SIZE_MAX)));
        counted(xoff_hosts(get(), all.data(), all.size()), static_cast<size_t>(SIZE_MAX));
        return all;
    }
    uint64_t host_rate(uint32_t host) { return static_cast<uint64_t>(checked(xoff_host_rate(get(), host))); }
    uint64_t now() const { return counted(xoff_now(get()), static_cast<uint64_t>(UINT64_MAX)); }
    uint64_t lost_frames() const { return counted(xoff_lost_frames(get()), static_cast<uint64_t>(UINT64_MAX)); }

    void enable(xoff_what what) { checked(xoff_enable(get(), what)); }
    uint64_t send(uint32_t src, uint32_t dst, uint64_t bytes, uint8_t priority, uint32_t queue_pair, uint64_t tag) {
        return static_cast<uint64_t>(checked(xoff_send(get(), src, dst, bytes, priority, queue_pair, tag)));
    }
    uint64_t recv(uint32_t dst, uint32_t src, uint64_t tag, uint64_t bytes, uint64_t token) {
        return static_cast<uint64_t>(checked(xoff_recv(get(), dst, src, tag, bytes, token)));
    }
    uint64_t schedule(uint64_t after_ps, uint64_t tag) { return static_cast<uint64_t>(checked(xoff_schedule(get(), after_ps, tag))); }
    void fail_link(const std::string &link) { checked(xoff_fail_link(get(), link.c_str())); }
    void set_rate(const std::string &link, uint64_t bits_per_second) { checked(xoff_set_rate(get(), link.c_str(), bits_per_second)); }

    // Writes tables, manifest and report until now. False: frames were lost, or there is a deadlock.
    bool finish(const std::string &folder) { return checked(xoff_finish(get(), folder.c_str())) == 0; }

    // Empty: nothing happens until then, or, without a limit, nothing ever.
    std::optional<xoff_event> next(uint64_t until_ps = XOFF_FOREVER) {
        xoff_event event;
        if (checked(xoff_next(get(), until_ps, &event)) == 0) return std::nullopt;
        return event;
    }

    // For functions that are not here.
    xoff *get() const { return net_.get(); }

  private:
    network() = default;
    int64_t checked(int64_t answer) const {
        if (answer < 0) throw error(xoff_error(get()));
        return answer;
    }
    template <typename T>
    T counted(T answer, T failed) const {
        if (answer == failed) throw error(xoff_error(get()));
        return answer;
    }
    struct free {
        void operator()(xoff *net) const { xoff_free(net); }
    };
    std::unique_ptr<xoff, free> net_;
};

}  // namespace xoff_cpp

#endif
