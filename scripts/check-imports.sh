#!/usr/bin/env bash
# Fails if a Go package imports a package that its row of docs/packages.md lacks, if a row has one that its package does
# not import, and if a package has no row.
set -euo pipefail
cd "$(dirname "$0")/.."

# A row of docs/packages.md: | `PACKAGE` | purpose | `IMPORTED` `IMPORTED` … |. Libraries go by short names, below: each
# is the beginning of a path.
table=$(sed -nE 's/^\| `([^`]+)` \|.*\| ([^|]*) \|$/\1: \2/p' docs/packages.md | sed 's/`//g; s/: nothing$/:/')
[ -n "$table" ] || { echo "check-imports: docs/packages.md has no rows" >&2; exit 1; }

{
    go list -f '{{.ImportPath}}{{range .Imports}} {{.}}{{end}}' ./...
    go list -tags agent -f '{{.ImportPath}}{{range .Imports}} {{.}}{{end}}' ./cmd/tracer
} | awk -v table="$table" '
BEGIN {
    library["apimachinery"] = "k8s.io/apimachinery/"
    library["btree"] = "github.com/google/btree"
    library["client-go"] = "k8s.io/client-go/"
    library["client_golang"] = "github.com/prometheus/client_golang/"
    library["cobra"] = "github.com/spf13/cobra"
    library["cri-api"] = "k8s.io/cri-api/"
    library["demangle"] = "github.com/ianlancetaylor/demangle"
    library["ebpf"] = "github.com/cilium/ebpf"
    library["flatbuffers"] = "github.com/google/flatbuffers/"
    library["go-landlock"] = "github.com/landlock-lsm/go-landlock/"
    library["go-nvml"] = "github.com/NVIDIA/go-nvml/"
    library["go-systemd"] = "github.com/coreos/go-systemd/v22/"
    library["grpc"] = "google.golang.org/grpc"
    library["jsonschema"] = "github.com/santhosh-tekuri/jsonschema/"
    library["klauspost/compress"] = "github.com/klauspost/compress/"
    library["klog"] = "k8s.io/klog/v2"
    library["logr"] = "github.com/go-logr/logr"
    library["otel"] = "go.opentelemetry.io/"
    library["pflag"] = "github.com/spf13/pflag"
    library["pprof"] = "github.com/google/pprof/profile"
    library["protobuf"] = "google.golang.org/protobuf/proto"
    library["protowire"] = "google.golang.org/protobuf/encoding/protowire"
    library["psx"] = "kernel.org/pub/linux/libs/security/libcap/psx"
    library["tcell"] = "github.com/gdamore/tcell/"
    library["unix"] = "golang.org/x/sys/unix"
    library["x/term"] = "golang.org/x/term"
    library["x/text"] = "golang.org/x/text/"
    library["yaml"] = "go.yaml.in/yaml/v3"
    library["x/net"] = "golang.org/x/net/"
    library["x86asm"] = "golang.org/x/arch/x86/x86asm"

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
    if (!(package in allowed)) { fail(package " has no row in docs/packages.md"); next }
    m = split(allowed[package], may, " ")
    for (i = 2; i <= NF; i++) {
        if ($i !~ /^ipytracer\// && $i !~ /^[^\/]*\./) continue # the standard library
        ok = 0
        for (j = 1; j <= m; j++) {
            if (may[j] in library ? index($i, library[may[j]]) != 1 : $i != "ipytracer/" may[j]) continue
            ok = 1
            used[package, may[j]] = 1
        }
        if (!ok) fail(package " must not import " $i)
    }
}
END {
    for (package in allowed) {
        if (!(package in seen)) fail("there is no package " package)
        m = split(allowed[package], may, " ")
        for (j = 1; j <= m; j++) {
            if (!(package in seen) || (package, may[j]) in used) continue
            fail(package " does not import " may[j] ": take it out of docs/packages.md")
        }
    }
    exit status
}'
