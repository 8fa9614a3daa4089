#!/usr/bin/env bash
# Prints the version of a release: the one of python/pyproject.toml, if HEAD has its tag; else with the commit behind
# it, which every package manager takes for a newer one.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' python/pyproject.toml)
[ -n "$version" ] || { echo "version.sh: python/pyproject.toml has no version" >&2; exit 1; }
if [ "$(git rev-parse -q --verify "v$version^{commit}" || true)" = "$(git rev-parse HEAD)" ]; then
    echo "$version"
else
    echo "$version+g$(git rev-parse --short=10 HEAD)"
fi
