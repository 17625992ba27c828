use super::mptcp_info::{SOCKADDR_STORAGE_BYTES, SUBFLOW_INFO_BYTES, parse_full, socket_address};
use super::{MptcpInfo, TcpInfo, tcp_info};
use proptest::prelude::*;

/// Kernels fill in the fields they know; the offset of a field never changes.
#[test]
fn short_structure_leaves_missing_fields_zero() {
    let bytes: Vec<u8> = (0..=255).collect();
    let (long, short) =
        (TcpInfo::parse(&bytes).expect("long"), TcpInfo::parse(&bytes[..104]).expect("short"));
    assert_eq!((short.cwnd, short.total_retransmitted), (long.cwnd, long.total_retransmitted));
    assert_eq!((short.pacing_rate, short.send_window), (0, 0));
    assert!(long.send_window > 0);
    assert!(TcpInfo::parse(&bytes[..103]).is_err());
    let (long, short) =
        (MptcpInfo::parse(&bytes).expect("long"), MptcpInfo::parse(&bytes[..40]).expect("short"));
    assert_eq!((short.token, short.rcv_nxt), (long.token, long.rcv_nxt));
    assert_eq!((short.bytes_sent, long.bytes_sent > 0), (0, true));
    assert!(MptcpInfo::parse(&bytes[..39]).is_err());
}

#[test]
fn socket_address_has_kernel_layout() {
    let mut bytes = vec![0; SOCKADDR_STORAGE_BYTES];
    bytes[..2].copy_from_slice(&2u16.to_ne_bytes());
    bytes[2..8].copy_from_slice(&[0x1f, 0x90, 10, 1, 0, 2]);
    assert_eq!(socket_address(&bytes).map(|at| at.to_string()), Ok("10.1.0.2:8080".to_owned()));
    bytes[..2].copy_from_slice(&10u16.to_ne_bytes());
    bytes[8..24].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 1, 0, 2]);
    assert_eq!(socket_address(&bytes).map(|at| at.to_string()), Ok("10.1.0.2:8080".to_owned()));
    assert!(socket_address(&bytes[..20]).is_err());
    bytes[..2].copy_from_slice(&1u16.to_ne_bytes());
    assert!(socket_address(&bytes).is_err());
}

#[test]
fn closed_first_subflow_is_skipped() {
    let subflow = |id: u32, port: u16| {
        let mut bytes = vec![0; SUBFLOW_INFO_BYTES];
        bytes[..4].copy_from_slice(&id.to_ne_bytes());
        for (at, port) in [(8, 8080u16), (8 + SOCKADDR_STORAGE_BYTES, port)] {
            bytes[at..at + 2].copy_from_slice(&2u16.to_ne_bytes());
            bytes[at + 2..at + 4].copy_from_slice(&port.to_be_bytes());
        }
        bytes
    };
    let both = [subflow(0, 0), subflow(2, 9000)].concat();
    let all = parse_full(2, &both, &[0; 2 * tcp_info::TCP_INFO_BYTES], tcp_info::TCP_INFO_BYTES)
        .expect("complete arrays");
    assert_eq!(all.iter().map(|one| (one.id, one.remote.port())).collect::<Vec<_>>(), [(2, 9000)]);
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..2 * SUBFLOW_INFO_BYTES), count in 0usize..4,
        length in 0usize..300,
    ) {
        let _ = (TcpInfo::parse(&bytes), MptcpInfo::parse(&bytes));
        let _ = parse_full(count, &bytes, &bytes, length);
        let _ = parse_full(count, &bytes, &vec![0; count * tcp_info::TCP_INFO_BYTES], length);
    }
}
