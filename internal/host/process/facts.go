package process

import (
	"os"
	"strconv"
	"strings"
)

// Setting is a number the kernel shows in /proc/sys. Known is false where it does not exist or may not be read.
type Setting struct {
	Value int
	Known bool
}

// String gives the number, or "unknown".
func (s Setting) String() string {
	if !s.Known {
		return "unknown"
	}
	return strconv.Itoa(s.Value)
}

// Facts are about this machine and our own privileges: they decide how much a tracer can do. They are gathered by
// reading alone.
type Facts struct {
	Kernel       string // its release as uname(2) has it, such as "6.8.0-45-generic"; "" where it cannot be read
	EUID         int
	Capabilities CapabilitySet // our own effective ones

	// BTF reports that /sys/kernel/btf/vmlinux is there: the kernel's own types (CONFIG_DEBUG_INFO_BTF).
	BTF bool

	// InitialPIDNamespace reports that our pids are the ones the kernel uses itself, InitialUserNamespace that our
	// capabilities count for the whole machine. In a container either may be false.
	InitialPIDNamespace  bool
	InitialUserNamespace bool

	// OwnProc reports that the proc file system belongs to our pid namespace, so that its pids mean the same processes
	// to system calls.
	OwnProc bool

	// Lockdown is the kernel's lockdown state: "none", "integrity", "confidentiality" (forbids BPF to read
	// memory), or "absent" where the kernel has no lockdown or hides it.
	Lockdown string

	PerfEventParanoid       Setting // kernel.perf_event_paranoid
	UnprivilegedBPFDisabled Setting // kernel.unprivileged_bpf_disabled
	KptrRestrict            Setting // kernel.kptr_restrict
	PtraceScope             Setting // kernel.yama.ptrace_scope
	BPFJIT                  Setting // net.core.bpf_jit_enable
}

// The inode numbers of the initial namespaces (PROC_USER_INIT_INO and PROC_PID_INIT_INO, include/linux/proc_ns.h).
const (
	initialUserNamespace = "user:[4026531837]"
	initialPIDNamespace  = "pid:[4026531836]"
)

// Facts looks at this machine. It never fails: facts that cannot be read are shown as unknown, absent or not held.
func (fs FS) Facts() Facts {
	sys := fs.Sys
	if sys == "" {
		sys = "/sys"
	}
	self, _ := os.Readlink(fs.root() + "/self")
	return Facts{
		Kernel:                  fs.line("sys/kernel/osrelease"),
		EUID:                    os.Geteuid(),
		Capabilities:            fs.ownCapabilities(),
		BTF:                     exists(sys + "/kernel/btf/vmlinux"),
		InitialPIDNamespace:     fs.ownNamespace("pid") == initialPIDNamespace,
		InitialUserNamespace:    fs.ownNamespace("user") == initialUserNamespace,
		OwnProc:                 self == strconv.Itoa(os.Getpid()),
		Lockdown:                lockdown(sys + "/kernel/security/lockdown"),
		PerfEventParanoid:       fs.setting("kernel/perf_event_paranoid"),
		UnprivilegedBPFDisabled: fs.setting("kernel/unprivileged_bpf_disabled"),
		KptrRestrict:            fs.setting("kernel/kptr_restrict"),
		PtraceScope:             fs.setting("kernel/yama/ptrace_scope"),
		BPFJIT:                  fs.setting("net/core/bpf_jit_enable"),
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ownCapabilities reads those of the process's first thread; the Go runtime keeps all threads alike.
func (fs FS) ownCapabilities() CapabilitySet {
	data, _, err := readBounded(fs.root()+"/self/status", maxStatus)
	if err != nil {
		return 0
	}
	st, _ := parseStatus(data)
	return st.CapsHeld
}

func (fs FS) ownNamespace(kind string) string {
	name, _ := os.Readlink(fs.root() + "/self/ns/" + kind)
	return name
}

// line returns the trimmed text of a one-line file below the proc root, "" where there is none.
func (fs FS) line(name string) string {
	data, _, err := readBounded(fs.root()+"/"+name, 4<<10)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func (fs FS) setting(name string) Setting {
	value, err := strconv.Atoi(fs.line("sys/" + name))
	return Setting{Value: value, Known: err == nil}
}

// lockdown reads a line such as "none [integrity] confidentiality" (security/lockdown/lockdown.c).
func lockdown(path string) string {
	data, _, err := readBounded(path, 4<<10)
	if err != nil {
		return "absent"
	}
	_, rest, _ := strings.Cut(string(data), "[")
	state, _, ok := strings.Cut(rest, "]")
	if !ok {
		return "absent"
	}
	return state
}
