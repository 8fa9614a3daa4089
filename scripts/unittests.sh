#!/usr/bin/env bash
# Runs the tests of the notebook companion, and of the programs of testdata and benchmarks, without any tracer. All
# folders run at the same time: they wait more than they compute. With RERUN=N (CI) a folder that fails runs once more,
# alone, and its first output stands above (see scripts/gotest.py).
set -uo pipefail
cd "$(dirname "$0")/.."

folders=(python docs/examples scripts bench testdata/workloads testdata/notebooks testdata/gpu testdata/gpu/replay)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

running=()
for i in "${!folders[@]}"; do
    (cd "${folders[i]}" && exec env PYTHONPATH=src /usr/bin/python3 -m unittest) >"$work/$i" 2>&1 &
    running+=($!)
done
failed=0
again=()
for i in "${!folders[@]}"; do
    wait "${running[i]}"
    status=$?
    echo "${folders[i]}:"
    cat "$work/$i"
    [ "$status" = 0 ] || again+=("${folders[i]}")
done
for folder in "${again[@]}"; do
    [ "${RERUN:-0}" -gt 0 ] || { failed=1; continue; }
    echo "unittests.sh: $folder FAILED ONCE, and runs again"
    [ -z "${AGAIN:-}" ] || echo "unittests of $folder failed once" >>"$AGAIN"
    (cd "$folder" && exec env PYTHONPATH=src /usr/bin/python3 -m unittest) || failed=1
done
exit "$failed"
