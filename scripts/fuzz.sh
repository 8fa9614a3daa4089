#!/usr/bin/env bash
# Runs every fuzz target for $FUZZTIME (60s, or a count such as 20000x), one after the other; stops at the first finding.
set -euo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Whether the log says no more than that the time was up. Go's coordinator now and then reports the end of
# -fuzztime as a failure (golang/go#75804: its own deadline races with that of its workers). A finding always
# names its input, or shows a panic or the test's own words.
only_the_deadline() {
    grep -q '^    context deadline exceeded$' "$log" &&
        ! grep -vqE '^(fuzz: elapsed|--- FAIL: Fuzz|    context deadline exceeded$|FAIL|exit status 1$|$)' "$log"
}

go list -f '{{.Dir}} {{.ImportPath}}' ./... | while read -r dir package; do
    { grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go 2>/dev/null || true; } | sed 's/^func //' | while read -r target; do
        echo "fuzz $package $target"
        status=0
        go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-60s}" -fuzzminimizetime 5x "$package" </dev/null >"$log" 2>&1 || status=$?
        { grep -vE '^fuzz: (elapsed|minimizing)' "$log" || true; } | tail -n 30
        if [ "$status" != 0 ]; then
            only_the_deadline || exit "$status"
            echo "no finding: the time was up"
        fi
    done
done
