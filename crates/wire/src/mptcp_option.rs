//! The MPTCP option, kind 30 (RFC 8684, section 3): decoding and encoding of every subtype.

use crate::error::WireError;
use crate::mptcp_subtype::{
    ADD_ADDR, DSS, KIND, MP_CAPABLE, MP_FAIL, MP_FASTCLOSE, MP_JOIN, MP_PRIO, MP_TCPRST, PRIVATE_USE,
    REMOVE_ADDR,
};
use crate::reader::Reader;
use crate::rec::{self, RecOption};
use crate::segment::{Dss, Mapping, MptcpSignal};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

// Flags in the fourth byte of MP_CAPABLE (section 3.1).
const CAPABLE_CHECKSUM: u8 = 0x80;
const CAPABLE_EXTENSION: u8 = 0x40;
const CAPABLE_DENY_JOIN: u8 = 0x20;
const CAPABLE_HMAC_SHA256: u8 = 0x01;

// Flags in the fourth byte of DSS (section 3.3).
const DSS_ACK: u8 = 0x01;
const DSS_LONG_ACK: u8 = 0x02;
const DSS_MAPPING: u8 = 0x04;
const DSS_LONG_DSN: u8 = 0x08;
const DSS_DATA_FIN: u8 = 0x10;

/// Lowest bit of the subtype byte: flag B of MP_JOIN and MP_PRIO, E of ADD_ADDR, T of MP_TCPRST.
const NIBBLE_FLAG: u8 = 0x01;

/// Decoded option of kind 30.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MptcpOption {
    Dss(Dss),
    Signal(MptcpSignal),
    Rec(RecOption),
    /// Unknown subtype.
    Unknown(u8),
}

/// Decodes an option from `value`, its bytes after kind and length. `None` if the subtype does not
/// have this length.
pub(crate) fn parse(value: &[u8]) -> Option<MptcpOption> {
    use MptcpOption::{Dss, Signal, Unknown};
    let mut reader = Reader(value);
    let first = reader.u8()?;
    let (subtype, nibble) = (first >> 4, first & 0x0f);
    let option = match subtype {
        MP_CAPABLE => Signal(capable(nibble, &mut reader)?),
        MP_JOIN => Signal(join(nibble, &mut reader)?),
        DSS => Dss(dss(&mut reader)?),
        ADD_ADDR => Signal(add_address(nibble, &mut reader)?),
        REMOVE_ADDR => Signal(remove_address(&mut reader)?),
        MP_PRIO => Signal(priority(nibble, &mut reader)),
        MP_FAIL => Signal(fail(&mut reader)?),
        MP_FASTCLOSE => Signal(fast_close(&mut reader)?),
        MP_TCPRST => Signal(reset(nibble, &mut reader)?),
        PRIVATE_USE => {
            return Some(rec::parse(nibble, &mut reader).map_or(Unknown(subtype), MptcpOption::Rec));
        }
        _ => return Some(Unknown(subtype)),
    };
    reader.is_empty().then_some(option)
}

/// Appends a DSS without padding.
pub(crate) fn emit_dss(dss: &Dss, out: &mut Vec<u8>) {
    let mut flags = 0;
    if dss.data_ack.is_some() {
        flags |= if dss.ack_is_short { DSS_ACK } else { DSS_ACK | DSS_LONG_ACK };
    }
    if dss.mapping.is_some() {
        flags |= if dss.dsn_is_short { DSS_MAPPING } else { DSS_MAPPING | DSS_LONG_DSN };
    }
    if dss.data_fin {
        flags |= DSS_DATA_FIN;
    }
    out.extend([KIND, dss.option_len() as u8, DSS << 4, flags]);
    if let Some(ack) = dss.data_ack {
        write_number(ack, dss.ack_is_short, out);
    }
    if let Some(Mapping { dsn, ssn, len, checksum }) = dss.mapping {
        write_number(dsn, dss.dsn_is_short, out);
        out.extend(ssn.to_be_bytes());
        out.extend(len.to_be_bytes());
        out.extend(checksum.into_iter().flat_map(u16::to_be_bytes));
    }
}

/// Appends any other option without padding.
pub(crate) fn emit_signal(signal: &MptcpSignal, out: &mut Vec<u8>) -> Result<(), WireError> {
    let len = signal.option_len() as u8;
    let mut head = |subtype: u8, nibble: u8| out.extend([KIND, len, subtype << 4 | nibble]);
    match *signal {
        MptcpSignal::Capable { .. } => return emit_capable(signal, out),
        MptcpSignal::JoinSyn { backup, address_id, token, nonce } => {
            head(MP_JOIN, u8::from(backup));
            out.push(address_id);
            out.extend(token.to_be_bytes());
            out.extend(nonce.to_be_bytes());
        }
        MptcpSignal::JoinSynAck { backup, address_id, hmac, nonce } => {
            head(MP_JOIN, u8::from(backup));
            out.push(address_id);
            out.extend(hmac.to_be_bytes());
            out.extend(nonce.to_be_bytes());
        }
        MptcpSignal::JoinAck { hmac } => {
            head(MP_JOIN, 0);
            out.push(0);
            out.extend(hmac);
        }
        MptcpSignal::AddAddress { address_id, address, port, hmac } => {
            head(ADD_ADDR, u8::from(hmac.is_none()));
            out.push(address_id);
            match address {
                IpAddr::V4(address) => out.extend(address.octets()),
                IpAddr::V6(address) => out.extend(address.octets()),
            }
            out.extend(port.into_iter().flat_map(u16::to_be_bytes));
            out.extend(hmac.into_iter().flat_map(u64::to_be_bytes));
        }
        MptcpSignal::RemoveAddress { ids, count } => {
            let Some(ids @ [_, ..]) = ids.get(..usize::from(count)) else {
                return Err(WireError::Unwritable { what: "REMOVE_ADDR", expected: "1 to 8 identifiers" });
            };
            head(REMOVE_ADDR, 0);
            out.extend(ids);
        }
        MptcpSignal::Priority { backup, address_id } => {
            head(MP_PRIO, u8::from(backup));
            out.extend(address_id);
        }
        MptcpSignal::Fail { dsn: number } | MptcpSignal::FastClose { key: number } => {
            head(if matches!(signal, MptcpSignal::Fail { .. }) { MP_FAIL } else { MP_FASTCLOSE }, 0);
            out.push(0);
            out.extend(number.to_be_bytes());
        }
        MptcpSignal::Reset { transient, reason } => {
            head(MP_TCPRST, u8::from(transient));
            out.push(reason);
        }
    }
    Ok(())
}

/// Appends MP_CAPABLE; does nothing for another signal.
fn emit_capable(signal: &MptcpSignal, out: &mut Vec<u8>) -> Result<(), WireError> {
    let MptcpSignal::Capable {
        version,
        checksum,
        deny_join,
        hmac_sha256,
        extension,
        sender_key,
        receiver_key,
        data,
    } = *signal
    else {
        return Ok(());
    };
    if version > 0x0f {
        return Err(WireError::Unwritable { what: "MP_CAPABLE", expected: "a version of 0 to 15" });
    }
    if !matches!((sender_key, receiver_key, data), (None | Some(_), None, None) | (Some(_), Some(_), _)) {
        return Err(WireError::Unwritable {
            what: "MP_CAPABLE",
            expected: "no key, the sender's key, or both keys with or without a data length",
        });
    }
    let flag = |is_set, bit| if is_set { bit } else { 0 };
    let flags = flag(checksum, CAPABLE_CHECKSUM)
        | flag(extension, CAPABLE_EXTENSION)
        | flag(deny_join, CAPABLE_DENY_JOIN)
        | flag(hmac_sha256, CAPABLE_HMAC_SHA256);
    out.extend([KIND, signal.option_len() as u8, MP_CAPABLE << 4 | version, flags]);
    out.extend([sender_key, receiver_key].into_iter().flatten().flat_map(u64::to_be_bytes));
    if let Some((len, checksum)) = data {
        out.extend(len.to_be_bytes());
        out.extend(checksum.into_iter().flat_map(u16::to_be_bytes));
    }
    Ok(())
}

fn capable(nibble: u8, reader: &mut Reader<'_>) -> Option<MptcpSignal> {
    let flags = reader.u8()?;
    let mut key = || if reader.len() >= 8 { reader.u64() } else { None };
    let (sender_key, receiver_key) = (key(), key());
    let data = match (receiver_key, reader.len()) {
        (Some(_), 2) => Some((reader.u16()?, None)),
        (Some(_), 4) => Some((reader.u16()?, Some(reader.u16()?))),
        _ => None,
    };
    Some(MptcpSignal::Capable {
        version: nibble,
        checksum: flags & CAPABLE_CHECKSUM != 0,
        deny_join: flags & CAPABLE_DENY_JOIN != 0,
        hmac_sha256: flags & CAPABLE_HMAC_SHA256 != 0,
        extension: flags & CAPABLE_EXTENSION != 0,
        sender_key,
        receiver_key,
        data,
    })
}

/// The length distinguishes the three forms.
fn join(nibble: u8, reader: &mut Reader<'_>) -> Option<MptcpSignal> {
    let backup = nibble & NIBBLE_FLAG != 0;
    let address_id = reader.u8()?;
    match reader.len() {
        8 => Some(MptcpSignal::JoinSyn { backup, address_id, token: reader.u32()?, nonce: reader.u32()? }),
        12 => Some(MptcpSignal::JoinSynAck { backup, address_id, hmac: reader.u64()?, nonce: reader.u32()? }),
        20 => Some(MptcpSignal::JoinAck { hmac: reader.array()? }),
        _ => None,
    }
}

fn dss(reader: &mut Reader<'_>) -> Option<Dss> {
    let flags = reader.u8()?;
    let has = |bit| flags & bit != 0;
    let mut dss = Dss { data_fin: has(DSS_DATA_FIN), ..Dss::default() };
    if has(DSS_ACK) {
        dss.ack_is_short = !has(DSS_LONG_ACK);
        dss.data_ack = Some(read_number(dss.ack_is_short, reader)?);
    }
    if has(DSS_MAPPING) {
        dss.dsn_is_short = !has(DSS_LONG_DSN);
        dss.mapping = Some(Mapping {
            dsn: read_number(dss.dsn_is_short, reader)?,
            ssn: reader.u32()?,
            len: reader.u16()?,
            checksum: if reader.is_empty() { None } else { Some(reader.u16()?) },
        });
    }
    Some(dss)
}

fn add_address(nibble: u8, reader: &mut Reader<'_>) -> Option<MptcpSignal> {
    let address_id = reader.u8()?;
    let hmac_len = if nibble & NIBBLE_FLAG == 0 { 8 } else { 0 };
    let address: IpAddr = match reader.len().checked_sub(hmac_len)? {
        4 | 6 => Ipv4Addr::from(reader.array::<4>()?).into(),
        16 | 18 => Ipv6Addr::from(reader.array::<16>()?).into(),
        _ => return None,
    };
    let port = if reader.len() > hmac_len { Some(reader.u16()?) } else { None };
    let hmac = if hmac_len > 0 { Some(reader.u64()?) } else { None };
    Some(MptcpSignal::AddAddress { address_id, address, port, hmac })
}

fn remove_address(reader: &mut Reader<'_>) -> Option<MptcpSignal> {
    let (mut ids, mut count) = ([0; 8], 0);
    for slot in &mut ids {
        let Some(id) = reader.u8() else { break };
        *slot = id;
        count += 1;
    }
    (count > 0).then_some(MptcpSignal::RemoveAddress { ids, count })
}

fn priority(nibble: u8, reader: &mut Reader<'_>) -> MptcpSignal {
    MptcpSignal::Priority { backup: nibble & NIBBLE_FLAG != 0, address_id: reader.u8() }
}

fn fail(reader: &mut Reader<'_>) -> Option<MptcpSignal> {
    reader.u8()?;
    Some(MptcpSignal::Fail { dsn: reader.u64()? })
}

fn fast_close(reader: &mut Reader<'_>) -> Option<MptcpSignal> {
    reader.u8()?;
    Some(MptcpSignal::FastClose { key: reader.u64()? })
}

fn reset(nibble: u8, reader: &mut Reader<'_>) -> Option<MptcpSignal> {
    Some(MptcpSignal::Reset { transient: nibble & NIBBLE_FLAG != 0, reason: reader.u8()? })
}

/// Reads a data sequence number or DATA_ACK of 32 or 64 bits.
fn read_number(short: bool, reader: &mut Reader<'_>) -> Option<u64> {
    if short { reader.u32().map(u64::from) } else { reader.u64() }
}

fn write_number(number: u64, short: bool, out: &mut Vec<u8>) {
    if short {
        out.extend((number as u32).to_be_bytes());
    } else {
        out.extend(number.to_be_bytes());
    }
}
