package ledger

import (
	"errors"
	"fmt"
	"syscall"
)

// ErrFiles is the error for a limit on open files that is too low.
var ErrFiles = errors.New("too few files may be open at once")

// leastFiles is the number of files that a session must be allowed to have open: the object and its links take 140, a
// Jupyter kernel and its libraries some dozens, and the processes that it starts some more.
const leastFiles = 256

// CheckFiles fails with [ErrFiles] where so few files may be open that the object could not be loaded. Without this
// check the errors would look like those of a kernel that lacks needed features.
func CheckFiles() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("ask how many files may be open: %w", err)
	}
	if limit.Cur < leastFiles {
		return fmt.Errorf("%w: %d, and tracing takes %d", ErrFiles, limit.Cur, leastFiles)
	}
	return nil
}
