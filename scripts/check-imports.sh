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
only() { # PACKAGE PATTERN: of ours it depends on nothing but what matches, and on no eBPF
    local package=$1 pattern=$2 found
    found=$(go list -deps "./$package" | grep -E '^ipytracer/|cilium/ebpf' | grep -vE "^ipytracer/($package${pattern:+|$pattern})\$" || true)
    if [ -n "$found" ]; then
        echo "check-imports: $package must not depend on:" $found >&2
        status=1
    fi
}
only tracer/elffile ''
only tracer/machine 'tracer/elffile'
only tracer/cpython 'tracer/(machine|elffile)'
only tracer/numpy 'tracer/(machine|elffile)'
only tracer/memory 'tracer/(machine|elffile)'
forbid tracer/event '^ipytracer/(attribution|report|cmd|tracer$|tracer/(ledger|cpython|holders|process|resident|gpu|recording|native|memory|numpy))|cilium/ebpf'
forbid report '^ipytracer/(attribution|cmd|tracer)|cilium/ebpf'
forbid attribution '^ipytracer/(cmd|tracer$|tracer/(ledger|cpython|holders|process|gpu|recording|native|memory|numpy))|cilium/ebpf'
forbid tracer/recording '^ipytracer/(attribution|report|cmd|tracer$|tracer/(ledger|cpython|holders|process|gpu|native|memory|numpy))|cilium/ebpf'
forbid tracer/holders '^ipytracer/(attribution|report|cmd|tracer$|tracer/(ledger|event|process|gpu|recording|native|memory|numpy))|cilium/ebpf'
forbid tracer/resident '^ipytracer/(attribution|report|cmd|tracer$|tracer/(ledger|event|cpython|holders|process|gpu|recording|native|memory|numpy))|cilium/ebpf'
forbid tracer/process '^ipytracer/(attribution|report|cmd|tracer$|tracer/(ledger|event|cpython|holders|gpu|recording|native|memory|numpy))|cilium/ebpf'
forbid tracer/native '^ipytracer/(attribution|report|cmd|tracer$|tracer/(ledger|event|cpython|holders|process|gpu|recording|cuda))|cilium/ebpf'
forbid tracer/gpu '^ipytracer/(attribution|report|cmd|tracer$|tracer/(ledger|event|cpython|holders|process|recording|native|memory|numpy))|cilium/ebpf'
forbid tracer/ledger '^ipytracer/(attribution|report|cmd|tracer$|tracer/(cpython|holders|process|gpu|recording|native|memory|numpy))'
forbid tracer/userfile '^ipytracer/(attribution|report|cmd|tracer$|tracer/(ledger|event|cpython|holders|process|gpu|recording|native|memory|numpy))|cilium/ebpf'
forbid tracer/confine '^ipytracer/(attribution|report|cmd|tracer$|tracer/(ledger|event|cpython|holders|process|gpu|cuda|recording|native|memory|numpy|userfile|limit))|cilium/ebpf'
forbid tracer/limit '^ipytracer/(attribution|report|cmd|tracer$|tracer/(ledger|event|cpython|holders|gpu|recording|native|memory|numpy|userfile))|cilium/ebpf'
forbid tracer '^ipytracer/(attribution|report|cmd)'
exit $status
