#!/bin/sh
# Makes the Debian package of target/release/tandem, which is built already, in target/debian.
# Options go to cargo-deb: `sh scripts/deb.sh --fast` compresses less.
set -eu
cd "$(dirname "$0")/.."

# cargo-deb reads target/release as this folder.
release="${CARGO_TARGET_DIR:-target}/release"
# The time of the last commit, so that the same sources give the same package.
SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}"
export SOURCE_DATE_EPOCH

rm -rf "$release/package"
"$release/tandem" package-files "$release/package" --date "$(date -u -d "@$SOURCE_DATE_EPOCH" +%F)" >/dev/null
gzip -9n "$release"/package/usr/share/man/man*/*
mkdir -p "$release/package/usr/share/doc/tandem"
python3 scripts/licences.py >"$release/package/usr/share/doc/tandem/licences"
gzip -9n "$release/package/usr/share/doc/tandem/licences"
cargo deb -p tandem-cli --no-build --strip --quiet "$@"
