#!/usr/bin/env bash
# The tests of what testdata is made of, without any tracer. All folders at the same time: they wait more than they compute.
set -uo pipefail
cd "$(dirname "$0")/../testdata"

folders=(workloads notebooks gpu gpu/replay)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

running=()
for i in "${!folders[@]}"; do
    (cd "${folders[i]}" && exec /usr/bin/python3 -m unittest) >"$work/$i" 2>&1 &
    running+=($!)
done
failed=0
for i in "${!folders[@]}"; do
    wait "${running[i]}" || failed=1
    echo "testdata/${folders[i]}:"
    cat "$work/$i"
done
exit "$failed"
