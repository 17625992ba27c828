//! Arguments of `tandem schema`.

use clap::Args;

/// Print the keys of scenario files: their JSON Schema, or their documentation.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem schema > scenario.schema.json        for editors with a TOML language server
  tandem schema --markdown | less             every key with unit, range and default")]
pub(crate) struct Schema {
    /// Print the documentation of every key as Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
}
