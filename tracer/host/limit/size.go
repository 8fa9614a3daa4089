// Package limit keeps a process from mapping more than it should: a soft RLIMIT_DATA, set from outside with
// prlimit(2), what is safe to set, and the guard that restores it. The kernel counts against it what cpu.mapped
// counts (mm->data_vm, Linux 4.7): a request beyond it fails with ENOMEM, which is a MemoryError in Python, at the
// line that asks. Hard limits are never touched, and nothing runs in the process; refused requests are seen by the
// kernel half.
//
// A session sets limits through a [Guard]: a process of its own with no rights but those of the target's user, which
// puts back what was before as soon as the tracer is gone, however it went.
package limit

import (
	"errors"
	"fmt"

	"ipytracer/model/words"
)

// Size is how much a process may map.
type Size struct {
	Bytes int64 // 0: no limit is asked for
	Auto  bool  // what is safe, by [Rule]
}

// Set says whether there is to be a limit.
func (s Size) Set() bool { return s.Auto || s.Bytes > 0 }

// Least is the smallest limit there is: no Python starts with less.
const Least = 1 << 20

// Parse reads "auto" or a size such as 512MiB, 8G, 1.5GiB or a number of bytes; units are powers of 1024.
func Parse(text string) (Size, error) {
	if text == "auto" {
		return Size{Auto: true}, nil
	}
	n, err := words.ParseBytes(text)
	if err != nil {
		return Size{}, fmt.Errorf("%q is no size such as 512MiB, 8G, 1.5GiB or 'auto'", text)
	}
	if n < Least {
		return Size{}, fmt.Errorf("%q is too small: at least 1MiB", text)
	}
	return Size{Bytes: n}, nil
}

// The kernel compares whole pages, so the last bits of a limit are free. They say who set it: so what a killed tracer
// has left is known from a limit that somebody chose.
const (
	pageBits    = 4096 - 1
	sessionMark = 0x7a1 // a session, which puts back what was before
	commandMark = 0x7a2 // `tracer limit`, to stay
)

// Owner is who set a soft limit.
type Owner uint8

// The owners.
const (
	Nobody  Owner = iota // there is none
	Other                // not a tracer: ulimit, systemd, the process itself
	Session              // a session that runs, or was killed
	Command              // `tracer limit`
)

// OwnerOf tells who set a soft limit, and without the mark how much it allows.
func OwnerOf(soft int64) (Owner, int64) {
	switch {
	case soft == unlimited:
		return Nobody, soft
	case soft&pageBits == sessionMark:
		return Session, soft &^ pageBits
	case soft&pageBits == commandMark:
		return Command, soft &^ pageBits
	}
	return Other, soft
}

// What can be wrong with a limit.
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
