//! Files of one directory.

use percent_encoding::percent_decode_str;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use std::fs::File;
use std::path::Path;

/// Opens the file at a URL's path beneath a directory; `None` if it does not exist. The kernel
/// keeps links within the directory: `openat2(2)` with `RESOLVE_BENEATH`.
pub(super) fn open(directory: &Path, path: &str) -> Option<(File, u64)> {
    let name = decoded(path.trim_start_matches('/'))?;
    let root = File::open(directory).ok()?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let open = |name: &str| {
        let file: File = openat2(&root, name, flags, Mode::empty(), resolve).ok()?.into();
        Some((file.metadata().ok()?, file))
    };
    let name = if name.is_empty() || name.ends_with('/') { format!("{name}index.html") } else { name };
    let (metadata, file) = open(&name)?;
    metadata.is_file().then_some((file, metadata.len()))
}

/// Media type by file name.
pub(super) fn media_type(path: &str) -> &'static str {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension.to_ascii_lowercase().as_str() {
        _ if path.ends_with('/') => "text/html; charset=utf-8",
        "html" => "text/html; charset=utf-8",
        "mpd" => "application/dash+xml",
        "mp4" | "m4s" | "m4v" => "video/mp4",
        "m4a" => "audio/mp4",
        "webm" => "video/webm",
        "json" => "application/json",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" | "vtt" | "log" => "text/plain; charset=utf-8",
        "webmanifest" => "application/manifest+json",
        "wasm" => "application/wasm",
        _ => "application/octet-stream",
    }
}

/// Decodes percent-encoding. `None` for malformed sequences, invalid UTF-8 and NUL.
fn decoded(path: &str) -> Option<String> {
    let is_sequence = |rest: &str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    if !path.split('%').skip(1).all(is_sequence) {
        return None;
    }
    let text = percent_decode_str(path).decode_utf8().ok()?;
    (!text.contains('\0')).then(|| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn paths_outside_the_directory_are_rejected() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(outer.path().join("secret"), "no").unwrap();
        fs::write(root.join("a/b c.txt"), "yes").unwrap();
        fs::write(root.join("index.html"), "start").unwrap();
        std::os::unix::fs::symlink("../secret", root.join("link")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("absolute")).unwrap();
        std::os::unix::fs::symlink("a/b c.txt", root.join("within")).unwrap();

        let size = |path: &str| open(&root, path).map(|(_, size)| size);
        assert_eq!(
            [size("/a/b%20c.txt"), size("/within"), size("/"), size("")],
            [Some(3), Some(3), Some(5), Some(5)]
        );
        for path in [
            "/../secret",
            "/a/../../secret",
            "/%2e%2e/secret",
            "/a/%2e%2e%2f..%2fsecret",
            "/link",
            "/absolute",
            "//etc/passwd",
            "/a",
            "/a/b",
            "/none",
            "/a%00b",
            "/%ff",
            "/%4",
            "/%zz",
            "/a/b c.txt/",
            "/..",
        ] {
            assert_eq!(size(path), None, "{path}");
        }
    }
}
