//! What a kernel may answer: any bytes are read or refused.

use linux::diag::{Connection, Subflow};
use linux::mib::Mib;
use linux::netlink::{Ack, Attribute, Attributes, GenericFamily, GenericHeader, Message, Messages, Request};
use linux::pm::{Endpoint, Event, Limits};
use linux::route::{Address, Link, RouteEntry, parse_stats};
use linux::socket::{MptcpInfo, TcpInfo};

/// Hands to `read` the bytes as they are, and what is in each of the messages that they may be.
fn payloads(bytes: &[u8], read: impl Fn(&[u8])) {
    read(bytes);
    for message in Messages::new(bytes).flatten() {
        read(message.payload);
    }
}

/// Any bytes as messages, acknowledgements and attributes; what was read is written and read again.
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
        let written = request.finish(1).expect("what was read can be written");
        let message = Messages::new(written).next().expect("it is there").expect("it is well formed");
        let again: Result<Vec<_>, _> = Attributes::new(message.payload).collect();
        assert_eq!(again.as_ref(), Ok(&read));
    });
}

/// Any bytes as links, addresses, routes and counters.
pub fn route(bytes: &[u8]) {
    payloads(bytes, |payload| {
        let _ = (Link::parse(payload), parse_stats(payload));
        let _ = (Address::parse(payload), RouteEntry::parse(payload));
    });
}

/// Any bytes as what the path managers answer and tell.
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

/// Any bytes as subflows, connections and what sockets say of themselves.
pub fn diag(bytes: &[u8]) {
    payloads(bytes, |payload| {
        let _ = (Subflow::parse(payload), Connection::parse(payload));
        let _ = (TcpInfo::parse(payload), MptcpInfo::parse(payload));
    });
}

/// Any text as a file of counters.
pub fn mib(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    let mib = Mib::parse(text);
    assert_eq!(mib.since(&mib).counters().count(), 0);
}
