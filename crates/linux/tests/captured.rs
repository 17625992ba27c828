//! Parsing of messages captured on Linux 6.18. The tests in `kernel/` check the meaning of the
//! fields against known actions.

use std::fmt::Write;
use tandem_linux::diag::{Connection, Subflow};
use tandem_linux::netlink::{Ack, GenericFamily, Message, Messages, kind};
use tandem_linux::pm::{Endpoint, Event};
use tandem_linux::route::{Address, Link, RouteEntry};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

/// Debug output of `parse` for each message, without acknowledgements.
fn parse_all<T: std::fmt::Debug>(hex: &str, parse: impl Fn(&Message<'_>) -> T) -> String {
    let bytes = bytes(hex);
    let mut text = String::new();
    for message in Messages::new(&bytes) {
        let message = message.expect("well-formed message");
        if message.header.kind != kind::DONE && message.header.kind != kind::ERROR {
            writeln!(text, "{:#?}", parse(&message)).expect("writing to a string");
        }
    }
    text
}

#[cfg(target_endian = "little")]
mod parses {
    use super::*;

    #[test]
    fn link() {
        insta::assert_snapshot!(parse_all(include_str!("captured/link.hex"), |m| Link::parse(m.payload)));
    }

    #[test]
    fn addresses() {
        let hex = include_str!("captured/addresses.hex");
        insta::assert_snapshot!(parse_all(hex, |message| Address::parse(message.payload)));
    }

    #[test]
    fn routes() {
        let hex = include_str!("captured/routes.hex");
        insta::assert_snapshot!(parse_all(hex, |message| RouteEntry::parse(message.payload)));
    }

    #[test]
    fn refusal() {
        let bytes = bytes(include_str!("captured/refused.hex"));
        let message = Messages::new(&bytes).next().expect("one message").expect("well-formed message");
        let ack = Ack::parse(&message).expect("well-formed message");
        assert_eq!(ack, Ack { errno: 22, message: "address not found", missing_attribute: None });
    }

    #[test]
    fn family() {
        let hex = include_str!("captured/family.hex");
        insta::assert_snapshot!(parse_all(hex, |message| GenericFamily::parse(message.payload)));
    }

    #[test]
    fn endpoints() {
        let hex = include_str!("captured/endpoints.hex");
        insta::assert_snapshot!(parse_all(hex, |message| Endpoint::parse(message.payload)));
    }

    #[test]
    fn events() {
        let hex = include_str!("captured/events.hex");
        insta::assert_snapshot!(parse_all(hex, |message| Event::parse(message.payload)));
    }

    #[test]
    fn subflows() {
        let hex = include_str!("captured/subflows.hex");
        insta::assert_snapshot!(parse_all(hex, |message| Subflow::parse(message.payload)));
    }

    #[test]
    fn connection() {
        let hex = include_str!("captured/connection.hex");
        insta::assert_snapshot!(parse_all(hex, |message| Connection::parse(message.payload)));
    }
}
