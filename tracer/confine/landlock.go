package confine

import (
	"errors"
	"fmt"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// ErrNoLandlock says that the kernel has no Landlock (Linux 5.13), or does not use it.
var ErrNoLandlock = errors.New("the kernel has no Landlock")

// OnlyFolders takes from all threads, those to come as well, whatever can be done with files by name, but making and replacing files in some
// folders. What is open stays open. It is not for
// programs that look into others: Landlock forbids that, too, whatever the capabilities (security/landlock/task.c). The error may be [ErrNoLandlock].
func OnlyFolders(folders ...string) error {
	if version, err := ll.LandlockGetABIVersion(); err != nil || version < 1 {
		return fmt.Errorf("%w: %w", ErrNoLandlock, err)
	}
	var rules []landlock.Rule
	for _, f := range folders {
		rules = append(rules, landlock.PathAccess(ll.AccessFSMakeReg|ll.AccessFSRemoveFile|ll.AccessFSWriteFile, f))
	}
	if err := landlock.V11.BestEffort().RestrictPaths(rules...); err != nil {
		return fmt.Errorf("restrict files: %w", err)
	}
	return nil
}
