#!/usr/bin/env bash
# Builds the companion's counting library (python/src/ipytracer/counts), with glibc or musl: see library.sh.
#
#   scripts/counts.sh [FOLDER]    into the sources' own folder, if none is named
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/library.sh
from=python/src/ipytracer/counts
build_library "${1:-$from}/libipytracer_counts-$machine.so" libipytracer_counts.so \
    $from/{counts,table,records,samples,numpy,tensors,slots}.c
