// Package limit limits the memory that a process can map. It sets the soft RLIMIT_DATA from outside, with prlimit(2).
// It has the rule for a safe limit, and the guard that restores the earlier limit. Linux counts against the limit what
// the meter cpu.mapped counts (mm->data_vm, Linux 4.7). A request beyond the limit fails with ENOMEM. In Python that is
// a MemoryError at the line that asks. The package does not change hard limits, and runs nothing in the process. The
// kernel half sees refused requests.
//
// A session sets limits through a [Guard]: a process of its own with only the rights of the target's user. The guard
// restores the earlier limits as soon as the tracer has ended, for whatever reason.
package limit

import (
	"errors"
	"fmt"
	"os"

	"ipytracer/internal/words"
)

// Size is how much a process may map.
type Size struct {
	Bytes int64 // 0: no limit
	Auto  bool  // the safe size, by [Rule]
}

// Set reports whether s is a limit.
func (s Size) Set() bool { return s.Auto || s.Bytes > 0 }

// Least is the smallest limit in bytes. No Python starts with less.
const Least = 1 << 20

// Parse reads "auto" or a size such as 512MiB, 8G, 1.5GiB or a number of bytes; units are powers of 1024.
func Parse(text string) (Size, error) {
	if text == "auto" {
		return Size{Auto: true}, nil
	}
	n, err := words.ParseBytes(text)
	if err != nil {
		return Size{}, fmt.Errorf("%q: must be a size such as 512MiB, 8G, 1.5GiB or 'auto'", text)
	}
	if n < Least {
		return Size{}, fmt.Errorf("%q: must be at least 1MiB", text)
	}
	return Size{Bytes: n}, nil
}

// Marks of the program that set a limit. Linux compares whole pages, so the lowest bits of a limit are free for a mark.
// It distinguishes a limit that a killed tracer has left from a limit that somebody chose.
const (
	sessionMark = 0x7a1 // a session, which restores the earlier limit
	commandMark = 0x7a2 // `tracer limit`, whose limit stays
)

// Owner is the program that set a soft limit.
type Owner uint8

// The owners.
const (
	Nobody  Owner = iota // there is no limit
	Other                // no tracer, but ulimit, systemd, the process itself
	Session              // a session that runs or was killed
	Command              // `tracer limit`
)

// OwnerOf returns the program that set a soft limit, and the limit in bytes without the mark.
func OwnerOf(soft int64) (owner Owner, bytes int64) { return thisMachine.ownerOf(soft) }

// pages is the size of a machine's pages of memory in bytes.
type pages int64

var thisMachine = pages(os.Getpagesize())

// whole returns a number of bytes, rounded down to whole pages.
func (p pages) whole(bytes int64) int64 { return bytes &^ (int64(p) - 1) }

func (p pages) ownerOf(soft int64) (Owner, int64) {
	whole := p.whole(soft)
	switch {
	case soft == unlimited:
		return Nobody, soft
	case soft-whole == sessionMark:
		return Session, whole
	case soft-whole == commandMark:
		return Command, whole
	}
	return Other, soft
}

// marked returns a soft limit of whole pages with a mark. It is never above the hard limit.
func (p pages) marked(bytes int64, mark, hard uint64) uint64 {
	soft := uint64(p.whole(bytes)) | mark
	if soft > hard {
		soft -= uint64(p)
	}
	return soft
}

// The reasons why a process gets no limit.
var (
	ErrMapped  = errors.New("it has mapped more already")
	ErrHard    = errors.New("its hard limit is lower")
	ErrTighter = errors.New("it has a lower limit of its own")
	ErrIgnored = errors.New("this kernel was told to ignore limits on data (ignore_rlimit_data); " +
		"type 'echo N | sudo tee /sys/module/kernel/parameters/ignore_rlimit_data'")
	ErrNoRights = errors.New("its limits may not be set: that takes CAP_SYS_RESOURCE, or to be the user, " +
		"and the group, that it runs as")
	ErrNoRoom = errors.New("there is no room below the limit of its control group or the machine")
)
