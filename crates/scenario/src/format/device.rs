//! Keys of the device and its policy.

use super::choice;
use policy::REGISTRY;
use quantities::{POSITIVE_ENERGY, POWER};
use schema::shape::{
    Choice, Key,
    Need::{Default, Required},
    Shape::{self, Or, Text},
    Table,
};

pub(super) static DEVICE: Table = Table {
    name: "the device",
    doc: "The simulated device: its energy and its paths.",
    one_of: &[],
    keys: &[
        Key {
            name: "name",
            shape: Text,
            need: Default("\"device\""),
            doc: "Name in results.",
            example: "\"phone\"",
        },
        Key {
            name: "battery",
            shape: POSITIVE_ENERGY,
            need: Default("\"15Wh\""),
            doc: "Capacity of the battery; a phone's 15 Wh is 4000 mAh at 3.85 V.",
            example: "\"300J\"",
        },
        Key {
            name: "policy",
            shape: Or(&Shape::Choice(&POLICIES), &Shape::Table(&POLICY)),
            need: Default("\"none\""),
            doc: "How the device uses its paths.",
            example: "{ name = \"emtcp\", share = 0.24, actuator = \"mp-prio\" }",
        },
        Key {
            name: "joint_power",
            shape: POWER,
            need: Default("\"0W\""),
            doc: "Extra power while two or more radios are active at once, on top of the sum of their powers.",
            example: "\"50mW\"",
        },
    ],
};

/// The registered policies.
pub(super) static POLICIES: [Choice; REGISTRY.len()] = {
    let mut policies = [choice("", ""); REGISTRY.len()];
    let mut i = 0;
    while i < REGISTRY.len() {
        policies[i] = choice(REGISTRY[i].name, REGISTRY[i].doc);
        i += 1;
    }
    policies
};

static POLICY: Table =
    Table { name: "a policy", doc: "A policy with its parameters.", one_of: &[], keys: &POLICY_KEYS };

const POLICY_NAME: Key = Key {
    name: "name",
    shape: Shape::Choice(&POLICIES),
    need: Required,
    doc: "Name of the policy.",
    example: "\"emtcp\"",
};

/// The name, then the parameters of every registered policy.
static POLICY_KEYS: [Key; 1 + parameter_count()] = {
    let mut keys = [POLICY_NAME; 1 + parameter_count()];
    let (mut at, mut i) = (1, 0);
    while i < REGISTRY.len() {
        let parameters = REGISTRY[i].parameters.keys;
        let mut j = 0;
        while j < parameters.len() {
            keys[at] = parameters[j];
            at += 1;
            j += 1;
        }
        i += 1;
    }
    keys
};

const fn parameter_count() -> usize {
    let (mut count, mut i) = (0, 0);
    while i < REGISTRY.len() {
        count += REGISTRY[i].parameters.keys.len();
        i += 1;
    }
    count
}
