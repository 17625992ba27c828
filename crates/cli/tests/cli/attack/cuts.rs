//! Paths that are cut and return, under transfers through the gateway, the agent and two proxies.
//!
//! A device in `tandem emulate` loses its interfaces in turn, and its links fall silent between. No
//! byte may be lost, no transfer may stall for longer than the kernel's timers explain, and no
//! descriptor or subflow may stay. `TANDEM_CUTS=1000` runs the long form.
//!
//! `a_server` and `a_client` are programs of the test: ignored tests that it starts in the namespaces.

use super::env_number;
use crate::emulate::part;
use crate::support::{Place, tandem_path};
use crate::testbed::host_state;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

const PORT: u16 = 5000;
/// Bytes of each transfer, in each direction.
const TRANSFER_BYTES: usize = 600_000;
/// Time without progress that the kernel's timers explain: three retransmission timeouts of a SYN
/// (1 s, 2 s and 4 s, RFC 6298) while both links are cut in turn.
const MAX_STALL: Duration = Duration::from_secs(7);
/// Length of a cut, and the time from the beginning of one to that of the next, of each kind.
const CUT_MS: u64 = 300;
const PERIOD_MS: u64 = 1500;

/// Bytes of a transfer: they differ for each number of a transfer, and repeat after no power of two.
fn byte(transfer: u64, at: usize) -> u8 {
    (transfer as usize * 31 + at % 65_521 * 7 + at / 65_521) as u8
}

fn pattern(transfer: u64) -> Vec<u8> {
    (0..TRANSFER_BYTES).map(|at| byte(transfer, at)).collect()
}

/// Reads up to the end of stream; the bytes, and the longest time without progress.
fn read_all(stream: &mut TcpStream) -> (Vec<u8>, Duration) {
    let (mut all, mut longest, mut last) = (Vec::new(), Duration::ZERO, Instant::now());
    let mut part = vec![0; 64 << 10];
    loop {
        let count = stream.read(&mut part).unwrap();
        longest = longest.max(last.elapsed());
        last = Instant::now();
        if count == 0 {
            return (all, longest);
        }
        all.extend_from_slice(&part[..count]);
    }
}

/// Receives a transfer and its number, checks it, and sends the transfer with the next number.
fn serve(mut stream: TcpStream) {
    let (received, _) = read_all(&mut stream);
    let (number, received) = received.split_first_chunk::<8>().unwrap();
    let number = u64::from_be_bytes(*number);
    assert!(received == pattern(number), "transfer {number} arrives changed at the server");
    stream.write_all(&pattern(number + 1)).unwrap();
}

#[test]
#[ignore = "helper program of other tests"]
fn a_server() {
    let Ok(address) = std::env::var("TANDEM_SERVER") else { return };
    let listener = TcpListener::bind((address.as_str(), PORT)).unwrap();
    for stream in listener.incoming() {
        let stream = stream.unwrap();
        thread::spawn(move || serve(stream));
    }
}

#[test]
#[ignore = "helper program of other tests"]
fn a_client() {
    let Ok(address) = std::env::var("TANDEM_SERVER") else { return };
    let (mut transfers, mut longest) = (0, Duration::ZERO);
    while !Path::new("stop").exists() {
        let begin = Instant::now();
        let mut stream = TcpStream::connect((address.as_str(), PORT)).unwrap();
        longest = longest.max(begin.elapsed());
        stream.write_all(&(transfers * 2_u64).to_be_bytes()).unwrap();
        for part in pattern(transfers * 2).chunks(64 << 10) {
            let begin = Instant::now();
            stream.write_all(part).unwrap();
            longest = longest.max(begin.elapsed());
        }
        stream.shutdown(Shutdown::Write).unwrap();
        let (received, stall) = read_all(&mut stream);
        assert!(received == pattern(transfers * 2 + 1), "transfer {transfers} arrives changed at the client");
        longest = longest.max(stall);
        transfers += 1;
    }
    println!("\ntransfers={transfers}\nstall_ms={}", longest.as_millis());
}

/// Two links that fall silent in turn, between the cuts of the interfaces.
fn scenario(silences: u64) -> String {
    let mut text = "title = 'cuts'\nseed = 1\nduration = '3s'\n[device]\nname = 'phone'\n".to_owned();
    for (nth, (name, rate)) in [("wifi", "20Mbps"), ("lte", "15Mbps")].into_iter().enumerate() {
        let outages: Vec<String> = (0..silences / 2)
            .map(|at| 5000 + (2 * at + nth as u64) * PERIOD_MS)
            .map(|from| format!("['{from}ms', '{}ms']", from + CUT_MS))
            .collect();
        let link = format!("{{ rate = '{rate}', delay = '10ms', outages = [{}] }}", outages.join(", "));
        _ = writeln!(
            text,
            "[[path]]\nname = '{name}'\nradio = 'huang2012.{name}'\ndown = {link}\nup = {link}"
        );
    }
    text + "[transport]\nprotocol = 'mptcp'\npreset = 'linux'\n[[traffic]]\nkind = 'bulk'\n"
}

/// Device: the gateway, the client, and a loop that takes each interface down in turn.
const DEVICE: &str = r#"
# After SYNs that silence lost, Linux would use plain TCP for an hour (docs/how-to/gateway.md).
[ -e /proc/sys/net/mptcp/blackhole_timeout ] && sysctl -qw net.mptcp.blackhole_timeout=0
mkdir -p near
export RUNTIME_DIRECTORY=$PWD/near STATE_DIRECTORY=$PWD/near
"$TANDEM" gateway up --upstream 10.77.255.1:1080 --include 10.77.255.0/24 \
    --interface wifi=wifi --interface lte=lte 2>gateway.log &
gateway=$!
until "$TANDEM" gateway status >/dev/null 2>&1; do
    kill -0 $gateway || exit 1
    sleep 0.2
done
"$@" & client=$!
sleep 1
descriptors() { ls /proc/$gateway/fd | wc -l; }
cut=0
while [ $cut -lt $CUTS ] && kill -0 $client 2>/dev/null; do
    if [ $((cut % 2)) = 0 ]; then link=wifi from=10.77.0.2 metric=100
    else link=lte from=10.77.1.2 metric=101; fi
    ip link set $link down
    sleep 0.3
    ip link set $link up
    ip route replace 10.77.255.1 dev $link src $from proto static scope link metric $metric
    sleep 1.2
    cut=$((cut + 1))
    [ $cut = 4 ] && echo "descriptors_early=$(descriptors)"
done
touch stop
wait $client || echo "client=failed"
sleep 3
echo "cuts=$cut"
echo "descriptors_late=$(descriptors)"
echo "subflows=$(ss -Htn state established | grep -c :1080)"
"$TANDEM" gateway down >&2
wait $gateway
echo "gateway=$?"
"#;

const SERVER: &str = r#"
mkdir -p far
RUNTIME_DIRECTORY=$PWD/far "$TANDEM" proxy --listen 10.77.255.1:1080 --allow 10.77.0.0/16 \
    --allow-destination 10.77.255.0/24 2>proxy.log &
exec "$@"
"#;

#[test]
#[ignore = "needs root"]
fn needs_root_cut_paths_lose_no_byte_and_leak_nothing() {
    let place = Place::new();
    let cuts = env_number("TANDEM_CUTS", 12);
    place.write("cuts.toml", &scenario(cuts));
    place.write("device.sh", DEVICE);
    place.write("server.sh", SERVER);
    let server = format!("sh server.sh {}", part("attack::cuts::a_server").join(" "));
    let client = part("attack::cuts::a_client");
    let before = host_state();
    let mut arguments = vec!["emulate", "cuts.toml", "--mptcp", "asked", "--server", &server, "--"];
    arguments.extend(["sh", "device.sh"].into_iter().chain(client.iter().map(String::as_str)));
    let mut command = place.command(&arguments);
    let output = command.env("TANDEM", tandem_path()).env("CUTS", (cuts / 2).to_string()).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let logs = ["gateway.log", "proxy.log"].map(|name| fs::read_to_string(place.path().join(name)));
    let told = format!("{out}\n{err}\n{logs:?}");
    assert!(output.status.success() && !out.contains("client=failed"), "{told}");
    let number = |key: &str| {
        let line = out.lines().find_map(|line| line.strip_prefix(&format!("{key}=")));
        line.and_then(|text| text.parse::<u64>().ok()).unwrap_or_else(|| panic!("no {key} in {told}"))
    };
    println!("{}", out.lines().filter(|line| line.contains('=')).collect::<Vec<_>>().join(" "));
    assert_eq!(number("cuts"), cuts / 2, "{told}");
    assert!(number("transfers") > cuts / 6, "{told}");
    assert!(u128::from(number("stall_ms")) < MAX_STALL.as_millis(), "{told}");
    assert_eq!(number("subflows"), 0, "subflows of ended connections stay: {told}");
    assert!(number("descriptors_late") <= number("descriptors_early"), "descriptors stay: {told}");
    assert_eq!(number("gateway"), 0, "{told}");
    assert_eq!(host_state(), before, "the host is as before");
}
