//! Targets of kernel interfaces: netlink, diagnostics and counters.

use linux::diag::{Connection, Subflow};
use linux::mib::Mib;
use linux::netlink::{Ack, Attribute, Attributes, GenericFamily, GenericHeader, Message, Messages, Request};
use linux::pm::{Endpoint, Event, Limits};
use linux::route::{Address, Link, RouteEntry, parse_stats};
use linux::socket::{MptcpInfo, TcpInfo};

/// Passes to `read` the input itself, and the payload of each netlink message in it.
fn payloads(bytes: &[u8], read: impl Fn(&[u8])) {
    read(bytes);
    for message in Messages::new(bytes).flatten() {
        read(message.payload);
    }
}

/// Fuzz target: netlink messages, acknowledgements and attributes. Attributes are encoded and
/// decoded again.
pub fn netlink(bytes: &[u8]) {
    let messages: Vec<Message<'_>> = Messages::new(bytes).flatten().collect();
    for message in &messages {
        assert_eq!(message.header.length as usize, message.payload.len() + 16);
        if let Ok(ack) = Ack::parse(message) {
            assert!(ack.message.len() <= message.payload.len());
        }
    }
    payloads(bytes, |payload| {
        let _ = (GenericFamily::parse(payload), GenericHeader::parse(payload).map(|(header, _)| header));
        let read: Vec<Attribute<'_>> = Attributes::new(payload).map_while(Result::ok).collect();
        let mut request = Request::new();
        request.start(16, 0);
        for attribute in &read {
            request.attribute(attribute.kind, attribute.value);
        }
        let written = request.finish(1).expect("decoded attributes can be encoded");
        let message = Messages::new(written).next().expect("one message").expect("a well-formed message");
        let again: Result<Vec<_>, _> = Attributes::new(message.payload).collect();
        assert_eq!(again.as_ref(), Ok(&read));
    });
}

/// Fuzz target: links, addresses, routes and their counters.
pub fn route(bytes: &[u8]) {
    payloads(bytes, |payload| {
        let _ = (Link::parse(payload), parse_stats(payload));
        let _ = (Address::parse(payload), RouteEntry::parse(payload));
    });
}

/// Fuzz target: replies and events of the MPTCP path manager.
pub fn pm(bytes: &[u8]) {
    payloads(bytes, |payload| {
        let _ = Limits::parse(payload);
        if let Ok(endpoint) = Endpoint::parse(payload) {
            assert!(endpoint.flags.bits() < 64);
        }
        if let Ok(event) = Event::parse(payload) {
            let anonymous = matches!(
                event,
                Event::ListenerCreated(_) | Event::ListenerClosed(_) | Event::Unknown(_) | Event::Overrun
            );
            assert_eq!(event.token().is_none(), anonymous);
        }
    });
}

/// Fuzz target: subflows, connections and socket information.
pub fn diag(bytes: &[u8]) {
    payloads(bytes, |payload| {
        let _ = (Subflow::parse(payload), Connection::parse(payload));
        let _ = (TcpInfo::parse(payload), MptcpInfo::parse(payload));
    });
}

/// Fuzz target: the counters of `/proc/net/netstat`.
pub fn mib(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    let mib = Mib::parse(text);
    assert_eq!(mib.since(&mib).counters().count(), 0);
}
