use super::*;
use proptest::prelude::*;
use std::net::Ipv4Addr;

fn ip(last: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, last).into()
}

fn endpoint(id: u8, last: u8, backup: bool) -> Endpoint {
    let flags = Flags { subflow: true, backup, ..Flags::default() };
    Endpoint { id, address: ip(last), port: 0, device: 7, flags }
}

/// Model of the kernel path manager.
#[derive(Debug, Clone, PartialEq)]
struct Kernel {
    endpoints: Vec<Endpoint>,
    limits: Limits,
}

impl Kernel {
    fn take(&mut self, step: Step) {
        match step {
            Step::Remove(one) => self.endpoints.retain(|there| there.id != one.id),
            Step::Add(one) => self.endpoints.push(one),
            Step::SetBackup(one, backup) => {
                for there in self.endpoints.iter_mut().filter(|there| there.id == one.id) {
                    there.flags.backup = backup;
                }
            }
            Step::SetLimits(limits) => self.limits = limits,
        }
    }

    fn sorted(mut self) -> Self {
        self.endpoints.sort_by_key(|one| one.id);
        self
    }
}

#[test]
fn only_own_changes_are_undone() {
    let mut journal = Journal::new(Place::default());
    let (ours, theirs, gone) = (endpoint(1, 1, true), endpoint(2, 2, false), endpoint(3, 3, false));
    assert!(journal.is_empty());
    assert!(journal.note_added(ours.address) && !journal.note_added(ours.address));
    assert!(journal.note_changed(&theirs) && !journal.note_changed(&theirs));
    assert!(journal.note_removed(&gone) && !journal.note_removed(&gone));
    assert!(!journal.note_added(gone.address), "it existed before");
    let limits = |subflows| Limits { subflows, accepted_addresses: 1 };
    assert!(journal.note_limits(limits(2), limits(3)) && !journal.note_limits(limits(3), limits(3)));
    assert!(journal.note_limits(limits(3), limits(4)));

    let changed = endpoint(2, 2, true);
    let foreign = endpoint(4, 4, true);
    let steps = journal.undo_steps(&[ours, changed, foreign], limits(4));
    let wanted =
        [Step::Remove(ours), Step::SetBackup(changed, false), Step::Add(gone), Step::SetLimits(limits(2))];
    assert_eq!(steps, wanted);
    // Changes of other programs stay: limits, a removed endpoint, a restored one.
    assert_eq!(journal.undo_steps(&[theirs, gone], limits(8)), []);
    assert_eq!(Journal::parse(&journal.to_bytes()), Ok(journal));
}

#[test]
fn implicit_endpoint_is_not_added_again() {
    let mut journal = Journal::new(Place::default());
    let mut implicit = endpoint(1, 1, false);
    implicit.flags = Flags { implicit: true, ..Flags::default() };
    assert!(!journal.note_removed(&implicit));
    assert!(journal.note_added(implicit.address), "the agent's own replaces it");
    let limits = Limits { subflows: 2, accepted_addresses: 0 };
    assert_eq!(journal.undo_steps(&[], limits), []);
}

#[test]
fn removed_endpoint_is_restored_in_place_of_an_implicit_one() {
    let mut journal = Journal::new(Place::default());
    let (gone, limits) = (endpoint(1, 1, false), Limits { subflows: 2, accepted_addresses: 0 });
    journal.note_removed(&gone);
    let implicit = Endpoint { flags: Flags { implicit: true, ..Flags::default() }, ..endpoint(7, 1, false) };
    assert_eq!(journal.undo_steps(&[implicit], limits), [Step::Add(gone)]);
    journal.retain_unfinished(&[implicit], limits);
    assert!(!journal.is_empty());
}

#[test]
fn only_unfinished_changes_are_retained() {
    let mut journal = Journal::new(Place::default());
    let (ours, theirs, gone) = (endpoint(1, 1, true), endpoint(2, 2, false), endpoint(3, 3, false));
    journal.note_added(ours.address);
    journal.note_changed(&theirs);
    journal.note_removed(&gone);
    let limits = |subflows| Limits { subflows, accepted_addresses: 1 };
    journal.note_limits(limits(2), limits(3));
    let all = journal.clone();
    journal.retain_unfinished(&[ours, endpoint(2, 2, true)], limits(3));
    assert_eq!(journal, all, "nothing is undone");
    journal.retain_unfinished(&[theirs], limits(2));
    assert_eq!(journal.undo_steps(&[theirs], limits(3)), [Step::Add(gone)]);
    journal.retain_unfinished(&[theirs, gone], limits(2));
    assert!(journal.is_empty());
}

#[test]
fn journal_of_another_namespace_with_the_same_inode_is_foreign() {
    let place = |cookie| Place { boot: "boot".to_owned(), namespace: 7, cookie };
    let written = Journal::new(place(Some(1)));
    let read = Journal::parse(&written.to_bytes()).unwrap();
    assert!(read.belongs_to(&place(Some(1))) && read.belongs_to(&place(None)));
    assert!(!read.belongs_to(&place(Some(2))));
    let old = br#"{"version":1,"place":{"boot":"boot","namespace":7},"added":[],"before":[],"limits":null}"#;
    let old = Journal::parse(old).unwrap();
    assert!(old.belongs_to(&place(Some(1))) && old.belongs_to(&place(None)));
}

#[test]
fn invalid_journal_is_rejected() {
    for text in ["", "{", "null", "[]", "{\"version\":1}", "\u{0}"] {
        assert!(Journal::parse(text.as_bytes()).is_err(), "{text}");
    }
    let later = String::from_utf8(Journal::new(Place::default()).to_bytes()).unwrap();
    let later = later.replace("\"version\":1", "\"version\":2");
    assert_eq!(Journal::parse(later.as_bytes()).unwrap_err(), "version 2 instead of 1");
}

proptest! {
    /// After any sequence of changes and a crash at any point, the next start undoes all.
    #[test]
    fn every_history_is_undone(
        there in prop::collection::btree_map(1_u8..6, any::<bool>(), 0..5),
        changes in prop::collection::vec((1_u8..8, 0_u8..3), 0..30),
        killed_before_the_last in any::<bool>(),
    ) {
        let endpoints = there.iter().map(|(last, backup)| endpoint(*last, *last, *backup)).collect();
        let before = Kernel { endpoints, limits: Limits { subflows: 2, accepted_addresses: 0 } };
        let mut kernel = before.clone();
        let mut journal = Journal::new(Place::default());
        let count = changes.len();
        for (nth, (last, change)) in changes.into_iter().enumerate() {
            // The journal is written first; a crash can happen before the change.
            let done = !(killed_before_the_last && nth + 1 == count);
            let is = kernel.endpoints.iter().find(|one| one.address == ip(last)).copied();
            match (change, is) {
                (0, None) => {
                    journal.note_added(ip(last));
                    if done {
                        let was = journal.removed(ip(last));
                        kernel.take(Step::Add(was.unwrap_or(endpoint(last + 100, last, true))));
                        journal.note_returned(ip(last));
                    }
                }
                (1, Some(one)) => {
                    journal.note_changed(&one);
                    if done {
                        kernel.take(Step::SetBackup(one, !one.flags.backup));
                    }
                }
                (2, Some(one)) => {
                    journal.note_removed(&one);
                    if done {
                        kernel.take(Step::Remove(one));
                        journal.forget_added(one.address);
                    }
                }
                _ => {}
            }
        }
        let journal = Journal::parse(&journal.to_bytes()).unwrap();
        for step in journal.undo_steps(&kernel.endpoints, kernel.limits) {
            kernel.take(step);
        }
        prop_assert_eq!(kernel.sorted(), before.sorted());
    }

    #[test]
    fn arbitrary_bytes_parse_or_fail(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(journal) = Journal::parse(&bytes) {
            prop_assert_eq!(Journal::parse(&journal.to_bytes()), Ok(journal));
        }
    }
}
