#!/usr/bin/env bash
# Builds all files of a release, from HEAD only, the same bytes each time: for x86-64 and arm64 the static programs, the
# wheel, a Debian package and an image for containers; VS Code's extension, a bill of materials and checksums.
#
#   scripts/release/build.sh [OUT]    into bin/release, if none is named
#
# Uncommitted files are not in it. Needs the packages of `scripts/install.sh release`, and Node 20. The same compilers
# make the same bytes: another Go, C compiler, C library or setuptools may make others.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] ||
    { echo "release: VS Code's extension is packed by Node 20 or newer, and this is $(node --version)" >&2; exit 3; }
mkdir -p "${1:-bin/release}"
out=$(realpath "${1:-bin/release}")
export VERSION LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH
VERSION=$(scripts/release/version.sh)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
# The caller's settings make no difference.
export GOFLAGS='-mod=readonly -buildvcs=false -trimpath' GOAMD64=v1 GOARM64=v8.0 GOOS=linux
unset CGO_CFLAGS CGO_CPPFLAGS CGO_LDFLAGS GOEXPERIMENT LDFLAGS
umask 022

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git archive HEAD | tar -x -C "$work" --one-top-level=tree
cd "$work/tree"

for compiler in x86_64-linux-gnu-gcc aarch64-linux-gnu-gcc; do
    CC=$compiler scripts/counts.sh
    CC=$compiler scripts/heap.sh
done

# The page for web servers, which the programs carry.
"${GO:-go}" run ./cmd/site "$work/site"

# built ARCHITECTURE COMPILER: builds the programs for an architecture, as Go and Debian call it.
built() {
    mkdir "$work/$1"
    GOARCH=$1 CC=$2 CARRY=1 CARRY_SITE=$work/site scripts/build.sh "$work/$1/tracer" "$work/$1/tracer-agent"
}
built amd64 x86_64-linux-gnu-gcc
built arm64 aarch64-linux-gnu-gcc
tracer=$work/amd64/tracer licenses=$work/THIRD-PARTY-LICENSES.txt
scripts/release/materials.py >"$work/sbom.json" --licenses "$licenses"
# Every module that Go reports as linked in must be in the bill.
"${GO:-go}" version -m "$work"/*/tracer-agent | awk '$1 == "dep" { gsub(/\+/, "%2B"); print $2 "@" $3 }' >"$work/linked"
while read -r module; do
    grep -qF "\"pkg:golang/$module\"" "$work/sbom.json" || { echo "release: $module is not in the bill" >&2; exit 1; }
done <"$work/linked"
[ -s "$work/linked" ] || { echo "release: Go names no module in the program" >&2; exit 1; }
scripts/release/manual.sh "$tracer" "$work/manual"
(cd vscode && npm ci --ignore-scripts --no-audit --no-fund --silent &&
    node pack.mjs "$work/extension.vsix") >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }

rm -rf "${out:?}"/*
install -m 644 "$work/sbom.json" "$out/ipytracer-$VERSION.cdx.json"
install -m 644 "$licenses" "$out/THIRD-PARTY-LICENSES.txt"
install -m 644 "$work/extension.vsix" "$out/ipytracer-$VERSION.vsix"
for arch in amd64 arm64; do
    from=$work/$arch
    install -m 755 "$from/tracer" "$out/tracer-$arch"
    install -m 755 "$from/tracer-agent" "$out/tracer-agent-$arch"
    scripts/release/pack_wheel.py "$from/tracer" "$licenses" "$out" $arch >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; exit 1; }
    scripts/release/pack_deb.sh "$from/tracer" "$from/tracer-agent" "$work/manual" "$licenses" "$out" $arch
    scripts/release/pack_image.py "$from/tracer-agent" "$licenses" "$out" $arch
done
cd "$out"
sha256sum -- * >"$work/SHA256SUMS"
install -m 644 "$work/SHA256SUMS" SHA256SUMS
ls -l --time-style=+ "$out"
