package doctor

import "ipytracer/internal/code/elffile"

// isTranslated returns false: programs for arm64 are not translated.
func isTranslated(string) bool { return false }

// cLibraries are the paths of the C library in distributions: Debian's, Fedora's and Arch's glibc, Alpine's musl.
var cLibraries = []string{
	"/lib/" + elffile.Triplet + "/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6", "/lib/ld-musl-aarch64.so.1",
}
