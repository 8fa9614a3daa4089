#!/usr/bin/env bash
# Fetches the files of Debian's arm64 packages in which probes are placed: Pythons, NumPy, C libraries, allocators,
# PyTorch, Arrow. Nothing of them is run. Tests of pinned places read them on any machine
# (internal/code/elffile/elftest). Each suite becomes a tree in $PYTHONS_DIR/arm64; one that is there already is
# left alone.
#
#   scripts/arm64-files.sh [SUITE ...]      default: bookworm trixie sid. Needs curl, xz, dpkg-deb.
set -euo pipefail
dir=${PYTHONS_DIR:-/var/tmp/ipytracer-pythons}/arm64
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
[ $# -gt 0 ] || set -- bookworm trixie sid
common=(libc6 libstdc++6 musl libjemalloc2 python3-numpy)

packages() {
    case $1 in
    bookworm) echo python3.11-minimal libpython3.11 libmimalloc2.0 libtcmalloc-minimal4 libtorch1.13 ;;
    trixie) echo python3.13-minimal libpython3.13 libmimalloc3 libtcmalloc-minimal4t64 libtorch2.6 ;;
    sid) echo python3.14-minimal libpython3.14 python3.15-minimal libpython3.15 libtcmalloc-minimal4t64 libarrow2500 ;;
    esac
}

# The files that are kept of a package, and links to them.
kept=('*/bin/python3.*' '*/libpython3.*.so.*' '*/_multiarray_umath.*.so' '*/libc.so.6' '*/ld-linux-*.so.*'
    '*/musl/*' '*-musl/libc.so' '*/libstdc++.so.*' '*/libjemalloc.so.*' '*/libmimalloc.so.*' '*/libtcmalloc*.so.*'
    '*/libc10.so*' '*/libarrow.so.*')

fetch() {
    local root=$dir/$1 index=$2 deb=$2.deb file name
    rm -rf "${root:?}"
    mkdir -p "$root/usr/lib" "$root/var/lib/dpkg/info"
    curl -sSf "$mirror/dists/$1/main/binary-arm64/Packages.xz" | xz -dc >"$index"
    # shellcheck disable=SC2046 # words
    for name in "${common[@]}" $(packages "$1"); do
        file=$(awk -v p="$name" '$1 == "Package:" { of = $2 == p } of && $1 == "Filename:" { print $2; exit }' "$index")
        [ -n "$file" ] || { echo "arm64-files.sh: $1 has no $name" >&2; continue; }
        curl -sSf -o "$deb" "$mirror/$file"
        # some of these match none
        dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" --wildcards "${kept[@]}" 2>/dev/null || true
        # The tests name builds by package and version, which they read here.
        dpkg-deb -f "$deb" Package Version Architecture >>"$root/var/lib/dpkg/status"
        echo >>"$root/var/lib/dpkg/status"
        dpkg-deb --fsys-tarfile "$deb" | tar -t | sed 's/^\.//' >"$root/var/lib/dpkg/info/$name:arm64.list"
    done
    if [ -d "$root/lib" ]; then # before /lib was a link
        cp -a "$root/lib/." "$root/usr/lib/"
        rm -r "$root/lib"
    fi
    ln -s usr/lib "$root/lib"
    touch "$root/.complete"
}

mkdir -p "$dir"
for suite in "$@"; do
    [ -e "$dir/$suite/.complete" ] && continue
    work=$(mktemp)
    fetch "$suite" "$work"
    rm -f "$work" "$work.deb"
done
