//! `tandem profiles`.

use crate::arguments::{Format, Profiles};
use crate::failure::Failure;
use crate::output::{self, Terminal};
use radio::Profile;

pub(crate) fn run(arguments: &Profiles, terminal: Terminal) -> Result<(), Failure> {
    let mut profiles = radio::profiles();
    if let Some(name) = &arguments.name {
        profiles.retain(|profile| profile.name == *name);
        if arguments.format == Format::Table {
            return output::write(&profiles.iter().map(Profile::to_toml).collect::<String>());
        }
    }
    let table = experiments::profiles::table(&profiles);
    let json = experiments::profiles::json(&profiles);
    output::print(terminal, arguments.format, std::slice::from_ref(&table), &json, || table.to_csv())
}
