//! The segments of a script.

use crate::act::{Act, Opening};
use crate::exchange::{Exchange, Join};
use crate::keys::token_and_idsn;
use crate::packet::{PEER, encode, segment, with_option, with_wrong_checksum};
use bytes::Bytes;
use wire::{Dss, Flags, Mapping, MptcpSignal, Segment, dss_checksum};

/// Length field, and subtype, of an encoded MPTCP option.
const LEN: usize = 1;
const SUBTYPE: usize = 2;

impl Exchange {
    pub(crate) fn syn(&self) -> Vec<u8> {
        let mut syn = segment(self.ends(), [self.isn, 0], Flags::SYN);
        syn.mss = Some(1400);
        let version = if let Opening::OtherVersion(version) = self.opening { version } else { 1 };
        let has_key = matches!(self.opening, Opening::KeyInSyn | Opening::OtherVersion(0));
        syn.signal = (self.opening != Opening::PlainTcp).then_some(MptcpSignal::Capable {
            version,
            checksum: self.checksum,
            deny_join: false,
            hmac_sha256: self.opening != Opening::NoAlgorithm,
            extension: self.opening == Opening::Extension,
            sender_key: has_key.then_some(self.key),
            receiver_key: None,
            data: None,
        });
        encode(&syn)
    }

    fn capable(&self, data: Option<(u16, Option<u16>)>) -> Option<MptcpSignal> {
        let key = self.server_key?;
        let receiver = if self.opening == Opening::WrongServerKey { key ^ 1 } else { key };
        Some(self.valid_capable(Some(receiver), data))
    }

    /// An MP_CAPABLE of version 1 with the peer's own key and no flag but that of checksums.
    pub(crate) fn valid_capable(
        &self,
        receiver_key: Option<u64>,
        data: Option<(u16, Option<u16>)>,
    ) -> MptcpSignal {
        MptcpSignal::Capable {
            version: 1,
            checksum: self.checksum,
            deny_join: false,
            hmac_sha256: true,
            extension: false,
            sender_key: Some(self.key),
            receiver_key,
            data,
        }
    }

    pub(crate) fn third_ack(&mut self) -> Vec<Vec<u8>> {
        let mut ack = self.acknowledgement();
        ack.dss = None;
        match self.opening {
            Opening::SilentThirdAck => {}
            Opening::DssThirdAck => ack.dss = self.uses_mptcp().then(|| self.data_ack()),
            Opening::DataInThirdAck if self.uses_mptcp() => {
                let len = self.draw_len();
                let payload = self.content(self.dsn, len, false);
                let checksum = self.checksum.then(|| dss_checksum(self.dsn, 1, len, &payload));
                ack.signal = self.capable(Some((len, checksum)));
                ack.payload = payload;
                self.advance(len, true);
            }
            _ => ack.signal = self.capable(None),
        }
        vec![encode(&ack)]
    }

    /// The bytes of the stream from `dsn`; with `hostile`, other ones.
    fn content(&self, dsn: u64, len: u16, hostile: bool) -> Bytes {
        let start = dsn.wrapping_sub(token_and_idsn(self.key).1);
        let byte = |at: u64| (at.wrapping_mul(7) ^ (at >> 8)) as u8 ^ if hostile { 0xff } else { 0 };
        (0..u64::from(len)).map(|i| byte(start.wrapping_add(i))).collect::<Vec<_>>().into()
    }

    /// Counts a segment as sent; with `is_mapped`, also its data.
    fn advance(&mut self, len: u16, is_mapped: bool) {
        self.seq = self.seq.wrapping_add(len.into());
        if is_mapped {
            self.dsn = self.dsn.wrapping_add(len.into());
        }
    }

    /// A segment with a payload at the next sequence number, mapped as `mapping` says.
    fn data(&self, payload: Bytes, dsn: u64, len: u16) -> Segment<Bytes> {
        let mut data = self.acknowledgement();
        let ssn = self.seq.wrapping_sub(self.isn);
        let checksum = self.checksum.then(|| dss_checksum(dsn, ssn, len, &payload));
        if let Some(dss) = &mut data.dss {
            dss.mapping = Some(Mapping { dsn, ssn, len, checksum });
        }
        data.flags = data.flags.with(Flags::PSH);
        data.payload = payload;
        data
    }

    fn proper_data(&mut self) -> Segment<Bytes> {
        let len = self.draw_len();
        let data = self.data(self.content(self.dsn, len, false), self.dsn, len);
        self.advance(len, true);
        data
    }

    pub(crate) fn data_fin(&mut self) -> Vec<u8> {
        let mut fin = self.acknowledgement();
        let checksum = self.checksum.then(|| dss_checksum(self.dsn, 0, 1, &[]));
        fin.dss = Some(Dss {
            mapping: Some(Mapping { dsn: self.dsn, ssn: 0, len: 1, checksum }),
            data_fin: true,
            ..self.data_ack()
        });
        self.dsn = self.dsn.wrapping_add(1);
        encode(&fin)
    }

    pub(crate) fn fin(&mut self) -> Vec<u8> {
        let mut fin = self.acknowledgement();
        fin.flags = fin.flags.with(Flags::FIN);
        self.advance(1, false);
        encode(&fin)
    }

    fn with_signal(&self, signal: MptcpSignal) -> Vec<Vec<u8>> {
        let mut ack = self.acknowledgement();
        ack.signal = Some(signal);
        vec![encode(&ack)]
    }

    fn changed_data(&mut self, change: impl FnOnce(&mut Dss)) -> Vec<Vec<u8>> {
        let mut data = self.proper_data();
        if let Some(dss) = &mut data.dss {
            change(dss);
        }
        vec![encode(&data)]
    }

    fn join(&mut self, token: u32, is_proper: bool) -> Vec<Vec<u8>> {
        let port = self.ports[1] + self.joins.len() as u16;
        let (isn, nonce) = (self.rng.bits() as u32, self.rng.bits() as u32);
        self.joins.push(Join { port, seq: isn.wrapping_add(1), nonce, is_proper });
        let mut syn = segment((port, self.peer_port), [isn, 0], Flags::SYN);
        syn.mss = Some(1400);
        syn.signal = Some(MptcpSignal::JoinSyn { backup: false, address_id: 0, token, nonce });
        vec![encode(&syn)]
    }

    /// The segments of an act.
    pub(crate) fn act(&mut self, act: Act) -> Vec<Vec<u8>> {
        let is_mptcp = self.uses_mptcp();
        let (seq, dsn) = (self.seq, self.dsn);
        let shift = |seq: u32, by: i64| (i64::from(seq) + by) as u32;
        let reset = |by: i64| vec![encode(&segment(self.ends(), [shift(seq, by), 0], Flags::RST))];
        let token = self.server_key.map_or(0, |key| token_and_idsn(key).0);
        match act {
            Act::Data => vec![encode(&self.proper_data())],
            Act::ShortNumbers => self.changed_data(|dss| {
                dss.data_ack = dss.data_ack.map(|ack| ack & 0xffff_ffff);
                (dss.ack_is_short, dss.dsn_is_short) = (true, true);
                if let Some(mapping) = &mut dss.mapping {
                    mapping.dsn &= 0xffff_ffff;
                }
            }),
            Act::Unmapped => {
                let len = self.draw_len();
                let mut data = self.data(self.content(dsn, len, true), dsn, len);
                data.dss = is_mptcp.then(|| self.data_ack());
                self.advance(len, !is_mptcp);
                vec![encode(&data)]
            }
            Act::FutureDsn | Act::OldDsn | Act::OverlapOld => {
                let len = self.draw_len();
                let from = match act {
                    Act::FutureDsn => dsn.wrapping_add(1000),
                    Act::OldDsn => dsn.wrapping_sub(len.into()),
                    _ => dsn.wrapping_sub(u64::from(len / 2)),
                };
                let data = self.data(self.content(from, len, true), from, len);
                self.advance(len, false);
                if act == Act::OverlapOld {
                    self.dsn = self.dsn.wrapping_add(u64::from(len / 2));
                }
                vec![encode(&data)]
            }
            Act::WrongSsn => self.changed_data(|dss| {
                if let Some(mapping) = &mut dss.mapping {
                    mapping.ssn = mapping.ssn.wrapping_add(7);
                }
            }),
            Act::LongMapping => {
                let (first, second) = (self.draw_len(), self.draw_len());
                let whole = self.content(dsn, first + second, false);
                let mut head = self.data(whole.clone(), dsn, first + second);
                head.payload = whole.slice(..usize::from(first));
                self.advance(first, true);
                let mut tail = self.acknowledgement();
                tail.payload = whole.slice(usize::from(first)..);
                self.advance(second, true);
                vec![encode(&head), encode(&tail)]
            }
            Act::ShortMapping => self.changed_data(|dss| {
                if let Some(mapping) = &mut dss.mapping {
                    mapping.len /= 2;
                }
            }),
            Act::InfiniteMapping => self.changed_data(|dss| {
                if let Some(mapping) = &mut dss.mapping {
                    (mapping.len, mapping.checksum) = (0, mapping.checksum.map(|_| 0));
                }
            }),
            Act::WrongChecksum => self.changed_data(|dss| {
                if let Some(mapping) = &mut dss.mapping {
                    mapping.checksum = Some(mapping.checksum.map_or(0x1234, |sum| sum ^ 0x0101));
                }
            }),
            Act::FutureDataAck => self.changed_data(|dss| {
                dss.data_ack = dss.data_ack.map(|ack| ack.wrapping_add(100_000));
            }),
            Act::Repeat => self.last.clone(),
            Act::Swapped => {
                let (first, second) = (self.proper_data(), self.proper_data());
                vec![encode(&second), encode(&first)]
            }
            Act::BeyondWindow => {
                let len = self.draw_len();
                let mut data = self.data(self.content(dsn, len, true), dsn, len);
                data.seq = shift(seq, 1 << 30);
                vec![encode(&data)]
            }
            Act::Reset => reset(0),
            Act::ResetInWindow => reset(10),
            Act::ResetOutside => reset(-100_000),
            Act::SynInWindow => vec![encode(&segment(self.ends(), [shift(seq, 5), 0], Flags::SYN))],
            Act::Fin => vec![self.fin()],
            Act::WrongTcpChecksum => {
                let before = (self.seq, self.dsn);
                let data = encode(&self.proper_data());
                (self.seq, self.dsn) = before;
                vec![with_wrong_checksum(data)]
            }
            _ if !is_mptcp => vec![encode(&self.proper_data())],
            Act::FastClose => self.with_signal(MptcpSignal::FastClose { key: self.server_key.unwrap_or(0) }),
            Act::FastCloseWrongKey => {
                self.with_signal(MptcpSignal::FastClose { key: self.server_key.unwrap_or(0) ^ 1 })
            }
            Act::Fail => self.with_signal(MptcpSignal::Fail { dsn }),
            Act::Priority => self.with_signal(MptcpSignal::Priority { backup: true, address_id: None }),
            Act::AddAddress => self.with_signal(MptcpSignal::AddAddress {
                address_id: 9,
                address: PEER.into(),
                port: None,
                hmac: Some(0x1234),
            }),
            Act::AddressFlood => self.address_flood(),
            Act::Announce(answer) => self.announce(answer),
            Act::RemoveAddress => {
                self.with_signal(MptcpSignal::RemoveAddress { ids: [77, 0, 0, 0, 0, 0, 0, 0], count: 1 })
            }
            Act::JoinUnknown => self.join(token ^ 1, true),
            Act::JoinWrongHmac => self.join(token, false),
            Act::Join => self.join(token, true),
            Act::DataAfterDataFin => {
                let fin = self.data_fin();
                vec![fin, encode(&self.proper_data())]
            }
            Act::MalformedDss => {
                let data = encode(&self.proper_data());
                vec![with_option(data, |option| option[LEN] -= 2)]
            }
            Act::UnknownSubtype => {
                let mut ack = self.acknowledgement();
                ack.signal = Some(MptcpSignal::Fail { dsn });
                ack.dss = None;
                vec![with_option(encode(&ack), |option| option[SUBTYPE] = 0xe0)]
            }
            Act::CapableAgain => {
                let mut ack = self.acknowledgement();
                (ack.dss, ack.signal) = (None, self.capable(None));
                vec![encode(&ack)]
            }
        }
    }
}
