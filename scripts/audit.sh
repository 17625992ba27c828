#!/bin/sh
# Known weaknesses of dependencies: RustSec's for Rust, npm's for the player's page.
#
# Fails if one is known. A database that cannot be reached, or a missing program, is told and passes:
# a build without a network must work.
set -eu
cd "$(dirname "$0")/.."
failed=

rust() {
    command -v cargo-deny >/dev/null 2>&1 ||
        { echo "not run: RustSec's advisories need cargo-deny (cargo install cargo-deny --locked)"; return 0; }
    timeout 120 cargo deny --all-features fetch db >/dev/null 2>&1 ||
        { echo "not run: RustSec's advisory database cannot be reached"; return 0; }
    cargo deny --all-features check --disable-fetch advisories
}

page() {
    command -v npm >/dev/null 2>&1 || { echo "not run: npm audit, because npm is missing"; return 0; }
    report=$(cd web && timeout 120 npm audit --json 2>/dev/null) || true
    # Without an answer of the registry the report has no counts.
    printf '%s' "$report" | node -e '
        let counts;
        try {
            counts = JSON.parse(require("fs").readFileSync(0, "utf8")).metadata.vulnerabilities;
        } catch {
            console.log("not run: the advisories of npm cannot be reached");
            process.exit(0);
        }
        const { moderate, high, critical } = counts;
        console.log(`npm audit: ${critical} critical, ${high} high, ${moderate} moderate`);
        process.exit(moderate + high + critical > 0 ? 1 : 0);'
}

rust || failed="$failed rust"
page || failed="$failed page"
[ -z "$failed" ] || { echo "known weaknesses of dependencies:$failed" >&2; exit 1; }
