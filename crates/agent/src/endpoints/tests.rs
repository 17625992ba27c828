use super::*;
use linux::namespace::Namespace;
use std::path::Path;

fn ip(last: u8) -> IpAddr {
    [10, 1, 0, last].into()
}

fn endpoint(id: u8, last: u8) -> Endpoint {
    let flags = Flags { subflow: true, ..Flags::default() };
    Endpoint { id, address: ip(last), port: 0, device: 0, flags }
}

fn wanted(last: u8, open: bool) -> Wanted {
    Wanted { name: "wlan0".to_owned(), device: 1, address: ip(last), open, backup: false }
}

fn open(folder: &Path) -> Result<Endpoints, Error> {
    let store = Store::lock(folder).expect("a state directory");
    let place = Place { boot: "boot".to_owned(), namespace: 1, cookie: None };
    Endpoints::open(place, Some(Rc::new(store)))
}

/// Runs `test` with a state directory in a network namespace with MPTCP.
fn in_namespace(test: fn(&Path) -> Result<(), Error>) {
    let folder = tempfile::tempdir().expect("a folder");
    let namespace = Namespace::create().expect("a network namespace");
    let enabled_test = || {
        linux::sysctl::write("net.mptcp.enabled", "1")?;
        test(folder.path())
    };
    namespace.run(enabled_test).expect("the kernel makes the changes");
}

#[test]
#[ignore = "needs root"]
fn needs_root_endpoint_returns_with_another_id_if_its_own_is_taken() {
    in_namespace(|folder| {
        let mut kernel = PathManager::open()?;
        kernel.add(&endpoint(5, 2))?;
        let mut endpoints = open(folder)?;
        endpoints.apply(Instant::ZERO, &[wanted(2, false)])?;
        kernel.add(&endpoint(5, 3))?;
        endpoints.restore()?;
        let there: Vec<IpAddr> = kernel.endpoints()?.iter().map(|one| one.address).collect();
        assert!(there.contains(&ip(2)) && there.contains(&ip(3)), "{there:?}");
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn needs_root_change_that_cannot_be_undone_is_undone_by_a_later_start() {
    in_namespace(|folder| {
        let mut kernel = PathManager::open()?;
        kernel.add(&endpoint(5, 2))?;
        let mut endpoints = open(folder)?;
        endpoints.apply(Instant::ZERO, &[wanted(2, false)])?;
        // The kernel has no room for another endpoint.
        for last in 11..11 + MAX_ENDPOINTS as u8 {
            kernel.add(&endpoint(0, last))?;
        }
        assert!(endpoints.restore().is_err());
        drop(endpoints);
        let mut endpoints = open(folder)?;
        assert!(endpoints.restore().is_err());
        drop(endpoints);
        kernel.flush()?;
        open(folder)?.restore()?;
        assert_eq!(kernel.endpoints()?, [endpoint(5, 2)]);
        assert!(!folder.join(JOURNAL).exists());
        Ok(())
    });
}

/// Addresses and devices of the kernel's endpoints, sorted.
fn listed(kernel: &mut PathManager) -> Result<Vec<(IpAddr, u32)>, Error> {
    let mut all: Vec<_> = kernel.endpoints()?.iter().map(|one| (one.address, one.device)).collect();
    all.sort_unstable();
    Ok(all)
}

#[test]
#[ignore = "needs root"]
fn needs_root_endpoint_follows_its_address_to_another_interface() {
    in_namespace(|folder| {
        let mut kernel = PathManager::open()?;
        let announced =
            Endpoint { port: 4430, flags: Flags { signal: true, ..Flags::default() }, ..endpoint(9, 2) };
        kernel.add(&announced)?;
        let mut endpoints = open(folder)?;
        for device in [1, 2] {
            endpoints.apply(Instant::ZERO, &[Wanted { device, ..wanted(2, true) }])?;
            assert_eq!(listed(&mut kernel)?, [(ip(2), 0), (ip(2), device)]);
        }
        endpoints.restore()?;
        assert_eq!(kernel.endpoints()?, [announced], "that of another program stays");
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn needs_root_returning_endpoint_has_the_device_of_its_address() {
    in_namespace(|folder| {
        let mut kernel = PathManager::open()?;
        kernel.add(&Endpoint { device: 1, ..endpoint(5, 2) })?;
        kernel.add(&endpoint(6, 3))?;
        let mut endpoints = open(folder)?;
        for open in [false, true] {
            let both = [2, 3].map(|last| Wanted { device: 2, ..wanted(last, open) });
            endpoints.apply(Instant::ZERO, &both)?;
        }
        assert_eq!(listed(&mut kernel)?, [(ip(2), 2), (ip(3), 0)]);
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn needs_root_rejected_addition_delays_no_other_change() {
    in_namespace(|folder| {
        let mut kernel = PathManager::open()?;
        let mut endpoints = open(folder)?;
        // Unknown to the agent, which adds it too.
        kernel.add(&endpoint(5, 2))?;
        endpoints.apply(Instant::ZERO, &[wanted(2, true), wanted(3, true)])?;
        assert_eq!(listed(&mut kernel)?, [(ip(2), 0), (ip(3), 1)]);
        kernel.remove(5, ip(2))?;
        endpoints.refresh()?;
        endpoints.apply(Instant::ZERO, &[wanted(2, true), wanted(3, false), wanted(4, true)])?;
        assert_eq!(listed(&mut kernel)?, [(ip(4), 1)]);
        endpoints.apply(Instant::ZERO + RETRY_DELAY, &[wanted(2, true), wanted(4, true)])?;
        assert_eq!(listed(&mut kernel)?, [(ip(2), 1), (ip(4), 1)]);
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn needs_root_stored_journal_names_only_endpoints_that_exist() {
    in_namespace(|folder| {
        let stored = || Journal::parse(&std::fs::read(folder.join(JOURNAL)).expect("a journal"));
        let is_ours = |last: u8| stored().expect("a valid journal").is_ours(ip(last));
        let mut endpoints = open(folder)?;
        // Unknown to the agent, which adds it too.
        PathManager::open()?.add(&endpoint(5, 3))?;
        endpoints.apply(Instant::ZERO, &[wanted(3, true)])?;
        assert!(!is_ours(3));
        endpoints.apply(Instant::ZERO, &[wanted(2, true), wanted(3, true)])?;
        assert_eq!([is_ours(2), is_ours(3)], [true, false]);
        endpoints.apply(Instant::ZERO, &[wanted(2, false), wanted(3, true)])?;
        assert_eq!([is_ours(2), is_ours(3)], [false, false]);
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn needs_root_closed_interface_has_no_endpoint_for_a_further_address() {
    in_namespace(|folder| {
        let mut kernel = PathManager::open()?;
        let further = Endpoint { device: 1, ..endpoint(5, 7) };
        let elsewhere = Endpoint { device: 2, ..endpoint(6, 8) };
        kernel.add(&further)?;
        kernel.add(&elsewhere)?;
        let mut endpoints = open(folder)?;
        for (now, is_open) in [false, true, false].into_iter().enumerate() {
            endpoints.apply(Instant::from_secs(now as u64), &[wanted(2, is_open)])?;
            let expected = if is_open { vec![(ip(2), 1), (ip(7), 1), (ip(8), 2)] } else { vec![(ip(8), 2)] };
            assert_eq!(listed(&mut kernel)?, expected);
        }
        endpoints.restore()?;
        assert_eq!(kernel.endpoints()?, [further, elsewhere]);
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn needs_root_addition_waits_for_room_in_the_kernel() {
    in_namespace(|folder| {
        let mut kernel = PathManager::open()?;
        for last in 11..11 + MAX_ENDPOINTS as u8 {
            kernel.add(&endpoint(last, last))?;
        }
        let mut endpoints = open(folder)?;
        endpoints.apply(Instant::ZERO, &[wanted(2, true)])?;
        kernel.remove(11, ip(11))?;
        endpoints.refresh()?;
        endpoints.apply(Instant::ZERO, &[wanted(2, true)])?;
        assert!(listed(&mut kernel)?.contains(&(ip(2), 1)));
        Ok(())
    });
}
