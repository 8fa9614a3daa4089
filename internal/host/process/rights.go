package process

import (
	"errors"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Capability is one of the kernel's capabilities, by its number (capabilities(7)).
type Capability uint8

// The capabilities that matter to a tracer.
const (
	CapDACOverride       Capability = unix.CAP_DAC_OVERRIDE       // read and write any file
	CapDACReadSearch     Capability = unix.CAP_DAC_READ_SEARCH    // read any file
	CapSysPtrace         Capability = unix.CAP_SYS_PTRACE         // look into strangers' processes
	CapSysAdmin          Capability = unix.CAP_SYS_ADMIN          // everything below, on kernels before 5.8
	CapSysResource       Capability = unix.CAP_SYS_RESOURCE       // raise our own limits
	CapPerfmon           Capability = unix.CAP_PERFMON            // probes (Linux 5.8)
	CapBPF               Capability = unix.CAP_BPF                // BPF programs and maps (Linux 5.8)
	CapCheckpointRestore Capability = unix.CAP_CHECKPOINT_RESTORE // /proc/PID/map_files (Linux 5.9)
)

var capabilityNames = []struct {
	capability Capability
	name       string
}{
	{CapDACOverride, "CAP_DAC_OVERRIDE"},
	{CapDACReadSearch, "CAP_DAC_READ_SEARCH"},
	{CapSysPtrace, "CAP_SYS_PTRACE"},
	{CapSysAdmin, "CAP_SYS_ADMIN"},
	{CapSysResource, "CAP_SYS_RESOURCE"},
	{CapPerfmon, "CAP_PERFMON"},
	{CapBPF, "CAP_BPF"},
	{CapCheckpointRestore, "CAP_CHECKPOINT_RESTORE"},
}

// String returns the name, such as "CAP_BPF"; "" for one that is none of the above.
func (c Capability) String() string {
	for _, known := range capabilityNames {
		if known.capability == c {
			return known.name
		}
	}
	return ""
}

// Tracing lists the capabilities that tracing kernels of other users takes.
var Tracing = []Capability{CapBPF, CapPerfmon, CapSysPtrace, CapDACReadSearch}

// Within returns a capability that includes this one (capabilities(7)); there is none if ok is false.
func (c Capability) Within() (wider Capability, ok bool) {
	switch c {
	case CapBPF, CapPerfmon:
		return CapSysAdmin, true
	case CapDACReadSearch:
		return CapDACOverride, true
	}
	return 0, false
}

// CapabilitySet is a set of capabilities, one bit each.
type CapabilitySet uint64

// Has reports whether the capability is in the set.
func (s CapabilitySet) Has(c Capability) bool { return c < 64 && s&(1<<c) != 0 }

// Allows reports whether the capability, or one that includes it, is in the set.
func (s CapabilitySet) Allows(c Capability) bool {
	wider, ok := c.Within()
	return s.Has(c) || ok && s.Has(wider)
}

// Lacking returns the capabilities of [Tracing] that the set does not allow.
func (s CapabilitySet) Lacking() (missing []Capability) {
	for _, c := range Tracing {
		if !s.Allows(c) {
			missing = append(missing, c)
		}
	}
	return missing
}

// MayLoadBPF reports whether the set is enough to load and attach tracing programs: CAP_BPF with CAP_PERFMON, or
// CAP_SYS_ADMIN, which includes both.
func (s CapabilitySet) MayLoadBPF() bool {
	return s.Has(CapSysAdmin) || s.Has(CapBPF) && s.Has(CapPerfmon)
}

// String lists the capabilities that matter to a tracer, by number, separated by commas.
func (s CapabilitySet) String() string {
	var names []string
	for _, known := range capabilityNames {
		if s.Has(known.capability) {
			names = append(names, known.name)
		}
	}
	return strings.Join(names, ",")
}

// Rights are the ids and capabilities that Linux compares when a user looks into a process (__ptrace_may_access,
// kernel/ptrace.c).
type Rights struct {
	users, groups [3]uint32 // real, effective, saved
	// of its files in /proc: its user, or root where its user may not read them (task_dump_owner, fs/proc/base.c)
	owner     uint32
	permitted CapabilitySet // capabilities that it has, or may take on
}

// ReadRights returns the present rights of a process. It fails as [Proc.Status] does, and with [ErrZombie].
func ReadRights(fs FS, pid int) (r Rights, err error) {
	status, err := fs.Proc(pid).Status()
	if err != nil {
		return r, err
	}
	var of unix.Stat_t
	if err := unix.Stat(fs.Proc(pid).path("maps"), &of); err != nil {
		return r, fs.Proc(pid).failure(err)
	}
	r = Rights{
		users:  [3]uint32{status.UID, status.EUID, status.latent.uid},
		groups: [3]uint32{status.GID, status.EGID, status.latent.gid},
		owner:  of.Uid, permitted: status.latent.capabilities,
	}
	if r.owner != r.users[1] {
		if st, err := fs.Proc(pid).Stat(); err == nil && st.Ended() { // without memory it is root's
			return r, &Error{PID: pid, Kind: ErrZombie}
		}
	}
	return r, nil
}

// RightsOf returns the rights of a user's ordinary process.
func RightsOf(uid uint32) Rights { return Rights{users: [3]uint32{uid, uid, uid}, owner: uid} }

// Covers reports whether a user who may look into a process with rights r may look into one with those of other, too.
// Root may look into all. A process has more rights than its user where it executed a set-user-ID or set-group-ID
// program, or one with capabilities, or became another user.
func (r Rights) Covers(other Rights) bool {
	switch {
	case r.users[1] == 0:
		return true
	case other.users != r.users, !isOne(other.groups) && other.groups != r.groups:
		return false
	case other.owner == r.users[1]:
		return true
	}
	return other.owner == r.owner && other.permitted&^r.permitted == 0
}

func isOne(ids [3]uint32) bool { return ids[0] == ids[1] && ids[0] == ids[2] }

var errMoreRights = errors.New("it has rights that the user of the traced process has not")

// MayLook fails with [ErrNotPermitted] for a process that has rights which these do not cover.
func (r Rights) MayLook(fs FS, pid int) error {
	has, err := ReadRights(fs, pid)
	if err == nil && !r.Covers(has) {
		err = &Error{PID: pid, Kind: ErrNotPermitted, Cause: errors.Join(errMoreRights, syscall.EPERM)}
	}
	return err
}
