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
recording: event klauspost/compress flatbuffers
model:
words: event model
attribution: event model words btree klauspost/compress unix
attribution/attributiontest: event
compare: model words compare/names
compare/names:
plan: model words
report: model report/escape words
report/escape: x/text
report/text: model words report/escape
report/html: model report/escape report/text words
report/viewers/files: attribution attribution/attributiontest model report report/notebook report/profile report/reporttest report/torchviz report/trace
report/html/pages: attribution attribution/attributiontest model report report/html report/reporttest words
report/live: model report/escape report/text words
report/wire: protowire
report/profile: model words report/escape report/wire
report/markdown: model words report/escape
report/trace: model words report/escape report/wire
report/parquet: model parquet-go
report/notebook: model words report/escape
report/torchviz: model words report/escape
report/sheet: model words report/escape report/markdown
report/reporttest: model report jsonschema

workload: event unix
doctor: report/escape report/text tracer tracer/cpython tracer/filecache tracer/gpu tracer/ledger tracer/look tracer/numpy tracer/process words workload
inventory: tracer tracer/gpu tracer/look tracer/process
selftest: attribution event model report/escape report/text tracer tracer/invoker tracer/launch tracer/ledger words workload

tracer/process: tracer/packets unix
tracer/confine: unix go-landlock psx
tracer/userfile: tracer/confine unix
tracer/invoker: tracer/confine tracer/userfile unix
tracer/launch: tracer unix
tracer/look: tracer tracer/invoker tracer/process
tracer/recorder: recording tracer/userfile
tracer/companion: event model tracer/packets unix
tracer/display: model report/live tcell unix x/term
python:
tracer/limit: tracer/confine tracer/process words unix
tracer/counting: unix
tracer/footprint: tracer/process
tracer/filecache: unix
tracer/packets: unix
tracer/packets/slow: unix
tracer/attacktest: unix
tracer/serving: tracer/limit tracer/packets tracer/process unix
cmd/tracer: tracer/serving tracer/suspend go-systemd
tracer/elffile:
tracer/elffile/elftest: tracer/elffile
tracer/machine: tracer/elffile x86asm
tracer/cpython: tracer/elffile tracer/machine
tracer/libc: tracer/elffile tracer/machine
tracer/numpy: tracer/elffile tracer/machine
tracer/arrow: tracer/elffile tracer/machine
tracer/cuda: event tracer/elffile tracer/machine
tracer/native: tracer/elffile demangle
tracer/holders: event tracer/cpython unix
tracer/resident:
tracer/pinned: tracer/cpython/builds tracer/elffile
tracer/cpython/builds:
tracer/gpu: go-nvml
tracer/gpu/gputest:
tracer/nvmlhelper: tracer/confine tracer/gpu tracer/userfile unix
tracer/suspend: tracer/cuda tracer/gpu tracer/process
tracer/ledger: event ebpf unix
tracer: event words tracer/arrow tracer/confine tracer/counting tracer/cpython tracer/cuda tracer/elffile tracer/filecache tracer/footprint tracer/gpu tracer/holders tracer/ledger tracer/libc tracer/limit tracer/machine tracer/native tracer/numpy tracer/nvmlhelper tracer/process tracer/resident tracer/userfile unix

cmd/tracer: attribution doctor event python inventory model recording report report/escape report/markdown report/parquet report/profile report/text report/torchviz report/trace selftest tracer tracer/companion tracer/confine tracer/cpython tracer/cuda tracer/filecache tracer/footprint tracer/gpu tracer/invoker tracer/launch tracer/ledger tracer/limit tracer/look tracer/nvmlhelper tracer/process tracer/recorder tracer/userfile words workload unix cobra pflag x/term compare plan report/live tracer/display report/notebook report/html report/sheet
bench/made: event recording
bench/numpysites: tracer
bench/recording: attribution/attributiontest bench/made event
storms: attribution event model tracer tracer/launch tracer/ledger ebpf
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
