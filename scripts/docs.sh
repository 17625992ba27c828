#!/bin/sh
# Builds the site of the documentation from docs/, and checks its links.
#
#   scripts/docs.sh [DIR]     the site goes to DIR, by default target/site
#
# The site has the layout of the repository, so that a link is the same in a page on a code host and
# in the site. Files that pages link, such as sources and scenarios, are copied into it.
set -eu
cd "$(dirname "$0")/.."

if ! command -v mdbook >/dev/null 2>&1; then
    echo "missing: mdBook, which builds the site" >&2
    echo "  hint: cargo install mdbook --locked" >&2
    exit 4
fi

site=$(realpath -m "${1:-target/site}")
book=target/book
rm -rf "$book" "$site"
mkdir -p "$book/src"
git ls-files --cached --others --exclude-standard -- \
    '*.md' 'LICENSE-*' docs calibration crates examples scenarios traces web/src ':(exclude)*.html' |
    tar --create --ignore-failed-read --files-from - | tar --extract --directory "$book/src"

# Contents and settings are those of docs/, seen from the root of the repository.
sed 's|](|](docs/|; s|](docs/\.\./|](|' docs/SUMMARY.md >"$book/src/SUMMARY.md"
cp -r docs/book.toml docs/theme "$book"
mdbook build "$book" --dest-dir "$site"
# mdBook writes README.md as index.html and leaves the links to it.
find "$site" -name '*.html' -exec sed -i 's|\(["/]\)README\.html|\1index.html|g' {} +

# A server of static files shows no folder: each gets a list of its entries.
find "$site" -type d | while read -r folder; do
    [ -e "$folder/index.html" ] && continue
    {
        echo "<!doctype html><meta charset=utf-8><title>${folder#"$site/"}</title><h1>${folder#"$site/"}</h1><ul>"
        for entry in "$folder"/*; do
            name=$(basename "$entry")
            [ -d "$entry" ] && name="$name/index.html"
            echo "<li><a href=\"$name\">${name%/index.html}</a>"
        done
    } >"$folder/index.html"
done

TANDEM_SITE="$site" cargo test --quiet ${CI:+--locked} --workspace --test cli built_site -- --ignored
echo "the site: $site/index.html"
