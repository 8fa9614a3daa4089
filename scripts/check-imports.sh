#!/usr/bin/env bash
# Who may import whom, and which libraries: a package that is not in the table, or imports what its row has not, fails. The table is the
# architecture (ARCHITECTURE.md): events come from the kernel's half, go through recording and attribution into the model, and printers show that.
# Tests are not looked at.
set -euo pipefail
cd "$(dirname "$0")/.."

# PACKAGE: OURS (a package may have several rows), and libraries by the beginning of their path. ebpf is cilium/ebpf, unix golang.org/x/sys/unix.
table='
bpf/wiregen:
scripts/shape:
event:
event/recording: event klauspost/compress flatbuffers
model:
model/words: event model
attribution: event model model/words btree klauspost/compress unix
attribution/attributiontest: event
attribution/compare: model model/words attribution/compare/names
attribution/compare/names:
attribution/plan: model model/words
report: model report/escape model/words
report/escape: x/text
report/text: model model/words report/escape
report/html: model report/escape report/text model/words
report/viewers/files: attribution attribution/attributiontest model report report/notebook report/profile report/reporttest report/torchviz report/trace
report/html/pages: attribution attribution/attributiontest model report report/html report/reporttest model/words
report/live: model report/escape report/text model/words
report/wire: protowire
report/profile: model model/words report/escape report/wire
report/markdown: model model/words report/escape
report/trace: model model/words report/escape report/wire
report/parquet: model parquet-go
report/notebook: model model/words report/escape
report/torchviz: model model/words report/escape
report/sheet: model model/words report/escape report/markdown
report/reporttest: model report jsonschema

cmd/tracer/internal/workload: event unix
cmd/tracer/internal/doctor: report/escape report/text tracer tracer/python/cpython tracer/host/filecache tracer/gpu tracer/ledger tracer/host/look tracer/python/numpy tracer/host/process model/words cmd/tracer/internal/workload
cmd/tracer/internal/inventory: tracer tracer/gpu tracer/host/look tracer/host/process
cmd/tracer/internal/selftest: attribution event model report/escape report/text tracer tracer/host/invoker tracer/host/launch tracer/ledger model/words cmd/tracer/internal/workload

tracer/host/process: tracer/host/packets unix
tracer/host/confine: unix go-landlock psx
tracer/host/userfile: tracer/host/confine unix
tracer/host/invoker: tracer/host/confine tracer/host/userfile unix
tracer/host/launch: tracer unix
tracer/host/look: tracer tracer/host/invoker tracer/host/process
tracer/host/recorder: event/recording tracer/host/userfile
tracer/companion: event model tracer/host/packets unix
tracer/display: model report/live tcell unix x/term
python:
tracer/host/limit: tracer/host/confine tracer/host/process model/words unix
tracer/host/counting: unix
tracer/host/footprint: tracer/host/process
tracer/host/filecache: unix
tracer/host/packets: unix
tracer/host/packets/slow: unix
tracer/host/attacktest: unix
tracer/serving: tracer/host/limit tracer/host/packets tracer/host/process unix
cmd/tracer: tracer/serving tracer/gpu/suspend go-systemd
tracer/code/elffile:
tracer/code/elffile/elftest: tracer/code/elffile
tracer/code/machine: tracer/code/elffile x86asm
tracer/python/cpython: tracer/code/elffile tracer/code/machine
tracer/code/libc: tracer/code/elffile tracer/code/machine
tracer/python/numpy: tracer/code/elffile tracer/code/machine
tracer/python/arrow: tracer/code/elffile tracer/code/machine
tracer/code/cuda: event tracer/code/elffile tracer/code/machine
tracer/code/native: tracer/code/elffile demangle
tracer/python/holders: event tracer/python/cpython unix
tracer/host/resident:
tracer/code/pinned: tracer/python/cpython/builds tracer/code/elffile
tracer/python/cpython/builds:
tracer/gpu: go-nvml
tracer/gpu/gputest:
tracer/gpu/nvmlhelper: tracer/host/confine tracer/gpu tracer/host/userfile unix
tracer/gpu/suspend: tracer/code/cuda tracer/gpu tracer/host/process
tracer/ledger: event ebpf unix
tracer: event model/words tracer/python/arrow tracer/host/confine tracer/host/counting tracer/python/cpython tracer/code/cuda tracer/code/elffile tracer/host/filecache tracer/host/footprint tracer/gpu tracer/python/holders tracer/ledger tracer/code/libc tracer/host/limit tracer/code/machine tracer/code/native tracer/python/numpy tracer/gpu/nvmlhelper tracer/host/process tracer/host/resident tracer/host/userfile unix

cmd/tracer: attribution cmd/tracer/internal/doctor event python cmd/tracer/internal/inventory model event/recording report report/escape report/markdown report/parquet report/profile report/text report/torchviz report/trace cmd/tracer/internal/selftest tracer tracer/companion tracer/host/confine tracer/python/cpython tracer/code/cuda tracer/host/filecache tracer/host/footprint tracer/gpu tracer/host/invoker tracer/host/launch tracer/ledger tracer/host/limit tracer/host/look tracer/gpu/nvmlhelper tracer/host/process tracer/host/recorder tracer/host/userfile model/words cmd/tracer/internal/workload unix cobra pflag x/term attribution/compare attribution/plan report/live tracer/display report/notebook report/html report/sheet
bench/made: event event/recording
bench/numpysites: tracer
bench/recording: attribution/attributiontest bench/made event
e2e/storms: attribution event model tracer tracer/host/launch tracer/ledger ebpf
bench/sessions: attribution/attributiontest bench/made event
e2e:
'

go list -f '{{.ImportPath}}{{range .Imports}} {{.}}{{end}}' ./... | awk -v table="$table" '
BEGIN {
    library["klauspost/compress"] = "github.com/klauspost/compress/"; library["flatbuffers"] = "github.com/google/flatbuffers/"
    library["btree"] = "github.com/google/btree"; library["unix"] = "golang.org/x/sys/unix"; library["x/text"] = "golang.org/x/text/"
    library["jsonschema"] = "github.com/santhosh-tekuri/jsonschema/"; library["go-landlock"] = "github.com/landlock-lsm/go-landlock/"
    library["psx"] = "kernel.org/pub/linux/libs/security/libcap/psx"; library["x86asm"] = "golang.org/x/arch/x86/x86asm"
    library["demangle"] = "github.com/ianlancetaylor/demangle"; library["go-nvml"] = "github.com/NVIDIA/go-nvml/"; library["ebpf"] = "github.com/cilium/ebpf"
    library["parquet-go"] = "github.com/parquet-go/parquet-go"
    library["go-systemd"] = "github.com/coreos/go-systemd/v22/daemon"; library["cobra"] = "github.com/spf13/cobra"; library["pflag"] = "github.com/spf13/pflag"; library["x/term"] = "golang.org/x/term"; library["tcell"] = "github.com/gdamore/tcell/"; library["protowire"] = "google.golang.org/protobuf/encoding/protowire"

    n = split(table, rows, "\n")
    for (i = 1; i <= n; i++) {
        if (rows[i] !~ /:/) continue
        package = rows[i]; sub(/:.*/, "", package)
        row = rows[i]; sub(/^[^:]*: */, "", row)
        allowed[package] = allowed[package] " " row " "
    }
}
function fail(text) { print "check-imports: " text > "/dev/stderr"; status = 1 }
{
    package = substr($1, length("ipytracer/") + 1)
    seen[package] = 1
    if (!(package in allowed)) { fail(package " is not in the table of scripts/check-imports.sh"); next }
    m = split(allowed[package], may, " ")
    for (i = 2; i <= NF; i++) {
        if ($i !~ /^ipytracer\// && $i !~ /^[^\/]*\./) continue # the standard library
        ok = 0
        for (j = 1; j <= m; j++) {
            if (may[j] in library ? index($i, library[may[j]]) == 1 : $i == "ipytracer/" may[j]) { ok = 1; used[package, may[j]] = 1 }
        }
        if (!ok) fail(package " must not import " $i)
    }
}
END {
    for (package in allowed) {
        if (!(package in seen)) fail("there is no package " package)
        m = split(allowed[package], may, " ")
        for (j = 1; j <= m; j++) if (package in seen && !((package, may[j]) in used)) fail(package " does not import " may[j] ": take it out of the table")
    }
    exit status
}'
