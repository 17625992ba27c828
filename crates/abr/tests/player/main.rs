//! The player: sessions with hand-computed times, properties of every session, and a custom rule.

mod by_hand;
mod custom_rule;
mod properties;
