//! Families of generic netlink are called by name; the kernel gives each a number when it starts.

use super::{Attributes, GenericHeader, Malformed, Message, Request, Socket, kind};
use crate::Error;

const CONTROLLER: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
const GROUPS: u16 = 7;
const GROUP_NAME: u16 = 1;
const GROUP_ID: u16 = 2;

/// A family of generic netlink, as this kernel numbers it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GenericFamily {
    /// The type of its messages.
    pub id: u16,
    /// Its multicast groups, with their numbers for [`Socket::join`].
    pub groups: Vec<(String, u32)>,
}

impl GenericFamily {
    /// Asks for the family called `name`.
    ///
    /// # Errors
    /// Where the kernel has none of that name ([`Error::Refused`], ENOENT).
    pub fn find(socket: &mut Socket, name: &str) -> Result<Self, Error> {
        let mut request = Request::new();
        let header = GenericHeader { command: GET_FAMILY, version: 1 };
        request.start_generic(CONTROLLER, kind::ACK, header).text(FAMILY_NAME, name);
        let mut family = None;
        let doing = format_args!("find the netlink family {name}");
        socket.ask(&mut request, doing, |message: &Message<'_>| {
            family = Some(Self::parse(message.payload)?);
            Ok(())
        })?;
        family.ok_or_else(|| Malformed("there is no family in it").answering(doing))
    }

    /// Reads the controller's answer.
    ///
    /// # Errors
    /// Where it is cut off, malformed, or has no number.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let mut family = Self::default();
        for attribute in GenericHeader::parse(payload)?.1 {
            let attribute = attribute?;
            match attribute.kind {
                FAMILY_ID => family.id = attribute.u16()?,
                GROUPS => {
                    for group in attribute.nested() {
                        family.groups.push(group_of(group?.nested())?);
                    }
                }
                _ => {}
            }
        }
        if family.id == 0 { Err(Malformed("a family has no number")) } else { Ok(family) }
    }

    /// The number of a multicast group.
    pub fn group(&self, name: &str) -> Option<u32> {
        self.groups.iter().find(|(one, _)| one == name).map(|(_, id)| *id)
    }
}

fn group_of(attributes: Attributes<'_>) -> Result<(String, u32), Malformed> {
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
