package privileges

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrNoFilter is the error if Linux has no seccomp filters (CONFIG_SECCOMP_FILTER), or forbids them.
var ErrNoFilter = errors.New("the kernel takes no filter of system calls")

// Rule allows or refuses a system call, by its number on this machine.
type Rule struct {
	Call uintptr
	// When has the cases in which the rule holds. A case is given if all its tests hold. Without cases, the rule always
	// holds.
	When [][]Test
	// Refuse, if it is not 0, makes the call fail with this error where the rule holds, whatever other rules allow, and
	// without an entry in Linux's log. It is for errors that programs expect, because on some machines the call does
	// not exist or is forbidden.
	Refuse unix.Errno
}

// Test compares one argument of a system call. It cannot compare memory that a pointer points to, because the
// caller could change that afterwards.
type Test struct {
	Argument int // from 0
	// Mask has the bits that are compared. The upper half is compared only if Mask has one of its bits, because most
	// arguments are ints.
	Mask  uint64
	Value uint64
}

// Is returns the test that an int argument has a value.
func Is(argument int, value uint32) Test {
	return Test{argument, math.MaxUint32, uint64(value)}
}

// Without returns the test that an int argument has none of some bits set.
func Without(argument int, bits uint32) Test { return Test{argument, uint64(bits), 0} }

// Nil returns the test that an argument is the null pointer.
func Nil(argument int) Test { return Test{argument, math.MaxUint64, 0} }

// denied is the effect of a call that is not allowed: "" for EPERM, or "trap". Builds for tests set it to "trap": the
// program then ends and prints the stacks of all goroutines, which shows a call that is missing in the rules.
var denied = ""

// AllowCalls forbids all threads, also later ones, every system call that no rule allows. It needs CAP_SYS_ADMIN or
// [NoNewPrivileges]. The error may match [ErrNoFilter].
func AllowCalls(rules []Rule) error {
	// Linux logs all refusals of a filter, or none. Refused calls (Rule.Refuse) must not be logged, so they have a
	// filter of their own. Of two filters the stricter one counts, so the other filter may allow these calls.
	var refused, rest []Rule
	for _, r := range rules {
		if r.Refuse != 0 {
			refused = append(refused, r)
			r.Refuse = 0
		}
		rest = append(rest, r)
	}
	if len(refused) > 0 {
		if err := install(refused, verdict(unix.SECCOMP_RET_ALLOW, 0), 0); err != nil {
			return err
		}
	}
	return install(merge(rest), deny(), unix.SECCOMP_FILTER_FLAG_LOG) // Linux 4.14
}

// install adds a filter to all threads. The program's verdict for calls without a rule is otherwise.
func install(rules []Rule, otherwise unix.SockFilter, log uintptr) error {
	program, err := assemble(rules, otherwise)
	if err != nil {
		return err
	}
	const (
		tsync = unix.SECCOMP_FILTER_FLAG_TSYNC // in all threads or in none
		// Without this flag, before Linux 5.16, a filter slows down the whole program, to protect it from scripts that
		// it runs.
		specAllow = unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW
	)
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	var unsyncedThread uintptr
	var errno unix.Errno
	for _, flags := range []uintptr{tsync | log | specAllow, tsync | log, tsync} {
		unsyncedThread, _, errno = unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
			uintptr(unsafe.Pointer(&prog)))
		if errno != unix.EINVAL {
			break
		}
	}
	switch {
	case errno == unix.ENOSYS, errno == unix.EINVAL:
		return fmt.Errorf("%w: %w", ErrNoFilter, errno)
	case errno != 0:
		return fmt.Errorf("filter system calls: %w", errno)
	case unsyncedThread != 0:
		return fmt.Errorf("filter system calls: thread %d has a filter of its own", unsyncedThread)
	}
	return nil
}

// Offsets in struct seccomp_data (linux/seccomp.h).
const (
	offsetCall      = 0
	offsetMachine   = 4
	offsetArguments = 16
)

// verdict returns the instruction that ends the program with an action.
func verdict(action, data uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action | data}
}

// deny returns the verdict on calls that are not allowed.
func deny() unix.SockFilter {
	if denied == "trap" {
		return verdict(unix.SECCOMP_RET_TRAP, 0)
	}
	return verdict(unix.SECCOMP_RET_ERRNO, uint32(unix.EPERM))
}

// load returns the instruction that loads a word of struct seccomp_data.
func load(offset int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: uint32(offset)}
}

// unless returns the instruction that skips a number of instructions unless the loaded word has a value.
func unless(value uint32, skip int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jf: uint8(skip)}
}

// assemble returns the program of a filter: it tests the machine, then tries rule after rule, and ends with the verdict
// otherwise. Linux 5.11 and later do not run the program for calls that are allowed whatever their arguments.
func assemble(rules []Rule, otherwise unix.SockFilter) ([]unix.SockFilter, error) {
	program := ownCalls()
	for _, r := range rules {
		block := r.block()
		if len(block) > math.MaxUint8 {
			return nil, fmt.Errorf("filter system calls: the rule on call %d is too long", r.Call)
		}
		program = append(append(program, unless(uint32(r.Call), len(block))), block...)
	}
	program = append(program, otherwise)
	if len(program) > unix.BPF_MAXINSNS {
		return nil, errors.New("filter system calls: too many rules")
	}
	return program, nil
}

// block returns the part of the program for the calls of one rule. It ends with the rule's verdict, or with a denial if
// no case is given. If a rule with Refuse does not hold, the program goes on to the next rule, which needs the number
// of the call to be loaded again.
func (r Rule) block() (code []unix.SockFilter) {
	ifHolds, ifNot := verdict(unix.SECCOMP_RET_ALLOW, 0), deny()
	if r.Refuse != 0 {
		ifHolds, ifNot = verdict(unix.SECCOMP_RET_ERRNO, uint32(r.Refuse)), load(offsetCall)
	}
	if len(r.When) == 0 {
		return []unix.SockFilter{ifHolds}
	}
	for _, tests := range r.When {
		body := []unix.SockFilter{ifHolds}
		for i := len(tests) - 1; i >= 0; i-- { // from the last test on, so that the distance to skip is known
			body = append(tests[i].code(len(body)), body...)
		}
		code = append(code, body...)
	}
	return append(code, ifNot)
}

// code returns the instructions of the test. If the test holds, the program goes on behind them. If not, it also skips
// the given number of instructions behind them.
func (t Test) code(behind int) (code []unix.SockFilter) {
	at := offsetArguments + 8*t.Argument // little-endian, so the lower half comes first
	half := func(offset int, mask, value uint32, behind int) []unix.SockFilter {
		return []unix.SockFilter{
			load(offset), {Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: mask}, unless(value, behind),
		}
	}
	if t.Mask>>32 != 0 {
		code = half(at+4, uint32(t.Mask>>32), uint32(t.Value>>32), behind)
		behind += len(code)
	}
	lower := half(at, uint32(t.Mask), uint32(t.Value), behind)
	return append(lower, code...)
}

// merge makes one rule of all rules for the same system call. It allows what any of them allows.
func merge(rules []Rule) (merged []Rule) {
	at := map[uintptr]int{}
	for _, r := range rules {
		i, known := at[r.Call]
		if !known {
			at[r.Call] = len(merged)
			merged = append(merged, r)
			continue
		}
		m := &merged[i]
		if len(m.When) == 0 || len(r.When) == 0 {
			m.When = nil
		} else {
			m.When = append(slices.Clip(m.When), r.When...)
		}
	}
	return merged
}
