//! The built page of the player.

use std::path::PathBuf;

/// The folder of the built page: `web/dist`, or `web` beside the program.
pub(crate) fn find() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.join("web")));
    [Some(PathBuf::from("web/dist")), beside]
        .into_iter()
        .flatten()
        .find(|folder| folder.join("index.html").is_file())
}
