//! Packet capture at the device's interfaces, as a pcapng file.

use crate::world::Member;
use core::net::{IpAddr, Ipv4Addr};
use core::ops::Range;
use units::Instant;
use wire::pcapng::{Direction, Interface, Writer};
use wire::{Segment, Span, capture};

/// Bytes that a capture keeps of each packet: all headers and the first bytes of the payload.
pub const SNAPLEN: u32 = 160;

#[derive(Debug)]
pub(crate) struct Capture {
    writer: Writer,
    interfaces: Vec<Interface>,
    /// The device's paths and connections, as ranges of all devices' paths and connections.
    paths: Range<usize>,
    connections: Range<usize>,
}

impl Capture {
    pub(crate) fn new(device: &Member<'_>) -> Self {
        let mut writer = Writer::new("tandem");
        let interfaces = device
            .experiment
            .paths
            .iter()
            .map(|path| writer.interface(&path.name, &path.profile.name, SNAPLEN))
            .collect();
        Self { writer, interfaces, paths: device.paths.clone(), connections: device.connections.clone() }
    }

    /// Writes a packet that crosses the interface of `path`, if that belongs to the device. The
    /// numbers count over all devices.
    pub(crate) fn packet(
        &mut self,
        now: Instant,
        connection: usize,
        path: usize,
        down: bool,
        segment: &Segment<Span>,
    ) {
        if !self.paths.contains(&path) {
            return;
        }
        let path = path - self.paths.start;
        let device = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 10 + path as u8));
        let server = IpAddr::V4(server_address(connection - self.connections.start));
        let (source, destination, direction) =
            if down { (server, device, Direction::Inbound) } else { (device, server, Direction::Outbound) };
        // Encoding fails only for options above 40 bytes, which the endpoint never sends.
        if let Ok(bytes) = capture::packet(source, destination, segment, SNAPLEN as usize) {
            let len = capture::packet_len(destination, segment);
            self.writer.packet(self.interfaces[path], now, direction, len, &bytes);
        }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.writer.into_bytes()
    }
}

/// Server address of a connection. All connections use the same ports, so each needs a server
/// address of its own to be a distinct TCP connection in the capture. Addresses come from the block
/// for documentation (RFC 5737), then from the block for benchmarks (RFC 2544).
fn server_address(connection: usize) -> Ipv4Addr {
    match u8::try_from(connection) {
        Ok(number @ 0..=253) => Ipv4Addr::new(192, 0, 2, 1 + number),
        _ => Ipv4Addr::from(u32::from(Ipv4Addr::new(198, 18, 0, 0)) + (connection & 0xffff) as u32),
    }
}
