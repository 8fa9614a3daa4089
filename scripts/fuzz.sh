#!/usr/bin/env bash
# Runs every fuzz target for $FUZZTIME (60s, or a count such as 20000x), one after the other; stops at the first
# finding.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log
corpus=$(go env GOCACHE)/fuzz # where go test keeps it

# Reports whether the log says only that the time was up. Go's coordinator now and then reports the end of -fuzztime as
# a failure (golang/go#75804: its own deadline races with that of its workers). A finding always names its input, or
# shows a panic or the test's own words.
only_the_deadline() {
    grep -q '^    context deadline exceeded$' "$log" &&
        ! grep -vqE '^(fuzz: elapsed|--- FAIL: Fuzz|    context deadline exceeded$|FAIL|exit status 1$|$)' "$log"
}

# fuzz DIR PACKAGE PROGRAM TARGET
fuzz() {
    echo "fuzz $2 $4"
    local status=0
    (cd "$1" && "$3" -test.run '^$' -test.fuzz "^$4\$" -test.fuzztime "${FUZZTIME:-60s}" -test.fuzzminimizetime 5x \
        -test.fuzzcachedir "$corpus/$2") </dev/null >"$log" 2>&1 || status=$?
    { grep -vE '^fuzz: (elapsed|minimizing)' "$log" || true; } | tail -n 30
    if grep -q 'not built with coverage instrumentation' "$log"; then
        exit 1 # it would fuzz without coverage
    fi
    if [ "$status" != 0 ]; then
        only_the_deadline || exit "$status"
        echo "no finding: the time was up"
    fi
}

go list -f '{{.Dir}} {{.ImportPath}}' ./... | while read -r dir package; do
    targets=$({ grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go 2>/dev/null || true; } | sed 's/^func //')
    [ -n "$targets" ] || continue
    # One program for all targets of a package: go test would link it for each.
    go test -c -fuzz . -o "$work/program" "$package" </dev/null
    for target in $targets; do
        fuzz "$dir" "$package" "$work/program" "$target"
    done
done
