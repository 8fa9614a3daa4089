package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// libraries are the libraries that the repository uses: their short names, by the beginning of their import paths. The
// commit that adds a library gives the reason.
var libraries = map[string]string{
	"github.com/NVIDIA/go-nvml/":                    "go-nvml",
	"github.com/cilium/ebpf":                        "ebpf",
	"github.com/coreos/go-systemd/v22/":             "go-systemd",
	"github.com/gdamore/tcell/":                     "tcell",
	"github.com/go-logr/logr":                       "logr",
	"github.com/google/btree":                       "btree",
	"github.com/google/flatbuffers/":                "flatbuffers",
	"github.com/google/pprof/profile":               "pprof",
	"github.com/ianlancetaylor/demangle":            "demangle",
	"github.com/klauspost/compress/":                "klauspost/compress",
	"github.com/landlock-lsm/go-landlock/":          "go-landlock",
	"github.com/prometheus/client_golang/":          "client_golang",
	"github.com/santhosh-tekuri/jsonschema/":        "jsonschema",
	"github.com/spf13/cobra":                        "cobra",
	"github.com/spf13/pflag":                        "pflag",
	"go.opentelemetry.io/":                          "otel",
	"go.yaml.in/yaml/v3":                            "yaml",
	"golang.org/x/arch/x86/x86asm":                  "x86asm",
	"golang.org/x/net/":                             "x/net",
	"golang.org/x/sys/unix":                         "unix",
	"golang.org/x/term":                             "x/term",
	"golang.org/x/text/":                            "x/text",
	"golang.org/x/time/rate":                        "x/time",
	"google.golang.org/grpc":                        "grpc",
	"google.golang.org/protobuf/encoding/protowire": "protowire",
	"google.golang.org/protobuf/proto":              "protobuf",
	"k8s.io/apimachinery/":                          "apimachinery",
	"k8s.io/client-go/":                             "client-go",
	"k8s.io/cri-api/":                               "cri-api",
	"k8s.io/klog/v2":                                "klog",
	"kernel.org/pub/linux/libs/security/libcap/psx": "psx",
}

// shortName returns the short name of a library, or "".
func shortName(path string) string {
	for prefix, name := range libraries {
		if strings.HasPrefix(path, prefix) {
			return name
		}
	}
	return ""
}

// rule forbids imports. Its lists have folders or import paths, and mean everything below these. A package in from, but
// not in except, must not import a package in not, unless that is in may.
type rule struct {
	from, except, not, may []string
	why                    string
}

// effects are the packages of the standard library through which code acts on the machine.
var effects = []string{"os", "net", "syscall", "golang.org/x/net", "github.com/cilium"}

// figures are the packages between events and the printers. Their results depend only on their input.
var figures = []string{"event", "model", "attribution", "internal/advice", "internal/compare", "internal/freeing",
	"internal/merge", "internal/plan", "internal/syntax", "internal/words"}

// live are the packages that look at processes.
var live = []string{"tracer", "internal/companion", "internal/gpu", "internal/host", "internal/ledger",
	"internal/python", "internal/serving"}

var layers = []rule{
	{[]string{"event"}, nil, []string{module}, []string{"event"}, "events are the vocabulary of everything else"},
	{[]string{"model"}, nil, []string{module}, []string{"model"}, "printers and those who read JSON need nothing else"},
	{[]string{"internal/syntax"}, nil, []string{module}, nil, "it reads Python for any program"},
	{figures, []string{"event/recording"}, effects, nil, "the same events give the same figures, on any machine"},
	{figures, nil, live, nil, "a recording is read without the live half"},
	{[]string{"report", "internal/report"}, nil, live, nil, "a report is printed without the live half"},
	{[]string{"report", "internal/report"}, nil,
		[]string{"attribution", "event"}, nil, "printers know the model alone"},
	{append([]string{"internal/code"}, live...), nil, []string{"attribution", "report",
		"internal/advice", "internal/compare", "internal/merge", "internal/plan", "internal/syntax"}, nil,
		"the live half gives events, and draws no conclusions"},
	{append([]string{"attribution", "report"}, live...), nil, []string{"cmd"}, nil, "commands are at the top"},
	{[]string{"internal/code"}, []string{"internal/code/elffile/elftest"}, live, nil,
		"analyses of files need no process"},
	{[]string{"internal/syntax"}, nil, []string{module}, nil, "it can be used anywhere else"},
}

// checkLayers returns an error that names the imports of p that break a rule.
func (p *goPackage) checkLayers() error {
	var faults []error
	for _, r := range layers {
		if !isBelow(p.ImportPath, r.from) || isBelow(p.ImportPath, r.except) {
			continue
		}
		for _, path := range p.Imports {
			name := strings.TrimPrefix(path, module+"/")
			if (isBelow(path, r.not) || isBelow(name, r.not)) && !isBelow(name, r.may) {
				faults = append(faults, fmt.Errorf("%s must not import %s: %s", p.ImportPath, path, r.why))
			}
		}
	}
	return errors.Join(faults...)
}

// isBelow reports whether a path is in one of the trees.
func isBelow(path string, trees []string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool {
		return path == tree || strings.HasPrefix(path, tree+"/")
	})
}
