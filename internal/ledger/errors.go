package ledger

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf"
)

// Errors that callers distinguish.
var (
	ErrNotSupported = errors.New("this kernel cannot do it")
	ErrNotPermitted = errors.New("not permitted")
	ErrNoProcess    = errors.New("no such process")
	ErrFull         = errors.New("the ledger is full")
)

// classify wraps an error with the matching error of this package. EPERM of the bpf system call means missing
// privileges here, not the limit MEMLOCK.
func classify(doing string, err error) error {
	var verifier *ebpf.VerifierError
	switch {
	case errors.As(err, &verifier):
		return fmt.Errorf("%s: %w: %w", doing, ErrNotSupported, err) // err begins with the name of the program
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%s: %w (%v)", doing, ErrNotPermitted, firstLine(err))
	case errors.Is(err, ebpf.ErrNotSupported), errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s: %w (%v)", doing, ErrNotSupported, firstLine(err))
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func noBTF(err error) error {
	return fmt.Errorf("%w: it has no BTF type information (CONFIG_DEBUG_INFO_BTF): %v", ErrNotSupported, err)
}
