package doctor

import "ipytracer/internal/code/elffile"

// translated reports whether the kernel has this program translated for another processor: nobody does that to programs
// for arm64.
func translated(string) bool { return false }

// cLibraries are the paths of the C library in distributions: Debian's, Fedora's and Arch's glibc, Alpine's musl.
var cLibraries = []string{
	"/lib/" + elffile.Triplet + "/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6", "/lib/ld-musl-aarch64.so.1",
}
