#!/usr/bin/env bash
# page-shots.sh TRACER [FOLDER]: takes the pictures of the page into a folder. Without a folder, it checks whether the
# page still has the texts of the pictures in docs/pictures. It compares texts, because pixels depend on the machine's
# fonts.
set -euo pipefail
cd "$(dirname "$0")/.."
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for of in notebook advice; do
    gunzip -c "docs/pictures/$of.arrows.gz" >"$work/$of.arrows"
    "$1" report "$work/$of.arrows" -q -o "$work/$of.html"
done
folder=${2:-$work}
node internal/report/html/page/shots.mjs "$work" "$folder"
[ -z "${2:-}" ] || exit 0
stale=0
for text in "$work"/*.txt; do
    diff -u "docs/pictures/${text##*/}" "$text" >&2 || stale=1
done
[ "$stale" = 0 ] || {
    echo "page-shots: pictures are stale: run make page-shots, look at them and commit them" >&2
    exit 1
}
