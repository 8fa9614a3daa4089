#!/usr/bin/env bash
# The tests of the notebook companion, and of what testdata is made of, without any tracer. All folders at the same time: they wait more than
# they compute.
set -uo pipefail
cd "$(dirname "$0")/.."

folders=(python examples testdata/workloads testdata/notebooks testdata/gpu testdata/gpu/replay)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

running=()
for i in "${!folders[@]}"; do
    (cd "${folders[i]}" && exec env PYTHONPATH=src /usr/bin/python3 -m unittest) >"$work/$i" 2>&1 &
    running+=($!)
done
failed=0
for i in "${!folders[@]}"; do
    wait "${running[i]}" || failed=1
    echo "${folders[i]}:"
    cat "$work/$i"
done
exit "$failed"
