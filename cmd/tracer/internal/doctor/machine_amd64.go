package doctor

import (
	"strings"

	"ipytracer/internal/code/elffile"
)

// isTranslated reports whether /proc/cpuinfo is an arm64 processor's: then this program is translated.
func isTranslated(cpuinfo string) bool { return strings.Contains(cpuinfo, "CPU implementer") }

// cLibraries are the paths of the C library in distributions: Debian's, Fedora's and Arch's glibc, Alpine's musl.
var cLibraries = []string{
	"/lib/" + elffile.Triplet + "/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6", "/lib/ld-musl-x86_64.so.1",
}
