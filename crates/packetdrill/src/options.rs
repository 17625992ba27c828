//! TCP options of a script's packet. Keys, tokens and addresses may be variables.

use crate::script::Value;
use core::net::IpAddr;

/// Options of a packet.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Options {
    pub(crate) mss: Option<u16>,
    pub(crate) sack_permitted: bool,
    pub(crate) window_scale: Option<u8>,
    /// Value and echo.
    pub(crate) timestamps: Option<(u32, u32)>,
    pub(crate) sack: Vec<(u32, u32)>,
    pub(crate) dss: Option<DssOption>,
    pub(crate) signal: Option<Signal>,
}

/// A number of 32 or 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DataNumber {
    pub(crate) number: u64,
    pub(crate) short: bool,
}

/// DSS, with data sequence numbers relative to the initial ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DssOption {
    pub(crate) ack: Option<DataNumber>,
    pub(crate) dsn: Option<DataNumber>,
    pub(crate) ssn: Option<u32>,
    pub(crate) len: Option<u16>,
    pub(crate) fin: bool,
}

/// A key: a number, or a variable, which the number sets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) name: Option<String>,
    pub(crate) number: Option<u64>,
}

/// Any other MPTCP option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Signal {
    Capable {
        version: u8,
        flags: u8,
        keys: Vec<Key>,
        data: Option<u16>,
    },
    /// The token is a number, or that of a key.
    JoinSyn {
        backup: bool,
        id: Option<u8>,
        token: Result<u32, Key>,
    },
    JoinSynAck {
        backup: bool,
        id: Option<u8>,
    },
    JoinAck,
    AddAddress {
        id: Option<u8>,
        name: Option<String>,
        address: Option<IpAddr>,
        port: Option<u16>,
        echo: bool,
    },
    RemoveAddress {
        ids: Vec<u8>,
    },
    Priority {
        backup: bool,
        id: Option<u8>,
    },
    FastClose {
        key: Key,
    },
    Reset {
        reason: u8,
    },
}

/// Words and values of one option after its name.
struct Fields<'a>(&'a [Value]);

impl Fields<'_> {
    fn has(&self, word: &str) -> bool {
        self.0.iter().any(|value| value.word() == Some(word))
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.0.iter().find_map(|value| match value {
            Value::Set(found, value) if found == name => Some(&**value),
            _ => None,
        })
    }

    fn number<T: TryFrom<i128>>(&self, name: &str) -> Option<T> {
        self.value(name).and_then(number)
    }

    fn index(&self, name: &str) -> &[Value] {
        let found = self.0.iter().find_map(|value| match value {
            Value::Index(found, list) if found == name => Some(&list[..]),
            _ => None,
        });
        found.unwrap_or(&[])
    }

    /// The number after a word.
    fn after<T: TryFrom<i128>>(&self, word: &str) -> Option<T> {
        let at = self.0.iter().position(|value| value.word() == Some(word))?;
        number(self.0.get(at + 1)?)
    }

    fn backup(&self) -> bool {
        self.number::<u8>("backup") == Some(1)
    }

    fn id(&self) -> Option<u8> {
        self.number("address_id")
    }
}

fn number<T: TryFrom<i128>>(value: &Value) -> Option<T> {
    value.int().and_then(|number| T::try_from(number).ok())
}

impl Options {
    /// Reads the options. An error is the text of the option that is not known.
    pub(crate) fn read(options: &[Vec<Value>]) -> Result<Self, String> {
        let mut all = Self::default();
        for option in options {
            let Some((name, fields)) = option.split_first() else { continue };
            let name = name.word().unwrap_or("");
            all.add(name, &Fields(fields)).ok_or_else(|| format!("TCP option {name:?}"))?;
        }
        Ok(all)
    }

    fn add(&mut self, name: &str, fields: &Fields<'_>) -> Option<()> {
        let first = || fields.0.first();
        match name {
            "nop" | "eol" => {}
            "mss" => self.mss = Some(number(first()?)?),
            "sackOK" => self.sack_permitted = true,
            "wscale" => self.window_scale = Some(number(first()?)?),
            "TS" => self.timestamps = Some((fields.after("val")?, fields.after("ecr")?)),
            "sack" => {
                let edges: Option<Vec<u32>> = fields.0.iter().map(number).collect();
                self.sack = edges?.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            }
            "dss" => self.dss = Some(dss(fields)),
            _ => self.signal = Some(signal(name, fields)?),
        }
        Some(())
    }
}

fn dss(fields: &Fields<'_>) -> DssOption {
    let sized = |long: &str, short: &str| {
        let long = fields.number(long).map(|number| DataNumber { number, short: false });
        long.or_else(|| fields.number(short).map(|number| DataNumber { number, short: true }))
    };
    DssOption {
        ack: sized("dack8", "dack4"),
        dsn: sized("dsn8", "dsn4"),
        ssn: fields.number("ssn"),
        len: fields.number("dll"),
        fin: fields.has("fin"),
    }
}

fn signal(name: &str, fields: &Fields<'_>) -> Option<Signal> {
    let (backup, id) = (fields.backup(), fields.id());
    Some(match name {
        "mpcapable" => Signal::Capable {
            version: u8::from(!fields.has("v0")),
            flags: capable_flags(fields),
            keys: fields.index("key").iter().map(key).collect::<Option<_>>()?,
            data: fields.after("mpcdatalen"),
        },
        "mp_join_syn" => Signal::JoinSyn { backup, id, token: token(fields.value("token")?)? },
        "mp_join_syn_ack" => Signal::JoinSynAck { backup, id },
        "mp_join_ack" => Signal::JoinAck,
        "add_address" => {
            let address = fields.index("addr").first()?;
            let (name, address) = match address {
                Value::Set(name, value) => (Some(name.clone()), Some(ip(value)?)),
                other => (Some(other.word()?.to_owned()), None),
            };
            Signal::AddAddress {
                id,
                name,
                address,
                port: fields.number("port"),
                echo: fields.has("addr_echo"),
            }
        }
        "remove_address" => {
            let ids = fields.value("address_id")?.list()?.iter().map(number);
            Signal::RemoveAddress { ids: ids.collect::<Option<_>>()? }
        }
        "mp_prio" => Signal::Priority { backup, id },
        "mp_fastclose" => Signal::FastClose {
            key: Key { name: None, number: fields.number("ckey").or_else(|| fields.number("skey")) },
        },
        "mp_reset" => Signal::Reset { reason: fields.0.first().and_then(number)? },
        _ => return None,
    })
}

/// `flags[flag_a, flag_h]` or `flags 0x81`.
fn capable_flags(fields: &Fields<'_>) -> u8 {
    let letters = fields.index("flags").iter().filter_map(Value::word);
    let named = letters.filter_map(|name| name.strip_prefix("flag_")?.bytes().next());
    let bits = named.map(|letter| 0x80_u8.checked_shr(u32::from(letter.wrapping_sub(b'a'))).unwrap_or(0));
    fields.after("flags").unwrap_or_else(|| bits.fold(0, |all, bit| all | bit))
}

fn key(value: &Value) -> Option<Key> {
    Some(match value {
        Value::Set(name, value) => Key { name: Some(name.clone()), number: Some(number(value)?) },
        Value::Int(_) => Key { name: None, number: Some(number(value)?) },
        other => Key { name: Some(other.word()?.to_owned()), number: None },
    })
}

fn token(value: &Value) -> Option<Result<u32, Key>> {
    Some(match value {
        Value::Apply(name, list) if name == "sha256_32" => Err(key(list.first()?)?),
        other => Ok(number(other)?),
    })
}

fn ip(value: &Value) -> Option<IpAddr> {
    let Value::Apply(_, list) = value else { return None };
    let Some(Value::Text(text)) = list.first() else { return None };
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Action, Script};

    fn options(text: &str) -> Options {
        let script = Script::parse(&format!("+0 > . 1:1(0) ack 1 <{text}>")).unwrap();
        let Action::Outbound(packet) = &script.steps[0].action else { panic!("a packet") };
        Options::read(&packet.options).unwrap()
    }

    #[test]
    fn keys_flags_and_length_of_mp_capable_are_read() {
        let key = |name: &str, number| Key { name: Some(name.to_owned()), number };
        let capable = "nop, nop, mpcapable v1 flags[flag_a, flag_h] key[ckey=2, skey] mpcdatalen 9";
        let keys = vec![key("ckey", Some(2)), key("skey", None)];
        let expected = Signal::Capable { version: 1, flags: 0x81, keys, data: Some(9) };
        assert_eq!(options(capable).signal, Some(expected));
    }

    #[test]
    fn dss_with_mapping_is_read() {
        let dss = options("dss dack8=7 dsn4=3 ssn=2 dll=1 nocs fin, nop").dss.unwrap();
        assert_eq!(dss.ack, Some(DataNumber { number: 7, short: false }));
        assert_eq!(dss.dsn, Some(DataNumber { number: 3, short: true }));
        assert_eq!((dss.ssn, dss.len, dss.fin), (Some(2), Some(1), true));
    }

    #[test]
    fn addresses_and_sack_blocks_are_read() {
        let all = options(r#"add_address address_id=4 addr[ep=inet_addr("192.0.2.9")] port=8 hmac=auto"#);
        let address = Some("192.0.2.9".parse().unwrap());
        let name = Some("ep".to_owned());
        let expected = Signal::AddAddress { id: Some(4), name, address, port: Some(8), echo: false };
        assert_eq!(all.signal, Some(expected));
        assert_eq!(options("TS val 1 ecr 2, sack 1:5 9:11").sack, [(1, 5), (9, 11)]);
    }
}
