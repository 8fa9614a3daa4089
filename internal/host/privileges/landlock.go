package privileges

import (
	"errors"
	"fmt"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// ErrNoLandlock is the error if Linux has no Landlock (before 5.13), or does not use it.
var ErrNoLandlock = errors.New("the kernel has no Landlock")

// Paths are the files that may be used by name. A path may be /proc/self/fd/N. For a folder, a right also holds for
// everything below it.
type Paths struct {
	Make  []string // folders in which files may be made and replaced
	Read  []string // files and folders that may be read
	Drive []string // devices, or folders of devices, that may be read, written, and used with ioctl(2)
}

// OnlyPaths forbids all threads, also later ones, every other use of files by name. Open files stay open. Paths that do
// not exist are left out. Landlock also forbids to look into other processes, whatever the capabilities
// (security/landlock/task.c), so OnlyPaths is not for programs that do that. The error may match [ErrNoLandlock].
func OnlyPaths(p Paths) error {
	if version, err := ll.LandlockGetABIVersion(); err != nil || version < 1 {
		return fmt.Errorf("%w: %w", ErrNoLandlock, err)
	}
	var rules []landlock.Rule
	const makeFiles = ll.AccessFSMakeReg | ll.AccessFSRemoveFile | ll.AccessFSWriteFile
	for _, path := range p.Make {
		rules = append(rules, landlock.PathAccess(makeFiles, path).IgnoreIfMissing())
	}
	for _, path := range p.Read {
		rules = append(rules, landlock.PathAccess(readFiles(path), path).IgnoreIfMissing())
	}
	for _, path := range p.Drive {
		drive := readFiles(path) | ll.AccessFSWriteFile | ll.AccessFSIoctlDev
		rules = append(rules, landlock.PathAccess(drive, path).IgnoreIfMissing())
	}
	if err := landlock.V11.BestEffort().RestrictPaths(rules...); err != nil {
		return fmt.Errorf("restrict files: %w", err)
	}
	return nil
}

// readFiles returns the right to read the file or folder at a path. Reading a folder is a right that a rule for a file
// cannot have.
func readFiles(path string) landlock.AccessFSSet {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return ll.AccessFSReadFile | ll.AccessFSReadDir
	}
	return ll.AccessFSReadFile
}
