#!/bin/sh
# Installs, uses and purges a Debian package in a throwaway overlay of this machine's root. Needs root.
#
#   sh scripts/deb-check.sh target/debian/tandem_0.1.0-1_amd64.deb
#
# All changes go to memory, in a mount namespace of its own, and end with it. Fails if a step fails, or
# if the purge leaves a file, a directory or a changed file.
set -eu

if [ -z "${TANDEM_OVERLAY:-}" ]; then
    TANDEM_OVERLAY=$(mktemp -d)
    export TANDEM_OVERLAY
    trap 'rmdir "$TANDEM_OVERLAY"' EXIT
    unshare --mount --propagation private sh "$0" "$@"
    exit
fi

step() { echo "== $1"; }

mount -t tmpfs tmpfs "$TANDEM_OVERLAY"
upper=$TANDEM_OVERLAY/upper root=$TANDEM_OVERLAY/root
mkdir "$upper" "$TANDEM_OVERLAY/work" "$root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$upper,workdir=$TANDEM_OVERLAY/work" "$root"
for folder in proc dev sys; do mount --rbind "/$folder" "$root/$folder"; done
# An empty /run keeps systemctl away from the service manager of this machine.
for folder in run tmp; do mount -t tmpfs tmpfs "$root/$folder"; done
cp "$1" "$root/tmp/tandem.deb"

inside() { chroot "$root" env -i HOME=/tmp PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"; }

step "control file"
# The changelog ends with the same maintainer, at a domain that no mail reaches (RFC 2606).
maintainer=$(dpkg-deb --field "$1" Maintainer)
[ "${maintainer##*.}" = "invalid>" ] || { echo "maintainer with an address: $maintainer" >&2; exit 1; }

step "install"
inside dpkg --install /tmp/tandem.deb
inside getent group tandem
inside tandem --version

step "units"
for unit in agent gateway proxy serve; do
    inside systemd-analyze verify "/usr/lib/systemd/system/tandem-$unit.service" >"$root/tmp/verify" 2>&1 ||
        { cat "$root/tmp/verify"; exit 1; }
    # Other units of the machine may have warnings.
    if grep tandem "$root/tmp/verify"; then exit 1; fi
    if inside systemctl --quiet is-enabled "tandem-$unit"; then
        echo "tandem-$unit is enabled by the installation" >&2
        exit 1
    fi
done

step "configurations"
for daemon in agent proxy; do inside tandem check "/etc/tandem/$daemon.toml"; done
# Without the address of its upstream a gateway does not start, and systemd does not try again.
code=0
inside tandem gateway up 2>"$root/tmp/gateway" || code=$?
if [ "$code" != 2 ] || ! grep -q -e --upstream "$root/tmp/gateway"; then cat "$root/tmp/gateway" >&2; exit 1; fi

step "manual pages"
for page in "$root"/usr/share/man/man[15]/tandem*.gz; do
    inside env MANWIDTH=80 man --warnings --local-file "${page#"$root"}" >"$root/tmp/page" 2>"$root/tmp/warnings"
    [ -s "$root/tmp/page" ] || { echo "empty: $page" >&2; exit 1; }
    if [ -s "$root/tmp/warnings" ]; then cat "$root/tmp/warnings" >&2; exit 1; fi
done
inside man --where 1 tandem-agent-status
inside man --where 5 tandem-agent.toml

step "a shipped example"
inside tandem run /usr/share/doc/tandem/examples/scenarios/wifi-weakens.toml --duration 5s --out /tmp/results >/dev/null
[ -s "$root/tmp/results/report.html" ]

step "licences of linked crates"
gzip -dc "$root/usr/share/doc/tandem/licences.gz" >"$root/tmp/licences"
grep -q '^clap [0-9.]*: MIT OR Apache-2.0$' "$root/tmp/licences"
grep -q 'MIT License' "$root/tmp/licences"
gzip -dc "$root/usr/share/doc/tandem/changelog.Debian.gz" | grep -qF -e "-- $maintainer"

step "completions"
inside bash -c '. /usr/share/bash-completion/completions/tandem && complete -p tandem'

step "purge"
# As the services leave it that a user has started.
inside systemctl --quiet enable tandem-agent
for folder in lib/tandem lib/tandem-serve log/tandem-proxy; do
    private=${folder%%/*}/private
    mkdir -p "$root/var/$private/${folder#*/}"
    ln -s "private/${folder#*/}" "$root/var/$folder"
    touch "$root/var/$folder/state"
done
inside dpkg --purge tandem

step "leftovers"
# Records of dpkg, caches of man-db, and backups of the account files remember what has been.
expected='^/(var/lib/dpkg/|var/log/(dpkg|alternatives)\.log|var/cache/man|etc/(group|gshadow|passwd|shadow)-$|etc/\.pwd\.lock|var/(lib|log)/private$)'
find "$upper" -mindepth 1 | sort | while read -r path; do
    name=${path#"$upper"}
    if [ -d "$path" ] && [ -d "$name" ]; then continue; fi
    if [ -f "$path" ] && [ ! -L "$path" ] && cmp -s "$path" "$name"; then continue; fi
    echo "$name"
done | grep -Ev "$expected" >"$TANDEM_OVERLAY/left" || true
find "$upper" -path "*/dpkg/info/tandem.*" >>"$TANDEM_OVERLAY/left"
if [ -s "$TANDEM_OVERLAY/left" ]; then
    echo "the purge leaves:" >&2
    cat "$TANDEM_OVERLAY/left" >&2
    exit 1
fi
echo "nothing is left"
