//! Arguments of `tandem profiles` and `tandem completions`.

use super::Format;
use clap::Args;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;

/// List the radio power profiles, or show one as TOML.
///
/// A changed copy can be used in a scenario: `radio = { file = "mine.toml" }`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem profiles
  tandem profiles huang2012.lte > mine.toml
  tandem profiles --format json")]
pub(crate) struct Profiles {
    /// Name of the profile to show
    #[arg(value_parser = PossibleValuesParser::new(profile_names()), hide_possible_values = true)]
    pub(crate) name: Option<String>,
    /// Output format of the list
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
}

fn profile_names() -> Vec<clap::builder::Str> {
    radio::profiles().into_iter().map(|profile| profile.name.into()).collect()
}

/// Print a completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem completions bash > ~/.local/share/bash-completion/completions/tandem
  tandem completions zsh > ~/.zfunc/_tandem
  tandem completions fish > ~/.config/fish/completions/tandem.fish")]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}
