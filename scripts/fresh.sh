#!/usr/bin/env bash
# Types the README's first commands on machines without preparation: in a tree of each Debian with sudo, make, git and
# ca-certificates, a user who may use sudo clones HEAD and types `sudo make demo`. A second user does the same with a Go
# of his own, which sudo hides.
#
#   scripts/fresh.sh [SUITE ...]      bookworm and trixie, if none is named. FRESH_TEST=1 runs `sudo make test` as well,
#                                     which takes a quarter of an hour and 2 GB each
#
# Needs root, debootstrap and git; the trees are made anew below $FRESH_DIR (/var/tmp/ipytracer-fresh). They have the
# machine's kernel and network, its proxies for apt, its settings of Go (go env -w) and its certificates, and
# debootstrap's mirror or $DEBIAN_MIRROR. All mounts go with this script. FRESH_KEEP=1 reuses existing trees, for
# experiments: they still have earlier installations.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tree.sh

if [ -z "${FRESH_MOUNTS:-}" ]; then
    FRESH_MOUNTS=own exec unshare --mount --propagation private "$0" "$@"
fi
dir=${FRESH_DIR:-/var/tmp/ipytracer-fresh}
[ $# -gt 0 ] || set -- bookworm trixie
mkdir -p "$dir"

fails() {
    echo "fresh.sh: $*" >&2
    exit 1
}

# made SUITE: makes a tree with a user called ada, who may use sudo, and her clone.
made() {
    local suite=$1 root=$dir/$1
    if [ -z "${FRESH_KEEP:-}" ] || [ ! -e "$root/etc/sudoers.d/ada" ]; then
        rm -rf --one-file-system "$root"
        debootstrap --variant=minbase --include=sudo,make,git,ca-certificates "$suite" "$root" \
            ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$dir/$suite.log" 2>&1 || {
            tail -n 20 "$dir/$suite.log" >&2
            fails "$suite could not be made"
        }
        chroot "$root" useradd --create-home --shell /bin/bash ada
    fi
    connected "$root"
    rm -rf --one-file-system "$root"/var/cache/ipytracer{,-go} "$root"/home/ada/{ipytracer,her-go,.bashrc,.config}
    cp "$root/etc/skel/.bashrc" "$root/home/ada/"
    echo 'ada ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/ada"
    git clone --quiet --no-local . "$root/home/ada/ipytracer"
    git -C "$root/home/ada/ipytracer" checkout --quiet --detach "$(git rev-parse HEAD)"
    settings "$root/home/ada/.config/go"
    chroot "$root" chown -R ada:ada /home/ada
}

# settings FOLDER: the source of modules on this machine, as `go env -w` keeps it.
settings() {
    local name value
    mkdir -p "$1"
    for name in GOPROXY GONOPROXY GOSUMDB GONOSUMDB GOPRIVATE GOINSECURE; do
        value=$(go env "$name")
        [ -z "$value" ] || echo "$name=$value"
    done >"$1/env"
}

# types SUITE COMMAND: runs it as ada, freshly logged in.
types() {
    rooted "$dir/$1" env -i TERM=dumb su - ada -c "cd ipytracer && $2"
}

# demo SUITE WHOSE: runs the command of the README, which prints the session.
demo() {
    local log began=$SECONDS
    log=$dir/$1-$(tr ' ' - <<<"$2").log
    types "$1" "sudo make demo" >"$log" 2>&1 || {
        tail -n 40 "$log" >&2
        fails "$1, $2: sudo make demo failed"
    }
    for line in '^In\[1\] .* import numpy as np' '^In\[9\] ' '^highest .* resident .*in In\[' \
        '^made by ' '^how sure '; do
        grep -qE "$line" "$log" || { tail -n 60 "$log" >&2; fails "$1, $2: it prints no line like $line"; }
    done
    # The README's next commands.
    types "$1" "sudo make install && tracer version && sudo tracer kernels" >"$log.next" 2>&1 || {
        tail -n 40 "$log.next" >&2
        fails "$1, $2: sudo make install, or tracer after it, failed"
    }
    echo "fresh: $1, $2: $(grep -E '^how sure' "$log" | tr -s ' '): $((SECONDS - began)) s"
}

for suite; do
    made "$suite"
    demo "$suite" "without Go"
    cached=$dir/$suite/var/cache/ipytracer-go
    [ -x "$cached/bin/go" ] || fails "$suite: where is the Go that it got?"
    # A user who has unpacked Go at home, and names it in a file of the shell's.
    rm -rf "$dir/$suite/home/ada/ipytracer/bin"
    mv "$cached" "$dir/$suite/home/ada/her-go"
    chroot "$dir/$suite" chown -R ada:ada /home/ada/her-go
    echo 'PATH=$HOME/her-go/bin:$PATH' >>"$dir/$suite/home/ada/.bashrc"
    demo "$suite" "with Go at home"
    [ ! -e "$cached" ] || fails "$suite: it got another Go beside hers"
    if [ -n "${FRESH_TEST:-}" ]; then
        types "$suite" "sudo make test" >"$dir/$suite-test.log" 2>&1 || {
            tail -n 60 "$dir/$suite-test.log" >&2
            fails "$suite: sudo make test failed"
        }
        echo "fresh: $suite: $(grep -E '^[0-9]+ passed' "$dir/$suite-test.log")"
    fi
done
