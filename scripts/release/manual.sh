#!/usr/bin/env bash
# Writes the manual and the completions of shells into a folder, as Debian has them below /usr/share.
#
#   scripts/release/manual.sh TRACER FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
tracer=$1 folder=$2
mkdir -p "$folder"/{man/man1,bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
TRACER_MAN_PAGES="$folder/man/man1" "${GO:-go}" test -count=1 -run '^TestManPages$' \
    -ldflags "-X ipytracer/cmd/tracer.version=$VERSION" ./cmd/tracer >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
gzip -9n "$folder"/man/man1/*
"$tracer" completion bash >"$folder/bash-completion/completions/tracer"
"$tracer" completion zsh >"$folder/zsh/vendor-completions/_tracer"
"$tracer" completion fish >"$folder/fish/vendor_completions.d/tracer.fish"
