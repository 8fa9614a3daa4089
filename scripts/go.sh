#!/usr/bin/env bash
# Finds a Go that builds this, also one that sudo has hidden, or gets one.
#
#   scripts/go.sh             prints the folder to put in front of PATH, or nothing where PATH has a Go that serves.
#                             Fails where there is no Go
#   scripts/go.sh run CMD ... runs a command with that folder in front of PATH, and gets a Go where there is none
#   scripts/go.sh env         prints the caller's file of `go env -w`, where root has none: it says where modules come
#                             from
#   scripts/go.sh install     gets a Go into $GO_DIR (/var/cache/ipytracer-go) where there is none, on Debian. It
#                             unpacks the newest compiler that any suite of Debian has. That one fetches the Go that
#                             go.mod asks for from the module proxy, and is removed. Nothing is installed, and apt's
#                             sources stay as they are. Needs root
#
# Under sudo the caller's PATH is gone. A shell of the caller's is asked for Go, and the usual places of the caller's
# home are searched. A Go that is found there runs as root then, as this file does, which is the caller's as well. It
# must be root's or the caller's: no other user may have written it, and no group but root's and the caller's own.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=${GO_DIR:-/var/cache/ipytracer-go}
wanted=$(sed -n 's/^go //p' go.mod)
user=${SUDO_USER:-${DOAS_USER:-}}
[ "$(id -u)" = 0 ] || user=
[ "$user" != root ] || user=
home=
[ -z "$user" ] || home=$(getent passwd "$user" | cut -d: -f6)
settings=
if [ -z "${GOENV:-}" ] && [ -n "$home" ] && [ -f "$home/.config/go/env" ] &&
    [ ! -e "${HOME:-/root}/.config/go/env" ]; then
    settings=$home/.config/go/env
    export GOENV=$settings
fi

# version GO: prints its own version, such as 1.26.1; nothing for another program.
version() {
    (cd / && GOTOOLCHAIN=local GOENV=off timeout 20 "$1" version 2>/dev/null) |
        sed -n 's/^go version go\([0-9.]*\).*/\1/p'
}

# newer A B: reports whether A is at least B.
newer() { [ -n "$1" ] && [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# serves GO: reports whether it is new enough, or fetches one that is.
serves() {
    local is
    is=$(version "$1")
    newer "$is" "$wanted" || { newer "$is" 1.21 && [ "$(cd / && "$1" env GOTOOLCHAIN)" != local ]; }
}

# private GID: reports whether a group is the caller's own. useradd makes one for each user: it has the user's name and
# no other member.
private() {
    local caller=${user:-$(id -un)}
    [ "$1" = "$(id -g "$caller")" ] || return 1
    getent group "$1" |
        awk -F: -v caller="$caller" '$1 == caller && ($4 == "" || $4 == caller) { own = 1 } END { exit !own }' ||
        return 1
    getent passwd | awk -F: -v caller="$caller" -v gid="$1" '$4 == gid && $1 != caller { more = 1 } END { exit more }'
}

# ours FILE: reports whether only root and the caller can have written it, or may move it.
ours() {
    local at uid gid mode
    at=$(readlink -e "$1") || return 1
    while :; do
        read -r uid gid mode < <(stat -c '%u %g %a' "$at")
        [ "$uid" = 0 ] || [ "$uid" = "$(id -u ${user:+"$user"})" ] || return 1
        if [ ! -d "$at" ] || [ $((8#$mode & 8#1000)) = 0 ]; then # /tmp is allowed: there each user moves only own files
            [ $((8#$mode & 8#2)) = 0 ] || return 1
            [ $((8#$mode & 8#20)) = 0 ] || [ "$gid" = 0 ] || private "$gid" || return 1
        fi
        [ "$at" != / ] || return 0
        at=$(dirname "$at")
    done
}

# of_user: prints where a shell of the caller's has Go. It runs as the caller, without the terminal. A program that the
# shell starts may keep its output open for ever, so this reads up to a line of its own, for 20 seconds at most. A shell
# that takes longer is killed: an interactive one ignores SIGTERM.
of_user() {
    local shell line found='' end=go.sh-end until=$((SECONDS + 20))
    shell=$(getent passwd "$user" | cut -d: -f7)
    while [ "$SECONDS" -lt "$until" ] && IFS= read -r -n 4096 -t $((until - SECONDS)) line && [ "$line" != "$end" ]; do
        [[ $line != /* ]] || found=$line
    done < <(exec 2>/dev/null && exec timeout -s KILL 20 setsid -w runuser -u "$user" -- \
        env -i HOME="$home" USER="$user" LOGNAME="$user" PATH=/usr/local/bin:/usr/bin:/bin TERM=dumb \
        "$shell" -lic "command -v go; echo $end" </dev/null)
    [ -z "$found" ] || printf '%s\n' "$found"
}

# places: prints where Go may be beside PATH, one to a line.
places() {
    echo "$dir/bin/go"
    if [ -n "$home" ]; then
        of_user
        printf '%s\n' "$home"/go/bin/go "$home"/.local/go/bin/go "$home"/.go/bin/go "$home"/sdk/go*/bin/go \
            "$home"/go/pkg/mod/golang.org/toolchain@*/bin/go
    fi
    [ -z "${HOME:-}" ] || printf '%s\n' "$HOME"/go/bin/go "$HOME"/.local/go/bin/go "$HOME"/sdk/go*/bin/go
    printf '%s\n' /usr/local/go/bin/go /usr/lib/go-*/bin/go /usr/lib/golang/bin/go /snap/bin/go
}

find_go() {
    local go
    ! serves "$(command -v go || echo /none)" || return 0
    while read -r go; do
        if [ -x "$go" ] && ours "$go" && serves "$go"; then
            dirname "$go"
            return
        fi
    done < <(places)
    return 1
}

# compiler FOLDER SOURCES: unpacks Debian's newest Go from these lines of sources.list, or from the machine's own
# sources if there are none. Prints its folder.
compiler() {
    local package apt=(-o Dir::State::Lists="$1/lists" -o Dir::Cache="$1/cache" -o APT::Sandbox::User=root
        -o Acquire::Languages=none)
    mkdir -p "$1/lists/partial" "$1/cache/archives/partial" "$1/root"
    if [ -n "$2" ]; then
        printf '%s\n' "$2" >"$1/sources.list"
        apt+=(-o Dir::Etc::SourceList="$1/sources.list" -o Dir::Etc::SourceParts=/dev/null)
    fi
    apt-get "${apt[@]}" -q update >&2
    package=$(apt-cache "${apt[@]}" --names-only search '^golang-1\.[0-9]+-go$' | cut -d' ' -f1 | sort -V | tail -n 1)
    newer "$(echo "$package" | cut -d- -f2)" 1.21 || return 1
    # Its settings are in the package of its source.
    (cd "$1/root" && apt-get "${apt[@]}" -q download "$package" "${package%-go}-src" >&2 &&
        for deb in *.deb; do dpkg-deb -x "$deb" .; done)
    printf '%s\n' "$1"/root/usr/lib/go-*
}

# mirrors SUITE: lines of sources.list for it, on the servers that the machine has Debian from.
mirrors() {
    local keys=/usr/share/keyrings/debian-archive-keyring.gpg
    [ -e "$keys" ] && keys="[signed-by=$keys] " || keys=
    apt-get indextargets --format '$(REPO_URI)|$(ORIGIN)|$(LABEL)' 'Created-By: Packages' | sort -u |
        sed -n "s#^\(.*\)|Debian|Debian\$#deb $keys\1 $1 main#p"
}

get() {
    local root
    if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
        echo "go.sh: Go $wanted or newer is needed: https://go.dev/dl/" >&2
        return 3
    elif [ "$(id -u)" != 0 ]; then
        echo "go.sh: Go $wanted or newer is needed: https://go.dev/dl/ has it, and with sudo this gets one" >&2
        return 3
    fi
    echo "getting Go $wanted into $dir …" >&2
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT # of the shell
    {
        apt-get -q update >&2 || true
        root=$(compiler "$work/own" "") || root=$(compiler "$work/stable" "$(mirrors stable)") ||
            root=$(compiler "$work/sid" "$(mirrors sid)")
    } 2>"$work/log" || {
        tail -n 20 "$work/log" >&2
        echo "go.sh: Debian's Go could not be fetched; https://go.dev/dl/ has one" >&2
        return 1
    }
    # It fetches the one that go.mod requires, and checks it against Go's checksum database.
    GOROOT=$root GOPATH=$work/path GOTOOLCHAIN="go$wanted" GOFLAGS=-modcacherw \
        "$root/bin/go" version >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        echo "go.sh: Go $wanted could not be fetched from the module proxy (go env GOPROXY)" >&2
        return 1
    }
    mkdir -p "$(dirname "$dir")"
    rm -rf "$dir"
    mv "$work"/path/pkg/mod/golang.org/toolchain@* "$dir"
    chmod -R go+rX "$dir"
}

case ${1:-} in
'') find_go ;;
env) echo "$settings" ;;
install) find_go >/dev/null || get ;;
run)
    shift
    folder=$(find_go) || { (get) && folder=$(find_go); } || exit
    PATH=${folder:+$folder:}$PATH exec "$@"
    ;;
*)
    echo "usage: scripts/go.sh [run CMD ... | env | install]" >&2
    exit 2
    ;;
esac
