#!/usr/bin/env bash
# Runs `go test` with the arguments given. With RERUN=N (CI) up to N tests that fail are run again, alone and twice, and what they said is printed
# again at the end: a test that then passes both times does not hold up what landed beside it, and is a bug to be found all the same. Whatever fails
# without the name of a test (a build, a panic, a time-out), fails.
set -uo pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT
"${GO:-go}" test "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
[ "$status" != 0 ] && [ "${RERUN:-0}" -gt 0 ] || exit "$status"

# PACKAGE TEST of every failure; "-" for a test where a package names none.
failures=$(awk '
    /^--- FAIL: /  { names[++n] = $3 }
    /^panic: /     { panicked = 1 }
    /^FAIL\t/      { if (!n || panicked) print $2, "-"; else for (i = 1; i <= n; i++) print $2, names[i]; n = 0; panicked = 0 }
    /^ok  \t/      { n = 0; panicked = 0 }' "$log")
if [ -z "$failures" ] || grep -q -- ' -$' <<<"$failures" || [ "$(wc -l <<<"$failures")" -gt "$RERUN" ]; then
    echo "test.sh: not run again: $(tr '\n' ',' <<<"$failures")"
    exit "$status"
fi
while read -r package test; do
    "${GO:-go}" test -count=2 -timeout 20m -run "^$test\$" "$package" || exit 1
done <<<"$failures"
echo "test.sh: FAILED ONCE, and passed twice alone. Each is a bug, of the product or of the test:"
echo "$failures"
grep -A 20 '^--- FAIL: ' "$log"
