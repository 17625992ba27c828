#!/bin/sh
# Adds a scheduler, a congestion control, a policy, a loss model and a trace format in a scratch
# clone. Each must take two files: its own and the one with its registry. Then runs a scenario that
# uses all five, and the tests that run every policy.
set -eu
cd "$(dirname "$0")/.."
repository=$(pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
git clone --quiet --shared . "$scratch/tandem"
cd "$scratch/tandem"
git config user.name check
git config user.email check@localhost

# Commits an addition and checks that it touches two files.
commit() {
    git add --all
    git commit --quiet -m "$1"
    files=$(git show --stat --format= | grep -c '|')
    git show --stat --format="%s:" | sed '/^$/d'
    [ "$files" = 2 ] || { echo "$1 takes $files files instead of two" >&2; exit 1; }
}

cd crates/mptcp/src/scheduler
sed 's/RoundRobin/Rotation/g' round_robin.rs >rotation.rs
sed -i 's/^mod round_robin;/&\nmod rotation;/' mod.rs
sed -i 's/^    RoundRobin => .*/&\n    Rotation => "rotation", rotation::Rotation, "a copy of `round-robin`";/' mod.rs
commit "a scheduler"

cd ../congestion
sed 's/Reno/Tahoe/g' reno.rs >tahoe.rs
sed -i 's/^mod reno;/&\nmod tahoe;/' mod.rs
sed -i 's/^    Reno => .*/&\n    Tahoe => "tahoe", |_| tahoe::Tahoe::default(), "a copy of `reno`";/' mod.rs
commit "a congestion control"

cd ../../../policy/src
sed 's/NoPolicy/Hands/g; s/"none"/"hands-off"/; s/^\( *\)pub /\1pub(crate) /' none.rs >hands.rs
sed -i 's/^mod none;/&\nmod hands;/; s/^    none::ENTRY,/&\n    hands::ENTRY,/' lib.rs
commit "a policy"

cd ../../link/src/loss
sed 's/"gilbert"/"elliott"/; s/GilbertElliott/Elliott/g; s/^pub struct/pub(super) struct/' gilbert_elliott.rs >elliott.rs
sed -i 's/^mod gilbert_elliott;/&\nmod elliott;/; s/gilbert_elliott::ENTRY/&, elliott::ENTRY/' mod.rs
commit "a loss model"

cd ../trace/format
sed '/^#\[cfg(test)\]/,$d; s/"mahimahi"/"seconds"/; s/accepts: .*/accepts: |_| false,/; /is_numeric/s/, is_numeric//' \
    mahimahi.rs | sed 's/{entries}/entries/' >seconds.rs
sed -i 's/^mod mahimahi;/&\nmod seconds;/; s/mahimahi::FORMAT/&, seconds::FORMAT/' mod.rs
commit "a trace format"

cd "$scratch/tandem"
printf '1\n2\n3\n' >trace
cat >all.toml <<'TOML'
duration = "2s"
[device]
policy = "hands-off"
[transport]
scheduler = "rotation"
congestion = "tahoe"
[[path]]
name = "wifi"
radio = "huang2012.wifi"
down = { trace = { file = "trace", format = "seconds" }, loss = { elliott = { p = 0.01, r = 0.3 } } }
up = { rate = "2Mbps" }
[[traffic]]
kind = "bulk"
TOML
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$repository/target}"
cargo run --quiet -p tandem-cli -- --quiet run all.toml
cargo test --quiet -p tandem-policy --lib
echo "Each addition takes two files."
