// The rows of the comparison in ns-3: TCP over point-to-point links, because the main line of ns-3 has no
// Multipath TCP. Prints the delivered data segments and the wall time in seconds.
//
//   ns3 ROW SECONDS

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace ns3;

static const uint32_t segment = 1448;

struct Link { double mbps; int delay_ms; int connections; };

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const int row = std::atoi(argv[1]);
    const double seconds = std::atof(argv[2]);
    std::vector<Link> links;
    switch (row) {
        case 0: links = {{100, 50, 1}}; break;
        case 1: links = {{2, 5, 1}, {100, 50, 1}}; break;
        case 2: links = {{100, 50, 1}, {100, 50, 1}}; break;
        case 3: links = {{1000, 50, 1000}}; break;
        default: return 2;
    }
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));

    NodeContainer nodes;
    nodes.Create(2);
    InternetStackHelper stack;
    stack.Install(nodes);
    ApplicationContainer sinks, sources;
    uint16_t port = 5000;
    int subnet = 1;
    for (const Link &link : links) {
        PointToPointHelper wire;
        wire.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(link.mbps * 1e6))));
        wire.SetChannelAttribute("Delay", TimeValue(MilliSeconds(link.delay_ms)));
        // A queue of 100 ms, in full packets.
        const auto packets = uint32_t(link.mbps * 1e6 * 0.1 / 8 / 1502);
        wire.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize",
                      QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, packets)));
        NetDeviceContainer devices = wire.Install(nodes);
        Ipv4AddressHelper addresses;
        const std::string base = "10.1." + std::to_string(subnet++) + ".0";
        addresses.SetBase(base.c_str(), "255.255.255.0");
        Ipv4InterfaceContainer at = addresses.Assign(devices);
        for (int i = 0; i < link.connections; i++, port++) {
            PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
            sinks.Add(sink.Install(nodes.Get(1)));
            BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(at.GetAddress(1), port));
            source.SetAttribute("MaxBytes", UintegerValue(0));
            source.SetAttribute("SendSize", UintegerValue(segment));
            sources.Add(source.Install(nodes.Get(0)));
        }
    }
    sinks.Start(Seconds(0));
    sources.Start(Seconds(0));
    const auto start = std::chrono::steady_clock::now();
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < sinks.GetN(); i++) bytes += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
    Simulator::Destroy();
    std::printf("%llu %.6f\n", (unsigned long long)(bytes / segment), wall.count());
    return 0;
}
