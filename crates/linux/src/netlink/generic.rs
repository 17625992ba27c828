//! Generic netlink families: found by name, numbered by the kernel at run time.

use super::{Attributes, GenericHeader, Malformed, Message, Request, Socket, kind};
use crate::Error;

const CONTROLLER: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
const GROUPS: u16 = 7;
const GROUP_NAME: u16 = 1;
const GROUP_ID: u16 = 2;

/// A generic netlink family.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GenericFamily {
    /// Message type assigned to the family.
    pub id: u16,
    /// Multicast groups: name and number, the latter for [`Socket::join`].
    pub groups: Vec<(String, u32)>,
}

impl GenericFamily {
    /// Looks up the family `name` at the generic netlink controller.
    ///
    /// # Errors
    /// Fails when the kernel has no such family ([`Error::Refused`], ENOENT).
    pub fn find(socket: &mut Socket, name: &str) -> Result<Self, Error> {
        let mut request = Request::new();
        let header = GenericHeader { command: GET_FAMILY, version: 1 };
        request.start_generic(CONTROLLER, kind::ACK, header).text(FAMILY_NAME, name);
        let mut family = None;
        let doing = format_args!("find the netlink family {name}");
        socket.transact(&mut request, doing, |message: &Message<'_>| {
            family = Some(Self::parse(message.payload)?);
            Ok(())
        })?;
        family.ok_or_else(|| Malformed("no family in the response").in_reply_to(doing))
    }

    /// Parses the controller's response (CTRL_CMD_NEWFAMILY).
    ///
    /// # Errors
    /// Fails when it is truncated, malformed, or lacks the family number.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let mut family = Self::default();
        for attribute in GenericHeader::parse(payload)?.1 {
            let attribute = attribute?;
            match attribute.kind {
                FAMILY_ID => family.id = attribute.u16()?,
                GROUPS => {
                    for group in attribute.nested() {
                        family.groups.push(parse_group(group?.nested())?);
                    }
                }
                _ => {}
            }
        }
        if family.id == 0 { Err(Malformed("family without a number")) } else { Ok(family) }
    }

    /// Number of the multicast group `name`.
    pub fn group(&self, name: &str) -> Option<u32> {
        self.groups.iter().find(|(known, _)| known == name).map(|(_, id)| *id)
    }
}

fn parse_group(attributes: Attributes<'_>) -> Result<(String, u32), Malformed> {
    let (mut name, mut id) = (String::new(), 0);
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            GROUP_NAME => attribute.text()?.clone_into(&mut name),
            GROUP_ID => id = attribute.u32()?,
            _ => {}
        }
    }
    Ok((name, id))
}
