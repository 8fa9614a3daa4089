#!/usr/bin/env bash
# Data flows one way: probes, events, windows, report. Who may not import whom:
set -euo pipefail
cd "$(dirname "$0")/.."

status=0
forbid() { # PACKAGE PATTERN: the package's own imports, and theirs within the module, must not match
    local package=$1 pattern=$2 found
    found=$(go list -deps "./$package" | grep -E "$pattern" || true)
    if [ -n "$found" ]; then
        echo "check-imports: $package must not depend on:" $found >&2
        status=1
    fi
}
forbid tracer/event '^ipytracer/(attribution|report|cmd|tracer$|tracer/(ledger|cpython|process|gpu|recording))|cilium/ebpf'
forbid report '^ipytracer/(attribution|cmd|tracer)|cilium/ebpf'
forbid attribution '^ipytracer/(cmd|tracer$|tracer/(ledger|cpython|process|gpu|recording))|cilium/ebpf'
forbid tracer/recording '^ipytracer/(attribution|report|cmd|tracer$|tracer/(ledger|cpython|process|gpu))|cilium/ebpf'
forbid tracer/cpython '^ipytracer/(attribution|report|cmd|tracer$|tracer/(ledger|event|process|gpu|recording))|cilium/ebpf'
forbid tracer/memory '^ipytracer/(attribution|report|cmd|tracer$|tracer/(ledger|event|process|gpu|cuda|recording))|cilium/ebpf'
forbid tracer/process '^ipytracer/(attribution|report|cmd|tracer$|tracer/(ledger|event|cpython|gpu|recording))|cilium/ebpf'
forbid tracer/gpu '^ipytracer/(attribution|report|cmd|tracer$|tracer/(ledger|event|cpython|process|recording))|cilium/ebpf'
forbid tracer/ledger '^ipytracer/(attribution|report|cmd|tracer$|tracer/(cpython|process|gpu|recording))'
forbid tracer '^ipytracer/(attribution|report|cmd)'
exit $status
