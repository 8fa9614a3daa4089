#!/usr/bin/env bash
# Runs the fuzz targets of packages (all of them), each for $FUZZTIME (60s, or a count such as 20000x), one after the
# other; stops at the first finding. Prints what the costliest input of each target took.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log
export TRACER_FUZZ_COSTS=$work/costs # internal/hostile
corpus=$(go env GOCACHE)/fuzz        # where go test keeps it

# Reports whether the log says only that the time was up. Go's coordinator now and then reports the end of -fuzztime as
# a failure (golang/go#75804: its own deadline races with that of its workers). A finding always names its input, or
# shows a panic or the test's own words.
only_the_deadline() {
    grep -q '^    context deadline exceeded$' "$log" &&
        ! grep -vqE '^(fuzz: elapsed|--- FAIL: Fuzz|    context deadline exceeded$|FAIL|exit status 1$|$)' "$log"
}

# limited COMMAND… runs it, and what it starts, with an end to the memory of each process. Package hostile bounds what
# an input may take.
limited() {
    ulimit -v $((4 << 20)) # KiB
    GOMEMLIMIT=1GiB "$@"
}

# fuzz DIR PACKAGE PROGRAM TARGET
fuzz() {
    local status=0
    rm -rf "$TRACER_FUZZ_COSTS" && mkdir "$TRACER_FUZZ_COSTS"
    (cd "$1" && limited "$3" -test.run '^$' -test.fuzz "^$4\$" -test.fuzztime "${FUZZTIME:-60s}" \
        -test.fuzzminimizetime 5x -test.fuzzcachedir "$corpus/$2") </dev/null >"$log" 2>&1 || status=$?
    awk -v target="$2 $4" '$1 > bytes { bytes = $1 } $2 > us { us = $2 }
        END { printf "fuzz %s: at most %.1f MiB, %.3f s\n", target, bytes / 1048576, us / 1e6 }' "$TRACER_FUZZ_COSTS"/*
    { grep -vE '^(fuzz: (elapsed|minimizing)|PASS$)' "$log" || true; } | tail -n 30
    if grep -q 'not built with coverage instrumentation' "$log"; then
        exit 1 # it would fuzz without coverage
    fi
    if [ "$status" != 0 ]; then
        only_the_deadline || exit "$status"
        echo "no finding: the time was up"
    fi
}

go list -f '{{.Dir}} {{.ImportPath}}' "${@:-./...}" | while read -r dir package; do
    targets=$({ grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go 2>/dev/null || true; } | sed 's/^func //')
    [ -n "$targets" ] || continue
    # One program for all targets of a package: go test would link it for each.
    # Coverage is that of our code: with -fuzz, Go would compile all that it imports once more, and count there, too.
    go test -c -gcflags=ipytracer/...=-d=libfuzzer -o "$work/program" "$package" </dev/null
    for target in $targets; do
        fuzz "$dir" "$package" "$work/program" "$target"
    done
done
