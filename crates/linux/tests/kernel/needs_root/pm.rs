use crate::world::{Connection, World, connect_to, ip, world};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use tandem_linux::Error;
use tandem_linux::diag::Diag;
use tandem_linux::pm::{
    ConnectionEvent, Endpoint, Event, Events, Flags, Limits, PathManager, SubflowEvent, Target,
};
use tandem_linux::route::Route;
use tandem_linux::socket::{Protocol, TcpState, full_info, mptcp_info};
use tandem_linux::sysctl;

/// Waits for an event that `pick` accepts.
fn wait<T>(events: &mut Events, pick: impl Fn(&Event) -> Option<T>) -> Result<T, Error> {
    let mut seen = Vec::new();
    while let Some(event) = events.next(Duration::from_secs(10))? {
        if let Some(found) = pick(&event) {
            return Ok(found);
        }
        seen.push(event);
    }
    panic!("event missing; received: {seen:#?}")
}

fn subflow_established(event: &Event) -> Option<SubflowEvent> {
    if let Event::SubflowEstablished(one) = event { Some(*one) } else { None }
}

fn subflow_closed(event: &Event) -> Option<SubflowEvent> {
    if let Event::SubflowClosed(one) = event { Some(*one) } else { None }
}

fn priority(event: &Event) -> Option<SubflowEvent> {
    if let Event::Priority(one) = event { Some(*one) } else { None }
}

fn connection_established(event: &Event) -> Option<ConnectionEvent> {
    if let Event::Established(one) = event { Some(*one) } else { None }
}

fn lte(id: u8, address: &str) -> Result<Endpoint, Error> {
    let device = Route::open()?.link("lte0")?.index;
    Ok(Endpoint { device, ..Endpoint::subflow(id, ip(address)) })
}

#[test]
#[ignore = "needs root"]
fn endpoints_are_stored_as_given() {
    world(|_| {
        let mut pm = PathManager::open()?;
        let device = Route::open()?.link("lte0")?.index;
        let flags = Flags { subflow: true, backup: true, fullmesh: true, ..Flags::default() };
        let given = [
            Endpoint { id: 3, address: ip("10.2.0.2"), port: 0, device, flags },
            Endpoint { port: 4000, ..Endpoint::signal(9, ip("10.1.0.2")) },
            Endpoint::subflow(200, ip("fd02::2")),
        ];
        for endpoint in &given {
            pm.add(endpoint)?;
            assert_eq!(pm.endpoint(endpoint.id)?, *endpoint);
        }
        assert_eq!(pm.endpoints()?, given);
        pm.add(&Endpoint::subflow(0, ip("fd01::2")))?;
        let chosen = pm.endpoints()?.into_iter().find(|one| one.address == ip("fd01::2")).unwrap();
        assert_ne!(chosen.id, 0);
        pm.remove(3, ip("10.2.0.2"))?;
        assert_eq!(pm.endpoints()?.len(), 3);
        pm.flush()?;
        assert_eq!(pm.endpoints()?, []);
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn set_backup_keeps_other_flags() {
    world(|_| {
        let mut pm = PathManager::open()?;
        let flags = Flags { subflow: true, fullmesh: true, ..Flags::default() };
        pm.add(&Endpoint { flags, ..Endpoint::subflow(3, ip("10.2.0.2")) })?;
        pm.set_backup(3, true)?;
        assert_eq!(pm.endpoint(3)?.flags, Flags { backup: true, ..flags });
        pm.set_backup(ip("10.2.0.2"), false)?;
        assert_eq!(pm.endpoint(3)?.flags, flags);
        assert!(pm.set_backup(ip("10.2.0.9"), true).unwrap_err().to_string().contains("no endpoint"));
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn rejections_carry_kernel_message() {
    world(|_| {
        let mut pm = PathManager::open()?;
        let refusals = [
            pm.set_limits(Limits { subflows: 9, accepted_addresses: 0 }).unwrap_err(),
            pm.add(&Endpoint { port: 4000, ..Endpoint::subflow(1, ip("10.2.0.2")) }).unwrap_err(),
            pm.remove(77, ip("10.2.0.2")).unwrap_err(),
            pm.endpoint(77).unwrap_err(),
            pm.withdraw(0x1234_5678, 1).unwrap_err(),
        ];
        for error in refusals {
            let text = error.to_string();
            assert!(matches!(error, Error::Refused { ref message, .. } if !message.is_empty()), "{text}");
        }
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn limits_are_stored() {
    world(|_| {
        let mut pm = PathManager::open()?;
        for limits in [Limits { subflows: 8, accepted_addresses: 3 }, Limits::default()] {
            pm.set_limits(limits)?;
            assert_eq!(pm.limits()?, limits);
        }
        Ok(())
    });
}

/// Kernel path manager: an endpoint joins, changes its priority, and is removed.
fn endpoint_lifecycle(world: &World, to: &str, from: &str) -> Result<(), Error> {
    let mut pm = PathManager::open()?;
    let (mut here, mut there) = (Events::open()?, world.server.run(Events::open)?);
    let endpoint = lte(7, from)?;
    pm.add(&endpoint)?;
    let connection = world.connect(to, Protocol::Mptcp)?;
    let (near, far) = (&connection.near, &connection.far);

    let here_created = wait(&mut here, connection_established)?;
    let there_created = wait(&mut there, connection_established)?;
    assert_eq!(Some(here_created.local), near.local_addr().ok());
    assert_eq!(Some(here_created.remote), near.peer_addr().ok());
    assert_eq!((here_created.local, here_created.remote), (there_created.remote, there_created.local));
    assert_eq!((here_created.server, there_created.server), (false, true));
    assert_eq!(mptcp_info(near)?.map(|info| info.token), Some(here_created.token));
    assert_eq!(mptcp_info(far)?.map(|info| info.token), Some(there_created.token));

    let joined = wait(&mut here, subflow_established)?;
    assert_eq!(joined.local.ip(), ip(from));
    assert_eq!((joined.token, joined.local_id, joined.remote_id), (here_created.token, 7, 0));
    assert_eq!((joined.backup, joined.device), (false, endpoint.device));
    assert_eq!(wait(&mut there, subflow_established)?.remote, joined.local);

    pm.set_backup(7, true)?;
    let changed = wait(&mut there, priority)?;
    assert_eq!((changed.token, changed.remote, changed.backup), (there_created.token, joined.local, true));
    pm.set_backup(ip(from), false)?;
    assert!(!wait(&mut there, priority)?.backup);

    let mut all: Vec<_> = full_info(near)?.iter().map(|one| (one.local, one.remote)).collect();
    all.sort();
    let mut expected = vec![(here_created.local, here_created.remote), (joined.local, joined.remote)];
    expected.sort();
    assert_eq!(all, expected);

    pm.remove(7, ip(from))?;
    let left = wait(&mut here, subflow_closed)?;
    assert_eq!((left.token, left.local, left.local_id), (here_created.token, joined.local, 7));
    let removed =
        wait(&mut there, |event| if let Event::Removed { id, .. } = event { Some(*id) } else { None })?;
    assert_eq!(removed, 7);
    crate::wait_until("one subflow is left", || Ok(full_info(near)?.len() == 1))?;
    drop(connection);
    let ended = wait(&mut here, |event| match event {
        Event::Closed { token } => Some(*token),
        _ => None,
    })?;
    assert_eq!(ended, here_created.token);
    Ok(())
}

#[test]
#[ignore = "needs root"]
fn endpoint_joins_changes_priority_and_leaves() {
    world(|world| endpoint_lifecycle(world, "10.1.0.1", "10.2.0.2"));
}

#[test]
#[ignore = "needs root"]
fn ipv6_endpoint_joins_changes_priority_and_leaves() {
    world(|world| endpoint_lifecycle(world, "fd01::1", "fd02::2"));
}

#[test]
#[ignore = "needs root"]
fn flush_closes_joined_subflows() {
    world(|world| {
        let (mut pm, mut here) = (PathManager::open()?, Events::open()?);
        pm.add(&lte(7, "10.2.0.2")?)?;
        let _connection = world.connect("10.1.0.1", Protocol::Mptcp)?;
        let joined = wait(&mut here, subflow_established)?;
        pm.flush()?;
        assert_eq!(wait(&mut here, subflow_closed)?.local, joined.local);
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn announced_address_is_reported() {
    world(|world| {
        let (mut here, mut there) = (Events::open()?, world.server.run(Events::open)?);
        world.server.run(|| {
            let mut pm = PathManager::open()?;
            pm.add(&Endpoint { port: 4000, ..Endpoint::signal(5, ip("10.2.0.1")) })
        })?;
        let port: SocketAddr = "10.2.0.1:4000".parse().unwrap();
        wait(&mut there, |event| (*event == Event::ListenerCreated(port)).then_some(()))?;
        let _connection = world.connect("10.1.0.1", Protocol::Mptcp)?;
        let token = wait(&mut here, connection_established)?.token;
        let announced = wait(&mut here, |event| match event {
            Event::Announced { .. } => Some(event.clone()),
            _ => None,
        })?;
        let expected = Event::Announced { token, id: 5, address: ip("10.2.0.1"), port: Some(4000) };
        assert_eq!(announced, expected);
        assert_eq!(wait(&mut here, subflow_established)?.remote, port);
        world.server.run(|| PathManager::open()?.flush())?;
        wait(&mut there, |event| (*event == Event::ListenerClosed(port)).then_some(()))?;
        Ok(())
    });
}

fn userspace() -> Result<(), Error> {
    sysctl::write("net.mptcp.path_manager", "userspace").or_else(|_| sysctl::write("net.mptcp.pm_type", "1"))
}

#[test]
#[ignore = "needs root"]
fn userspace_path_manager_controls_one_connection() {
    world(|world| {
        userspace()?;
        // The kernel path manager of the server accepts joins and opens none.
        let limits = Limits { subflows: 8, accepted_addresses: 0 };
        world.server.run(|| PathManager::open()?.set_limits(limits))?;
        let (mut pm, mut here) = (PathManager::open()?, Events::open()?);
        let mut there = world.server.run(Events::open)?;
        let _connection = world.connect("10.1.0.1", Protocol::Mptcp)?;
        let here_created = wait(&mut here, connection_established)?;
        let token = here_created.token;

        pm.create_subflow(token, &lte(7, "10.2.0.2")?, here_created.remote)?;
        let joined = wait(&mut here, subflow_established)?;
        assert_eq!((joined.local.ip(), joined.local_id, joined.backup), (ip("10.2.0.2"), 7, false));
        assert_eq!(pm.endpoints_of(token)?.iter().map(|one| one.id).collect::<Vec<_>>(), [7]);

        let target = Target::Subflow { token, local: joined.local, remote: joined.remote };
        pm.set_backup(target, true)?;
        let changed = wait(&mut there, priority)?;
        assert_eq!((changed.remote, changed.backup), (joined.local, true));
        pm.set_backup(target, false)?;
        assert!(!wait(&mut there, priority)?.backup);

        pm.announce(token, 9, SocketAddr::new(ip("10.2.0.3"), 0))?;
        let announced = wait(&mut there, |event| match event {
            Event::Announced { id, address, port, .. } => Some((*id, *address, *port)),
            _ => None,
        })?;
        // Without an announced port the event carries the port of the connection.
        let port = Some(here_created.local.port());
        assert_eq!(announced, (9, ip("10.2.0.3"), port));
        pm.withdraw(token, 9)?;
        let removed =
            wait(&mut there, |event| if let Event::Removed { id, .. } = event { Some(*id) } else { None })?;
        assert_eq!(removed, 9);

        pm.destroy_subflow(token, joined.local, joined.remote)?;
        assert_eq!(wait(&mut here, subflow_closed)?.local, joined.local);
        let again = pm.destroy_subflow(token, joined.local, joined.remote).unwrap_err();
        assert_eq!(again.errno(), Some(3), "{again}");

        let backup = Endpoint { flags: Flags { backup: true, ..Flags::default() }, ..lte(8, "10.2.0.2")? };
        pm.create_subflow(token, &backup, here_created.remote)?;
        // The event reports the mark of the peer, not the own one.
        assert!(!wait(&mut here, subflow_established)?.backup);
        let joined = wait(&mut there, |event| subflow_established(event).filter(|one| one.remote_id == 8))?;
        assert!(joined.backup);
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn plain_tcp_has_no_mptcp_info() {
    world(|world| {
        let Connection { near, .. } = &world.connect("10.1.0.1", Protocol::Tcp)?;
        assert_eq!((mptcp_info(near)?, full_info(near)?), (None, vec![]));
        let listener = world.listen("10.1.0.1", Protocol::Tcp)?;
        let (fell_back, _far) = connect_to(&listener, ip("10.1.0.1"), Protocol::Mptcp)?;
        assert!(mptcp_info(&fell_back)?.is_none_or(|info| info.fallback));
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn disabled_mptcp_hints_at_sysctl() {
    world(|world| {
        sysctl::write("net.mptcp.enabled", "0")?;
        let listener = world.listen("10.1.0.1", Protocol::Mptcp)?;
        let error = connect_to(&listener, ip("10.1.0.1"), Protocol::Mptcp).unwrap_err();
        assert!(matches!(error, Error::Lacks { .. }), "{error}");
        assert!(error.hint().contains("net.mptcp.enabled=1"), "{}", error.hint());
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn dual_stack_server_reports_ipv4() {
    world(|world| {
        let mut there = world.server.run(Events::open)?;
        let listener = world.listen("::", Protocol::Mptcp)?;
        let (near, mut far) = connect_to(&listener, ip("10.1.0.1"), Protocol::Mptcp)?;
        let event = wait(&mut there, connection_established)?;
        assert_eq!((event.local.ip(), event.remote.ip()), (ip("10.1.0.1"), ip("10.1.0.2")));
        assert_eq!(Some(full_info(&far)?[0].remote), near.local_addr().ok());
        finish(near, &mut far);
        Ok(())
    });
}

/// Closes one end and reads the other until end of stream.
fn finish(mut near: TcpStream, far: &mut TcpStream) {
    near.write_all(b"end").expect("open connection");
    drop(near);
    let mut rest = Vec::new();
    far.read_to_end(&mut rest).expect("open connection");
    assert_eq!(rest, b"end");
}

#[test]
#[ignore = "needs root"]
fn kernel_path_manager_rejects_per_connection_commands() {
    world(|world| {
        let (mut pm, mut here) = (PathManager::open()?, Events::open()?);
        pm.add(&lte(7, "10.2.0.2")?)?;
        let _connection = world.connect("10.1.0.1", Protocol::Mptcp)?;
        let joined = wait(&mut here, subflow_established)?;
        let SubflowEvent { token, local, remote, .. } = joined;
        for refused in [
            pm.set_backup(Target::Subflow { token, local, remote }, true).unwrap_err(),
            pm.create_subflow(token, &lte(8, "10.2.0.2")?, remote).unwrap_err(),
            pm.destroy_subflow(token, local, remote).unwrap_err(),
        ] {
            assert_eq!(refused.errno(), Some(22), "{refused}");
        }
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn userspace_path_manager_controls_first_subflow() {
    world(|world| {
        userspace()?;
        let limits = Limits { subflows: 8, accepted_addresses: 0 };
        world.server.run(|| PathManager::open()?.set_limits(limits))?;
        let (mut pm, mut here) = (PathManager::open()?, Events::open()?);
        let mut there = world.server.run(Events::open)?;
        let connection = world.connect("10.1.0.1", Protocol::Mptcp)?;
        let ConnectionEvent { token, local, remote, .. } = wait(&mut here, connection_established)?;
        pm.create_subflow(token, &lte(7, "10.2.0.2")?, remote)?;
        let joined = wait(&mut here, subflow_established)?;
        for backup in [true, false] {
            pm.set_backup(Target::Subflow { token, local, remote }, backup)?;
            let changed = wait(&mut there, priority)?;
            assert_eq!((changed.remote, changed.backup), (local, backup));
        }
        pm.destroy_subflow(token, local, remote)?;
        assert_eq!(wait(&mut here, subflow_closed)?.local, local);
        // The closed socket of the first subflow remains listed; only the joined one is
        // established.
        let mut diag = Diag::open()?;
        crate::wait_until("one subflow is established", || {
            let mut all = diag.subflows()?;
            all.retain(|one| one.token == token && one.tcp.state == TcpState::Established);
            Ok(all.len() == 1 && all[0].local == joined.local)
        })?;
        drop(connection);
        Ok(())
    });
}
