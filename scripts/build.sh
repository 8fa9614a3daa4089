#!/usr/bin/env bash
# Builds the tracer: with NVML where a C compiler works, without it elsewhere.
#
#   scripts/build.sh OUT
#
# LDFLAGS are more flags of the Go linker.
# CGO_ENABLED=0 asks for the build without: one static file that runs on any Linux, whatever its C library.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1

# A compiler without the C library's headers is none.
works() { printf '#include <stdlib.h>\nint main(void) { return 0; }\n' | ${CC:-gcc} -x c -o /dev/null - 2>/dev/null; }

# osusergo: users are looked up without the C library, so that both builds do the same.
build() { # CGO_ENABLED LINKER-FLAGS
    CGO_ENABLED=$1 "${GO:-go}" build -trimpath -tags osusergo,netgo -ldflags "-X main.version=${VERSION:-0.1.0-dev} ${LDFLAGS:-} $2" \
        -o "$out" ./cmd/tracer
}

missing=
if [ "${CGO_ENABLED:-1}" = 0 ]; then
    build 0 ""
    exit
elif ! works; then
    missing="no C compiler works"
else
    build 1 -extldflags=-Wl,-z,lazy
    # NVML's functions are looked up when they are called. Some compilers (-z now) and C libraries (musl) have all
    # functions looked up when the program starts, and then it does not.
    "$(realpath "$out")" version >/dev/null 2>&1 || missing="a program with NVML does not start here"
fi
if [ -n "$missing" ]; then
    echo "build: $missing, so 'tracer gpu' is left out" >&2
    build 0 ""
fi
