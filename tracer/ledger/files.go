package ledger

import (
	"errors"
	"fmt"
	"syscall"
)

// ErrFiles is the error where too few files may be open at once.
var ErrFiles = errors.New("too few files may be open at once")

// leastFiles is the number of files that a session must be allowed to have open: the object and its links have 140, a
// kernel and its libraries some dozens, the processes that it starts some more.
const leastFiles = 256

// CheckFiles fails with [ErrFiles] where so few files may be open that the object could not be loaded: the kernel's
// answers would then be taken for those of one that lacks needed features.
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
