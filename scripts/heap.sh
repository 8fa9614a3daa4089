#!/usr/bin/env bash
# Builds the library that counts malloc's blocks in a command (internal/heapcounts/library), with any glibc: see
# library.sh. The tracer carries it from the sources' own folder. The file has Go's name of the machine.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/library.sh
case $machine in
x86_64) arch=amd64 ;;
aarch64) arch=arm64 ;;
*) echo "heap.sh: $cc compiles for $machine: must be x86-64 or arm64" >&2; exit 1 ;;
esac
from=internal/heapcounts/library
# -Bsymbolic: one of its functions that calls another reaches this library's.
build_library "$from/libipytracer_heap-$arch.so" libipytracer_heap.so -Wl,-Bsymbolic $from/{heap,sizes,next,begin}.c
