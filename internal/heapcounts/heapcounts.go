// Package heapcounts has a command count malloc's blocks itself. It has the library that does, and lets the command's
// dynamic linker load it. See library/heap.h, and bpf/counts.h for the page in which it counts.
//
// It starts nothing. It looks into the command's file, which is the user's, through [elffile].
package heapcounts

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// carried has the library for each machine that it was built for (scripts/heap.sh), and its sources.
//
//go:embed library
var carried embed.FS

// Told is the library's function that is called for each large block: (old, its size, new, its size).
const Told = "ipytracer_heap_told"

// LeastTold is the size from which a block is told, in bytes: LARGE of library/heap.h.
const LeastTold = 64 << 10

// ErrCannot is the error for a command that cannot count malloc's blocks itself.
var ErrCannot = errors.New("the command cannot count malloc's blocks itself")

// Open returns a file in memory with the library. Nobody can write to it.
func Open() (library *os.File, err error) {
	code, err := carried.ReadFile("library/libipytracer_heap-" + runtime.GOARCH + ".so")
	if err != nil {
		return nil, fmt.Errorf("%w: this tracer was built without the library", ErrCannot)
	}
	const name, sealable = "ipytracer_heap", unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, sealable|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3 every such file can be executed
		fd, err = unix.MemfdCreate(name, sealable)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannot, err)
	}
	library = os.NewFile(uintptr(fd), name)
	if _, err = library.Write(code); err == nil {
		const sealed = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, sealed)
	}
	if err != nil {
		library.Close()
		return nil, fmt.Errorf("%w: %w", ErrCannot, err)
	}
	return library, nil
}

// The environment variables: the library's own, which it takes out again, and the dynamic linker's.
const (
	variable = "IPYTRACER_HEAP="
	preload  = "LD_PRELOAD="
)

// Preload has a command that was not started yet load the library, with a page to count in. Both files are the
// command's until the library has begun. A library that the user preloads comes behind it.
func Preload(cmd *exec.Cmd, library, page *os.File) {
	const first = 3 // descriptor of an extra file
	pageAt, libraryAt := first+len(cmd.ExtraFiles), first+len(cmd.ExtraFiles)+1
	cmd.ExtraFiles = append(slices.Clone(cmd.ExtraFiles), page, library)
	environment := cmd.Environ()
	list := fmt.Sprintf("%s/proc/self/fd/%d", preload, libraryAt)
	environment = slices.DeleteFunc(environment, func(v string) bool {
		users, is := strings.CutPrefix(v, preload)
		if is && users != "" {
			list += ":" + users
		}
		return is || strings.HasPrefix(v, variable)
	})
	// The library reads only the beginning of the environment.
	cmd.Env = append([]string{fmt.Sprintf("%s%d,%d", variable, pageAt, libraryAt)}, append(environment, list)...)
}
