use crate::wait_until;
use crate::world::{Connection, connect_to, ip, world};
use std::io::{Read, Write};
use tandem_linux::diag::{Diag, Filter, Subflow};
use tandem_linux::mib::Mib;
use tandem_linux::pm::{Endpoint, PathManager};
use tandem_linux::socket::{
    self, Options, Protocol, TcpState, full_info, mptcp_info, set_congestion, tcp_info,
};
use tandem_linux::{Error, sysctl};

fn find(diag: &mut Diag, filter: &Filter) -> Result<Vec<Subflow>, Error> {
    let mut all = Vec::new();
    diag.for_each_subflow(filter, |subflow| all.push(subflow))?;
    Ok(all)
}

#[test]
#[ignore = "needs root"]
fn subflows_carry_tcp_and_mptcp_statistics() {
    world(|world| {
        PathManager::open()?.add(&Endpoint::subflow(7, ip("10.2.0.2")))?;
        let (mut here, mut there) = (Diag::open()?, world.server.run(Diag::open)?);
        assert_eq!((here.subflows()?, here.connections()?), (vec![], vec![]));
        let Connection { near, far, .. } = &mut world.connect("10.1.0.1", Protocol::Mptcp)?;
        let _tcp = world.connect("10.1.0.1", Protocol::Tcp)?;
        wait_until("the subflow has joined", || {
            Ok(here.subflows()?.iter().filter(|one| one.fully_established).count() == 2)
        })?;
        near.write_all(&vec![7; 100_000]).expect("open connection");
        far.read_exact(&mut vec![0; 100_000]).expect("open connection");
        let (near, far) = (&*near, &*far);

        let token = mptcp_info(near)?.unwrap().token;
        let remote_token = mptcp_info(far)?.unwrap().token;
        let mut all = here.subflows()?;
        all.sort_by_key(|one| one.joined);
        assert_eq!(all.len(), 2, "plain TCP connections are excluded: {all:#?}");
        let [first, second] = &all[..] else { unreachable!() };
        assert_eq!((Some(first.local), Some(first.remote)), (near.local_addr().ok(), near.peer_addr().ok()));
        assert_eq!((second.local.ip(), second.remote), (ip("10.2.0.2"), first.remote));
        assert_eq!((first.local_id, second.local_id), (0, 7));
        assert_ne!(first.cookie, second.cookie);
        for one in &all {
            assert_eq!(one.token, token);
            assert_eq!(one.remote_token, if one.joined { remote_token } else { 0 });
            assert_eq!((one.tcp.state, one.congestion.as_str()), (TcpState::Established, ""));
            assert!(one.tcp.srtt_us > 0 && one.tcp.cwnd > 0 && one.tcp.mss > 500, "{one:#?}");
        }
        let sent: u64 = all.iter().map(|one| one.tcp.bytes_sent - one.tcp.bytes_retransmitted).sum();
        assert!(sent >= 100_001, "{sent}");

        let found = here.connection(token)?.unwrap();
        assert_eq!(found.info.bytes_sent, 100_001);
        assert_eq!((found.info.subflows, found.info.extra_subflows, found.info.token), (2, 1, token));
        assert_eq!(here.connections()?, [here.connection(token)?.unwrap()]);
        assert_eq!(here.connection(token.wrapping_add(1))?, None);
        let opposite = there.connection(remote_token)?.unwrap();
        assert_eq!((opposite.info.bytes_received, opposite.local), (100_001, found.remote));

        // MPTCP_FULL_INFO of the own socket agrees.
        let mut own = full_info(near)?;
        own.sort_by_key(|one| one.local);
        for one in own {
            let listed = all.iter().find(|listed| listed.local == one.local).unwrap();
            assert_eq!(one.remote, listed.remote);
            assert_eq!((one.tcp.mss, one.tcp.bytes_sent), (listed.tcp.mss, listed.tcp.bytes_sent));
        }
        assert_eq!(tcp_info(near)?.mss, first.tcp.mss);
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn filters_select_subflows() {
    world(|world| {
        PathManager::open()?.add(&Endpoint::subflow(7, ip("10.2.0.2")))?;
        let mut diag = Diag::open()?;
        let one = world.connect("10.1.0.1", Protocol::Mptcp)?;
        let _other = world.connect("10.1.0.1", Protocol::Mptcp)?;
        let _new = world.connect("fd01::1", Protocol::Mptcp)?;
        wait_until("the subflows have joined", || Ok(diag.subflows()?.len() == 5))?;
        let token = mptcp_info(&one.near)?.unwrap().token;
        let port = one.near.local_addr().unwrap().port();

        let of_token = find(&mut diag, &Filter::token(token))?;
        assert_eq!(of_token.iter().filter(|one| one.token == token).count(), 2);
        assert_eq!(of_token.len(), 2);
        let of_address = find(&mut diag, &Filter::local(ip("10.2.0.2")))?;
        assert_eq!(of_address.iter().filter(|one| one.local_id == 7).count(), 2);
        assert_eq!(of_address.len(), 2);
        assert_eq!(find(&mut diag, &Filter::local(ip("fd01::2")))?.len(), 1);
        assert_eq!(find(&mut diag, &Filter::local(ip("10.9.9.9")))?.len(), 0);
        let of_port = find(&mut diag, &Filter { local_port: Some(port), ..Filter::default() })?;
        assert_eq!(of_port.iter().map(|one| one.local.port()).collect::<Vec<_>>(), [port]);
        let remote_port = one.near.peer_addr().ok().map(|peer| peer.port());
        let to_port = find(&mut diag, &Filter { remote_port, congestion: true, ..Filter::default() })?;
        assert_eq!(to_port.len(), 2);
        assert_eq!(to_port[0].congestion, sysctl::read("net.ipv4.tcp_congestion_control")?);
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn ipv4_on_ipv6_socket_matches_ipv4_filter() {
    world(|world| {
        let mut there = world.server.run(Diag::open)?;
        let listener = world.listen("::", Protocol::Mptcp)?;
        let (near, _far) = connect_to(&listener, ip("10.1.0.1"), Protocol::Mptcp)?;
        let found = find(&mut there, &Filter::local(ip("10.1.0.1")))?;
        assert_eq!(found.iter().map(|one| Some(one.remote)).collect::<Vec<_>>(), [near.local_addr().ok()]);
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn mp_prio_reaches_peer_and_counters() {
    world(|world| {
        let mut pm = PathManager::open()?;
        pm.add(&Endpoint::subflow(7, ip("10.2.0.2")))?;
        let (mut here, mut there) = (Diag::open()?, world.server.run(Diag::open)?);
        let before = world.server.run(Mib::read)?;
        let _connection = world.connect("10.1.0.1", Protocol::Mptcp)?;
        let from = Filter::local(ip("10.2.0.2"));
        wait_until("the subflow has joined", || {
            Ok(find(&mut here, &from)?.iter().any(|one| one.fully_established))
        })?;
        for backup in [true, false] {
            pm.set_backup(7, backup)?;
            let id = |one: &Subflow| one.remote_id == 7;
            wait_until("the peer has received MP_PRIO", || {
                Ok(there.subflows()?.iter().any(|one| id(one) && one.remote_backup == backup))
            })?;
            let own = find(&mut here, &from)?;
            assert_eq!((own[0].backup, own[0].remote_backup), (backup, false));
        }
        let counted = world.server.run(Mib::read)?.since(&before);
        assert_eq!(counted.counter("MPTcpExtMPPrioRx"), Some(2));
        assert_eq!(counted.counter("MPTcpExtMPJoinAckRx"), Some(1));
        let sent = Mib::read()?.counter("MPTcpExtMPPrioTx");
        assert_eq!(sent, Some(2), "counters are per namespace");
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn unread_data_counts_as_queued() {
    world(|world| {
        let connection = world.connect("10.1.0.1", Protocol::Mptcp)?;
        let near = &connection.near;
        assert_eq!((socket::unacknowledged(near)?, socket::unsent(near)?), (0, 0));
        near.set_nonblocking(true).expect("open connection");
        let mut written = 1;
        // Autotuning grows both buffers while they fill.
        wait_until("the buffers are full", || {
            let before = written;
            while let Ok(more) = (&*near).write(&[0; 8192]) {
                written += more as u64;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
            Ok(written == before)
        })?;
        let (queued, unsent) = (socket::unacknowledged(near)?, socket::unsent(near)?);
        assert!(queued > 0 && unsent > 0 && unsent <= queued, "{queued} {unsent}");
        let info = mptcp_info(near)?.unwrap();
        assert_eq!(queued, info.outstanding());
        assert_eq!(queued, written - info.bytes_acked);
        let token = info.token;
        let listed = Diag::open()?.connection(token)?.unwrap();
        assert_eq!(listed.info.outstanding(), queued);
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn options_apply_before_connect() {
    world(|world| {
        let listener = world.listen("10.1.0.1", Protocol::Mptcp)?;
        let options = Options {
            congestion: Some("reno".to_owned()),
            send_buffer: Some(300_000),
            bind_device: Some("lte0".to_owned()),
            no_delay: true,
            timeout: Some(std::time::Duration::from_secs(5)),
            ..Options::default()
        };
        let at = std::net::SocketAddr::new(ip("10.1.0.1"), listener.local_addr().unwrap().port());
        let near = socket::connect(at, Protocol::Mptcp, &options)?;
        let index = tandem_linux::route::Route::open()?.link("lte0")?.index;
        let mut diag = Diag::open()?;
        let all = find(&mut diag, &Filter { congestion: true, ..Filter::default() })?;
        assert_eq!((all[0].congestion.as_str(), all[0].device), ("reno", index));
        assert_eq!(all[0].local.ip(), ip("10.2.0.2"));
        set_congestion(&near, "cubic")?;
        let all = find(&mut diag, &Filter { congestion: true, ..Filter::default() })?;
        assert_eq!(all[0].congestion, "cubic");
        let error = set_congestion(&near, "nosuch").unwrap_err();
        assert!(error.to_string().contains("no congestion control called nosuch"), "{error}");

        let from = Options { bind: Some("10.2.0.2:0".parse().unwrap()), ..Options::default() };
        let bound = socket::connect(at, Protocol::Tcp, &from)?;
        assert_eq!(bound.local_addr().unwrap().ip(), ip("10.2.0.2"));
        let closed_port = std::net::SocketAddr::new(ip("10.1.0.1"), 9);
        let refused = socket::connect(closed_port, Protocol::Mptcp, &Options::default()).unwrap_err();
        assert_eq!(refused.errno(), Some(111), "{refused}");
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn connect_times_out() {
    world(|world| {
        // SYNs get no answer: 10.2.0.9 does not exist, and the other link is down.
        world.server.run(|| {
            let mut route = tandem_linux::route::Route::open()?;
            let index = route.link("eth0")?.index;
            route.set_up(index, false)
        })?;
        let timeout = Some(std::time::Duration::from_millis(50));
        let at = "10.2.0.9:80".parse().unwrap();
        let error =
            socket::connect(at, Protocol::Tcp, &Options { timeout, ..Options::default() }).unwrap_err();
        assert_eq!(error.errno(), Some(110), "{error}");
        Ok(())
    });
}
