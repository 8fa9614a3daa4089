package confine

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrNoFilter is the error where the kernel has no seccomp filters (CONFIG_SECCOMP_FILTER), or forbids them.
var ErrNoFilter = errors.New("the kernel takes no filter of system calls")

// Rule allows or refuses a system call, by its number on this machine.
type Rule struct {
	Call uintptr
	// When has the cases in which the call is allowed. A case holds if all its tests hold. If there are no cases, the
	// call is always allowed.
	When [][]Test
	// Refuse makes the call fail with this error in those cases, whatever other rules allow, and without a line in the
	// kernel's log. Programs expect such an error: some machines have no such call, or do not let the user make it.
	Refuse unix.Errno
}

// Test compares one argument of a system call. Pointers cannot be followed: the caller could change the memory there
// afterwards.
type Test struct {
	Argument int // from 0
	// the bits to compare. The upper half is compared only if one of its bits is set: most arguments are ints
	Mask  uint64
	Value uint64
}

// Is returns the test that an argument, which is an int, has a value.
func Is(argument int, value uint32) Test { return Test{argument, math.MaxUint32, uint64(value)} }

// Without returns the test that an argument, which is an int, has none of some bits set.
func Without(argument int, bits uint32) Test { return Test{argument, uint64(bits), 0} }

// Nil returns the test that an argument is the null pointer.
func Nil(argument int) Test { return Test{argument, math.MaxUint64, 0} }

// denied is the effect of a call that is not allowed. "" stands for EPERM. In a build for tests it is "trap": the
// program ends and prints the stacks of all goroutines, so that no call that the program needs is missed.
var denied = ""

// Allow forbids every system call that no rule allows, to all present and later threads. It needs CAP_SYS_ADMIN or
// [NoNewPrivileges], which is passed on to all threads. The error may be [ErrNoFilter].
func Allow(rules []Rule) error {
	// A refused call is no misdeed and is not logged: a filter of its own refuses it. Of two filters the stricter one
	// counts, unless the stricter one ends the program. So the other filter allows the refused calls.
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

// install adds a filter. Of several the strictest counts.
func install(rules []Rule, otherwise unix.SockFilter, log uintptr) error {
	program, err := assemble(rules, otherwise)
	if err != nil {
		return err
	}
	const (
		tsync = unix.SECCOMP_FILTER_FLAG_TSYNC // in all threads, or in none
		// Before Linux 5.16 a filter slows the whole program down, to keep scripts in the program from spying on other
		// memory.
		specAllow = unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW
	)
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	var odd uintptr
	var errno unix.Errno
	for _, flags := range []uintptr{tsync | log | specAllow, tsync | log, tsync} {
		odd, _, errno = unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
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
	case odd != 0:
		return fmt.Errorf("filter system calls: thread %d has a filter of its own", odd)
	}
	return nil
}

// Offsets in struct seccomp_data (linux/seccomp.h).
const (
	offsetCall      = 0
	offsetMachine   = 4
	offsetArguments = 16
)

func verdict(action, data uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action | data}
}

func deny() unix.SockFilter {
	if denied == "trap" {
		return verdict(unix.SECCOMP_RET_TRAP, 0)
	}
	return verdict(unix.SECCOMP_RET_ERRNO, uint32(unix.EPERM))
}

func load(offset int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: uint32(offset)}
}

// unless skips a number of instructions where the loaded word is not the given one.
func unless(value uint32, skip int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jf: uint8(skip)}
}

// assemble makes the program: it tests the machine once, then rule after rule, and ends with the verdict on other
// calls. Since Linux 5.11 the kernel works out once which calls are allowed whatever their arguments, and does not run
// the program for them.
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

// block returns the part of the program for the calls of one rule. The part ends with a verdict. Where a refusal does
// not hold, it goes on to the next rule.
func (r Rule) block() (code []unix.SockFilter) {
	yes, no := verdict(unix.SECCOMP_RET_ALLOW, 0), deny()
	if r.Refuse != 0 {
		yes, no = verdict(unix.SECCOMP_RET_ERRNO, uint32(r.Refuse)), load(offsetCall)
	}
	if len(r.When) == 0 {
		return []unix.SockFilter{yes}
	}
	for _, tests := range r.When {
		body := []unix.SockFilter{yes}
		for i := len(tests) - 1; i >= 0; i-- { // from the last to the first: how far to skip is then known
			body = append(tests[i].code(len(body)), body...)
		}
		code = append(code, body...)
	}
	return append(code, no)
}

// code returns the instructions of the test. Where the test holds, the program goes on behind them. Else it skips the
// given number of instructions behind them, too.
func (t Test) code(behind int) (code []unix.SockFilter) {
	at := offsetArguments + 8*t.Argument // little-endian: the lower half first
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

// merge makes one rule of all rules on the same system call. It allows what any of these rules allows.
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
