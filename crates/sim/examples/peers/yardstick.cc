// Speed of the machine at a basic operation of every simulator: remove the first of 1000 pending events
// from an ordered map and insert another. Prints million events per second.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>

int main() {
    std::multimap<uint64_t, int> pending;
    uint64_t state = 88172645463325252ull;
    auto random = [&state] {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state;
    };
    for (int i = 0; i < 1000; i++) pending.emplace(random() % 1000000, i);
    const int events = 5000000;
    double best = 0;
    for (int round = 0; round < 3; round++) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < events; i++) {
            const auto first = pending.begin();
            const auto [at, source] = *first;
            pending.erase(first);
            pending.emplace(at + random() % 1000000, source);
        }
        const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
        const double rate = events / wall.count() / 1e6;
        if (rate > best) best = rate;
    }
    std::printf("%.2f\n", best);
    return 0;
}
