use super::{
    Connection, Filter, Subflow, find_connection_request, list_sockets_request, local_address_filter,
};
use crate::netlink::{Messages, Request};
use crate::socket::TcpState;
use proptest::prelude::*;
use std::net::IpAddr;

fn payload(request: &mut Request) -> Vec<u8> {
    let bytes = request.finish(1).expect("short request").to_vec();
    Messages::new(&bytes).next().expect("one message").expect("well-formed message").payload.to_vec()
}

fn socket(request: &mut Request) -> &mut Request {
    let mut head = vec![2, 1, 0, 0];
    head.extend_from_slice(&[0x9c, 0x40, 0x00, 0x50]);
    for address in [[10, 2, 0, 2], [10, 1, 0, 1]] {
        head.extend_from_slice(&address);
        head.extend_from_slice(&[0; 12]);
    }
    for word in [3u32, 0x11, 0x22, 0, 0, 0, 1000, 4711] {
        head.extend_from_slice(&word.to_ne_bytes());
    }
    request.start(20, 0).raw(&head)
}

#[test]
fn subflow_fields_have_kernel_offsets() {
    let mut tcp = vec![0; 232];
    tcp[68..72].copy_from_slice(&20_000u32.to_ne_bytes());
    tcp[80..84].copy_from_slice(&42u32.to_ne_bytes());
    let mut request = Request::new();
    socket(&mut request).attribute(2, &tcp).nest(19, |ulp| {
        ulp.text(1, "mptcp").nest(3, |mptcp| {
            mptcp.u32(1, 77).u32(2, 88).u32(8, 0b110_1000).u8(9, 1).u8(10, 7);
        });
    });
    let subflow = Subflow::parse(&payload(&mut request)).expect("well-formed message").expect("a subflow");
    assert_eq!(
        (subflow.local.to_string(), subflow.remote.to_string()),
        ("10.2.0.2:40000".into(), "10.1.0.1:80".into())
    );
    assert_eq!(
        (subflow.device, subflow.cookie, subflow.tcp.state),
        (3, 0x22_0000_0011, TcpState::Established)
    );
    assert_eq!((subflow.token, subflow.remote_token, subflow.local_id, subflow.remote_id), (88, 77, 7, 1));
    assert_eq!((subflow.joined, subflow.backup, subflow.remote_backup), (true, true, false));
    assert!(subflow.initiated);
    assert_eq!((subflow.fully_established, subflow.tcp.srtt_us, subflow.tcp.cwnd), (true, 20_000, 42));
}

#[test]
fn tcp_without_mptcp_attributes_is_no_subflow() {
    for name in ["tls", "mptcp"] {
        let mut request = Request::new();
        socket(&mut request).attribute(2, &[0; 232]).nest(19, |ulp| {
            ulp.text(1, name);
        });
        assert_eq!(Subflow::parse(&payload(&mut request)), Ok(None));
    }
    let mut request = Request::new();
    assert_eq!(Subflow::parse(&payload(socket(&mut request))), Ok(None));
    assert_eq!(Connection::parse(&payload(socket(&mut request))), Ok(None));
}

/// Like `ss -tniM src 10.2.0.2`, except for extensions and states.
#[test]
fn requests_have_kernel_layout() {
    let program = local_address_filter(IpAddr::from([10, 2, 0, 2]));
    if cfg!(target_endian = "little") {
        assert_eq!(program, [7, 16, 20, 0, 2, 32, 0, 0, 255, 255, 255, 255, 10, 2, 0, 2]);
    }
    let mut request = Request::new();
    let filter = Filter { local_port: Some(443), ..Filter::local(IpAddr::from([10, 2, 0, 2])) };
    list_sockets_request(&mut request, 2, &filter);
    let bytes = payload(&mut request);
    assert_eq!(
        (bytes.len(), &bytes[..4], &bytes[8..12]),
        (56 + 4 + 16, &[2, 6, 2, 0][..], &[1, 187, 0, 0][..])
    );
    assert_eq!(&bytes[60..], program);
    find_connection_request(&mut request, 0x0403_0201);
    let bytes = payload(&mut request);
    assert_eq!((bytes.len(), bytes[1]), (56 + 8, 255));
    if cfg!(target_endian = "little") {
        assert_eq!((&bytes[48..52], &bytes[60..]), (&[1, 2, 3, 4][..], &[6, 1, 0, 0][..]));
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..400), family in 0u8..2) {
        let _ = (Subflow::parse(&bytes), Connection::parse(&bytes));
        if let Some(first) = bytes.first_mut() {
            *first = [2, 10][family as usize];
        }
        let _ = (Subflow::parse(&bytes), Connection::parse(&bytes));
    }
}
