//! `tandem profiles`.

use crate::arguments::{Format, Profiles};
use crate::failure::Failure;
use crate::output::{self, Talk};
use radio::Profile;

pub(crate) fn run(arguments: &Profiles, talk: Talk) -> Result<(), Failure> {
    let mut profiles = radio::profiles();
    if let Some(name) = &arguments.name {
        profiles.retain(|profile| profile.name == *name);
        if arguments.format == Format::Table {
            return output::data(&profiles.iter().map(Profile::to_toml).collect::<String>());
        }
    }
    let table = experiments::profiles::table(&profiles);
    let json = experiments::profiles::json(&profiles);
    output::print(talk, arguments.format, std::slice::from_ref(&table), &json, || table.to_csv())
}
