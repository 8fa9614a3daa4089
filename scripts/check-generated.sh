#!/usr/bin/env bash
# Fails unless the output of bpf/ equals the committed files: the BPF object for each processor with its Go types, and
# the Go constants of bpf/wire*.h. The object is compiled and compared with Debian 12's clang 14 only: its code and its
# warnings depend on the compiler. With another one, the constants are compared.
set -euo pipefail
cd "$(dirname "$0")/.."

generated=(event/wire.go event/wiremeters.go internal/code/cuda/wire.go internal/code/libc/wire.go
    internal/ledger/wire.go internal/ledger/wiremeters.go \
    {internal/ledger/kernel,e2e/storms/align}_{x86,arm64}_bpfel.{go,o})
keep=$(mktemp -d)
trap 'for f in "${generated[@]}"; do cp "$keep/$f" "$f"; done; rm -rf "$keep"' EXIT
for f in "${generated[@]}"; do
    mkdir -p "$keep/$(dirname "$f")"
    cp "$f" "$keep/$f"
done
compiles=()
if ! clang --version | grep -q 'clang version 14\.'; then
    echo "check-generated: the object is compared with clang 14 only, this is another; skipped" >&2
    compiles=(-skip bpf2go)
fi
go generate "${compiles[@]}" ./event ./internal/code/cuda ./internal/code/libc ./internal/ledger ./e2e/storms
for f in "${generated[@]}"; do
    cmp "$f" "$keep/$f" || {
        echo "check-generated: $f is not what bpf/ gives; run 'make generate' and commit" >&2
        exit 1
    }
done
