//! Hostile exchanges with Linux and with Tandem, as root:
//! `cargo run -p tandem-twin --example twin -- [servers] COUNT [FIRST]`.

use std::collections::BTreeMap;
use tandem_twin::{Difference, Peers, run};
use units::Seed;

/// Examples of each class without an explanation.
const EXAMPLES: usize = 3;

fn main() -> Result<(), linux::Error> {
    let mut arguments = std::env::args().skip(1).peekable();
    let is_server = arguments.next_if_eq("servers").is_some();
    let peers = if is_server { Peers::Servers } else { Peers::Clients };
    let numbers: Result<Vec<u64>, _> = arguments.map(|text| text.parse()).collect();
    let Ok(numbers) = numbers else {
        eprintln!("expected COUNT and FIRST, two numbers");
        std::process::exit(2);
    };
    let count = numbers.first().copied().unwrap_or(2000);
    let first = numbers.get(1).copied().unwrap_or(0);
    let found = run(peers, Seed::new(1), first, count, &|done| eprint!("\r{done} of {count} exchanges"))?;
    eprintln!();
    println!("{} exchanges, {} without a difference", found.exchanges, found.same);
    for (name, (times, example)) in &found.explained {
        println!("{times:6} {name}");
        print_difference(example);
    }
    let mut classes: BTreeMap<String, Vec<&Difference>> = BTreeMap::new();
    for difference in &found.unexplained {
        let hostile =
            if difference.hostile.len() < 2 { difference.hostile.join("") } else { "several".to_owned() };
        classes
            .entry(format!("{hostile}: {:?} then {}", difference.first, difference.members.join(", ")))
            .or_default()
            .push(difference);
    }
    println!("{} not explained", found.unexplained.len());
    for (members, all) in classes {
        println!("{:6} {members}", all.len());
        for one in all.iter().take(EXAMPLES) {
            print_difference(one);
        }
    }
    Ok(())
}

fn print_difference(one: &Difference) {
    println!("       {}: {}", one.number, one.script);
    println!("         Linux:  {}", one.outcomes[0]);
    println!("         Tandem: {}", one.outcomes[1]);
}
