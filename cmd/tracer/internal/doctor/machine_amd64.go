package doctor

import (
	"strings"

	"ipytracer/internal/code/elffile"
)

// translated reports whether a /proc/cpuinfo is an arm64 processor's: its kernel has this program translated.
func translated(cpuinfo string) bool { return strings.Contains(cpuinfo, "CPU implementer") }

// cLibraries are the paths of the C library in distributions: Debian's, Fedora's and Arch's glibc, Alpine's musl.
var cLibraries = []string{
	"/lib/" + elffile.Triplet + "/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6", "/lib/ld-musl-x86_64.so.1",
}
