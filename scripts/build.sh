#!/usr/bin/env bash
# Builds the tracer: with NVML where a C compiler works, without it elsewhere. If AGENT is named, builds the program
# with the agent as well, which `tracer agent` executes where it is tracer-agent in the folder of OUT.
#
#   scripts/build.sh OUT [AGENT]
#
# LDFLAGS are more flags of the Go linker.
# CARRY_SITE=FOLDER puts the files in it, which cmd/site has written, into OUT, for `tracer view --site`.
# CGO_ENABLED=0 asks for the build without: one static file that runs on any Linux, with any C library.
# GOARCH=arm64 or amd64 builds for such a machine; NVML then takes CC, a C compiler for it.
# CARRY=1 asks for that static file with NVML inside: it carries the program that loads NVIDIA's libraries
# (internal/gpu/nvidia), which has cgo, and starts it from memory where such a library is. It needs a C compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1 agent=${2:-}
nvidia=internal/gpu/nvidia

# A compiler without the C library's headers does not count.
works() { printf '#include <stdlib.h>\nint main(void) { return 0; }\n' | ${CC:-gcc} -x c -o /dev/null - 2>/dev/null; }

# osusergo: users are looked up without the C library, so that both builds do the same.
# funcalign: a short loop that lies across two cache lines takes longer (an audit by a tenth). Without it that depends
# on what is linked before the loop.
# buildvcs: the version is in VERSION, a variable or else the file, and git refuses root, who runs the tests, a user's
# clone.
build() { # CGO_ENABLED LINKER-FLAGS [TAGS [OUT PACKAGE [FLAGS ...]]]
    CGO_ENABLED=$1 "${GO:-go}" build "${@:6}" -trimpath -buildvcs=false -tags "osusergo,netgo${3:+,$3}" \
        -ldflags "-X main.version=${VERSION:-$(cat VERSION)-dev} -funcalign=64 ${LDFLAGS:-} $2" \
        -o "${4:-$out}" "./${5:-cmd/tracer}"
}

# both CGO_ENABLED LINKER-FLAGS [TAGS]: builds what is asked for, with the files that replace others.
both() {
    local replacing=() tags=${3:-}
    [ ${#replaced[@]} = 0 ] || replacing=(-overlay "$work/overlay")
    [ -z "$agent" ] || build "$1" "$2" "agent${tags:+,$tags}" "$agent" cmd/tracer "${replacing[@]}"
    [ -z "${CARRY_SITE:-}" ] || tags=site${tags:+,$tags}
    build "$1" "$2" "$tags" "$out" cmd/tracer "${replacing[@]}"
}

# replace PATH FILE: the compiler finds the file at a path of this repository.
replaced=()
replace() {
    replaced+=("\"$1\": \"$2\"")
    (IFS=,; echo "{\"Replace\": {${replaced[*]}}}") >"$work/overlay"
}

# cross: the program is for another machine than this one.
cross() { [ "$("${GO:-go}" env GOARCH)" != "$("${GO:-go}" env GOHOSTARCH)" ]; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -n "${CARRY_SITE:-}" ]; then
    for file in "$(realpath "$CARRY_SITE")"/*; do
        replace "internal/report/site/files/${file##*/}" "$file"
    done
fi

lazy=-extldflags=-Wl,-z,lazy
missing=
if [ -n "${CARRY:-}" ]; then
    works || { echo "build: no C compiler works, and CARRY=1 needs one" >&2; exit 1; }
    build 1 "-s -w $lazy" '' "$work/program" $nvidia
    gzip -9n "$work/program"
    replace $nvidia/program.gz "$work/program.gz"
    both 0 "-s -w" nvidia
    exit
elif [ "${CGO_ENABLED:-1}" = 0 ]; then
    both 0 ""
    exit
elif cross && [ -z "${CC:-}" ]; then
    missing="CC names no C compiler for $GOARCH"
elif ! works; then
    missing="no C compiler works"
else
    scripts/counts.sh   # the companion's counting library, which the program carries; a release has built it before
    scripts/heap.sh     # likewise the one that counts malloc's blocks
    both 1 $lazy
    # NVML's functions are looked up when they are called. Some compilers (-z now) and C libraries (musl) have all
    # functions looked up when the program starts, and then it fails to start.
    cross || "$(realpath "$out")" version >/dev/null 2>&1 || missing="a program with NVML does not start here"
fi
if [ -n "$missing" ]; then
    echo "build: $missing, so 'tracer gpu' is left out" >&2
    both 0 ""
fi
