// The rows of the comparison in htsim (https://github.com/Broadcom/csg-htsim): TCP, and windows coupled as
// by LIA over two paths. Prints the delivered data segments and the wall time in seconds.
//
//   htsim ROW SECONDS

#include "clock.h"
#include "config.h"
#include "eventlist.h"
#include "loggers.h"
#include "mtcp.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <vector>

static const int packet_bytes = 1500;
// Queues of 100 ms, as in the other simulators.
static const double queue_ms = 100;
// Larger than any window.
static const int receive_window_bytes = 100'000'000;

// Both directions of a path.
struct Path {
    Path(EventList &events, double mbps, int delay_ms)
        : down(queue(events, mbps)), up(queue(events, mbps)), there(timeFromMs(delay_ms), events),
          back(timeFromMs(delay_ms), events) {}

    static Queue queue(EventList &events, double mbps) {
        const int packets = int(mbps * 1e6 * queue_ms / 1e3 / 8 / packet_bytes);
        return Queue(speedFromMbps(mbps), memFromPkt(packets), events, nullptr);
    }

    Queue down, up;
    Pipe there, back;
};

struct Work {
    std::vector<double> mbps;
    std::vector<int> delay_ms;
    int connections;
    bool multipath;
    // Initial slow-start threshold in packets that overflows no queue: the fastest case of htsim.
    int ssthresh;
};

// Connections with 1 Mbit/s each.
static Work equal_shares(int connections) { return {{double(connections)}, {50}, connections, false, 8}; }

static route_t *route(std::initializer_list<PacketSink *> hops) {
    auto *route = new route_t();
    for (PacketSink *hop : hops) route->push_back(hop);
    return route;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    Work work;
    switch (std::atoi(argv[1])) {
        case 0: work = {{100}, {50}, 1, false, 1200}; break;
        case 1: work = {{2, 100}, {5, 50}, 1, true, 1200}; break;
        case 2: work = {{100, 100}, {50, 50}, 1, true, 1200}; break;
        case 3: work = {{1000}, {50}, 1000, false, 8}; break;
        case 4: work = equal_shares(10); break;
        case 5: work = equal_shares(100); break;
        case 6: work = equal_shares(1000); break;
        case 7: work = equal_shares(10'000); break;
        default: return 2;
    }
    // It reports timeouts on standard output.
    std::cout.setstate(std::ios::failbit);
    srand(1);
    Packet::set_packet_size(packet_bytes);
    EventList events;
    events.setEndtime(timeFromSec(std::atof(argv[2])));
    TcpRtxTimerScanner timers(timeFromMs(10), events);
    MultipathTcpSrc source(COUPLED_INC, events, nullptr, receive_window_bytes);
    MultipathTcpSink sink(events);
    source.connect(&sink);

    std::vector<std::unique_ptr<Path>> paths;
    for (size_t i = 0; i < work.mbps.size(); i++)
        paths.push_back(std::make_unique<Path>(events, work.mbps[i], work.delay_ms[i]));
    std::vector<TcpSink *> sinks;
    for (int i = 0; i < work.connections; i++) {
        for (auto &path : paths) {
            auto *from = new TcpSrc(nullptr, nullptr, events);
            auto *to = new TcpSink();
            from->set_ssthresh(work.ssthresh * packet_bytes);
            timers.registerTcp(*from);
            if (work.multipath) {
                source.addSubflow(from);
                sink.addSubflow(to);
            }
            const auto *there = route({&path->down, &path->there, to});
            const auto *back = route({&path->up, &path->back, from});
            // A thousand initial windows at once would overflow the queue.
            const double start_ms = work.connections > 1 ? 50 * drand() : 0;
            from->connect(*there, *back, *to, timeFromMs(start_ms));
            sinks.push_back(to);
        }
    }

    const auto start = std::chrono::steady_clock::now();
    while (events.doNextEvent()) {}
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    uint64_t bytes = 0;
    for (TcpSink *each : sinks) bytes += each->cumulative_ack();
    std::printf("%llu %.6f\n", (unsigned long long)(bytes / packet_bytes), wall.count());
    return 0;
}
