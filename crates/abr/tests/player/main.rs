//! The adaptive player: sessions worked out by hand, and what holds for every session.

mod by_hand;
mod properties;
