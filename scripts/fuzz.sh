#!/usr/bin/env bash
# Runs every fuzz target for $FUZZTIME (60s), one after the other; stops at the first finding.
set -euo pipefail
cd "$(dirname "$0")/.."

go list -f '{{.Dir}} {{.ImportPath}}' ./... | while read -r dir package; do
    { grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go 2>/dev/null || true; } | sed 's/^func //' | while read -r target; do
        echo "fuzz $package $target"
        go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-60s}" -fuzzminimizetime 5x "$package" </dev/null |
            grep -vE '^fuzz: (elapsed|minimizing)' | tail -n 30
        [ "${PIPESTATUS[0]}" = 0 ]
    done
done
