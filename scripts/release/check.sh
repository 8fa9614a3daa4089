#!/usr/bin/env bash
# Checks that a release has the same bytes on every machine: it is built here, and once more from a clone in another
# folder, with nothing in Go's cache, another time zone and another umask. COMPILED=1: Go's cache has what the first
# build compiled, so the second links and packs alone.
#
#   [COMPILED=1] scripts/release/check.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
scripts/release/build.sh "$work/first" >/dev/null
git clone --quiet --no-local . "$work/somewhere/else"
git -C "$work/somewhere/else" checkout --quiet --detach "$(git rev-parse HEAD)"
(
    umask 027
    export TMPDIR=$work TZ=Pacific/Auckland
    [ -n "${COMPILED:-}" ] || export GOCACHE=$work/cache
    "$work/somewhere/else/scripts/release/build.sh" "$work/second" >/dev/null
)
diff -r "$work/first" "$work/second" || { echo "check-release: two builds of one commit differ" >&2; exit 1; }
modes() { (cd "$1" && stat -c '%a %n' -- *); }
[ "$(modes "$work/first")" = "$(modes "$work/second")" ] ||
    { echo "check-release: two builds of one commit have other modes" >&2; exit 1; }
cat "$work/first/SHA256SUMS"
