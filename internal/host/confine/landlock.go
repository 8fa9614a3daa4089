package confine

import (
	"errors"
	"fmt"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// ErrNoLandlock is the error where the kernel has no Landlock (Linux 5.13), or does not use it.
var ErrNoLandlock = errors.New("the kernel has no Landlock")

// Paths are the allowed uses of files by name. A path may be /proc/self/fd/N.
type Paths struct {
	Make  []string // folders in which files are made and replaced
	Read  []string // files that are read, and folders that are read with all below them
	Drive []string // devices that are read, written, and asked by ioctl(2), and all below
}

// OnlyPaths takes from all threads, also from later ones, every other use of files by name. Open files stay open, and a
// path that does not exist is left out. It is not for programs that look into others: Landlock forbids that, too,
// whatever the capabilities (security/landlock/task.c). The error may be [ErrNoLandlock].
func OnlyPaths(p Paths) error {
	if version, err := ll.LandlockGetABIVersion(); err != nil || version < 1 {
		return fmt.Errorf("%w: %w", ErrNoLandlock, err)
	}
	var rules []landlock.Rule
	for _, f := range p.Make {
		rules = append(rules, landlock.PathAccess(ll.AccessFSMakeReg|ll.AccessFSRemoveFile|ll.AccessFSWriteFile,
			f).IgnoreIfMissing())
	}
	for _, path := range p.Read {
		rules = append(rules, landlock.PathAccess(readFiles(path), path).IgnoreIfMissing())
	}
	for _, path := range p.Drive {
		rules = append(rules, landlock.PathAccess(readFiles(path)|ll.AccessFSWriteFile|ll.AccessFSIoctlDev,
			path).IgnoreIfMissing())
	}
	if err := landlock.V11.BestEffort().RestrictPaths(rules...); err != nil {
		return fmt.Errorf("restrict files: %w", err)
	}
	return nil
}

// readFiles is the right to read the file at a path. Folders are a right of their own, which a file cannot have.
func readFiles(path string) landlock.AccessFSSet {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return ll.AccessFSReadFile | ll.AccessFSReadDir
	}
	return ll.AccessFSReadFile
}
