#!/usr/bin/env bash
# Runs every test: those of Go, and beside them those of Python (scripts/unittests.sh), whose output follows.
#
#   scripts/test.sh ARGUMENTS OF go test ...
set -uo pipefail
cd "$(dirname "$0")/.."
said=$(mktemp)
set -m # a process group of its own, which an interrupt of this script ends as well
scripts/unittests.sh >"$said" 2>&1 </dev/null &
unittests=$!
set +m
trap 'kill -- "-$unittests" 2>/dev/null || true; rm -f "$said"' EXIT
status=0
/usr/bin/python3 scripts/gotest.py "$@" || status=$?
wait "$unittests" || status=1
echo scripts/unittests.sh
cat "$said"
exit "$status"
