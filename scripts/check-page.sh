#!/usr/bin/env bash
# Checks that the committed program of the page (internal/report/html/page/dist) is the output of its source, and that
# the source is sound.
set -euo pipefail
cd "$(dirname "$0")/../internal/report/html/page"
npm run --silent types
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
node build.mjs "$built"
if ! diff -rq dist "$built" >/dev/null; then
    diff -rq dist "$built" >&2 || true
    echo "check-page: internal/report/html/page/dist is not what its source gives: run make page and commit it" >&2
    exit 1
fi
