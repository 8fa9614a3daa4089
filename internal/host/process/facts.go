package process

import (
	"os"
	"strconv"
	"strings"
)

// Setting is a number in /proc/sys. Known is false if it does not exist or may not be read.
type Setting struct {
	Value int
	Known bool
}

// String returns the number, or "unknown".
func (s Setting) String() string {
	if !s.Known {
		return "unknown"
	}
	return strconv.Itoa(s.Value)
}

// Facts are the facts about this machine and this program's privileges that decide what a tracer can do.
type Facts struct {
	Kernel       string // the release of uname(2), such as "6.8.0-45-generic"; "" if it cannot be read
	EUID         int
	Capabilities CapabilitySet // effective ones of this program

	// BTF reports whether /sys/kernel/btf/vmlinux exists, which describes Linux's own types (CONFIG_DEBUG_INFO_BTF).
	BTF bool

	// The following two may be false in a container.
	InitialPIDNamespace  bool // this program's pids are those of the whole machine
	InitialUserNamespace bool // this program's capabilities count for the whole machine

	// OwnProc reports whether the proc file system's pids are those of this program's system calls.
	OwnProc bool

	// Lockdown is the lockdown state: "none", "integrity", "confidentiality" (BPF may not read memory), or "absent" if
	// Linux has no lockdown or hides it.
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

// Facts reads the facts about this machine. A fact that cannot be read becomes unknown, absent or false.
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

// ownCapabilities returns the effective capabilities of this program. It reads those of the first thread, because Go's
// runtime keeps the capabilities of all threads equal.
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

// line returns the trimmed text of a file of one line below the proc root, or "" if there is no such file.
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

// lockdown returns the state from a line such as "none [integrity] confidentiality" (security/lockdown/lockdown.c).
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
