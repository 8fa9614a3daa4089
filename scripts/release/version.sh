#!/usr/bin/env bash
# Prints the version of a release: the one in the file VERSION, if HEAD has its tag; else with the commit behind
# it, which every package manager takes for a newer one.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$(cat VERSION)
if [ "$(git rev-parse -q --verify "v$version^{commit}" || true)" = "$(git rev-parse HEAD)" ]; then
    echo "$version"
else
    echo "$version+g$(git rev-parse --short=10 HEAD)"
fi
