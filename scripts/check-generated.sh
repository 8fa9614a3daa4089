#!/usr/bin/env bash
# The committed BPF object and Go bindings must be what bpf/ gives with Debian 12's clang 14. With another clang
# only the Go bindings are compared: they do not depend on the compiler, the object does.
set -euo pipefail
cd "$(dirname "$0")/../tracer/ledger"

keep=$(mktemp -d)
trap 'cp "$keep"/* . ; rm -rf "$keep"' EXIT
cp kernel_x86_bpfel.go kernel_x86_bpfel.o "$keep"
go generate .
cmp kernel_x86_bpfel.go "$keep/kernel_x86_bpfel.go" || {
    echo "check-generated: kernel_x86_bpfel.go is not what bpf/ gives; run 'make generate' and commit" >&2
    exit 1
}
if clang --version | grep -q 'clang version 14\.'; then
    cmp kernel_x86_bpfel.o "$keep/kernel_x86_bpfel.o" || {
        echo "check-generated: kernel_x86_bpfel.o is not what bpf/ gives; run 'make generate' and commit" >&2
        exit 1
    }
else
    echo "check-generated: the object is compared with clang 14 only, this is another; skipped" >&2
fi
