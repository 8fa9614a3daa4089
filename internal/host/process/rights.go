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
	CapSysPtrace         Capability = unix.CAP_SYS_PTRACE         // look into other users' processes
	CapSysAdmin          Capability = unix.CAP_SYS_ADMIN          // everything below, before Linux 5.8
	CapSysResource       Capability = unix.CAP_SYS_RESOURCE       // raise one's own limits
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

// String returns the name, such as "CAP_BPF", or "" for a capability without a constant in this package.
func (c Capability) String() string {
	for _, known := range capabilityNames {
		if known.capability == c {
			return known.name
		}
	}
	return ""
}

// Tracing lists the capabilities that are needed to trace kernels of other users.
var Tracing = []Capability{CapBPF, CapPerfmon, CapSysPtrace, CapDACReadSearch}

// Within returns a capability that includes this one (capabilities(7)). ok is false if there is none.
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

// String returns the names of the capabilities that matter to a tracer, with commas between them.
func (s CapabilitySet) String() string {
	var names []string
	for _, known := range capabilityNames {
		if s.Has(known.capability) {
			names = append(names, known.name)
		}
	}
	return strings.Join(names, ",")
}

// Rights are the ids and capabilities of a process that Linux checks when a user looks into the process
// (__ptrace_may_access, kernel/ptrace.c).
type Rights struct {
	users, groups [3]uint32 // real, effective, saved
	// owner is the owner of the process's files in /proc. It is the process's user, or root if that user may not read
	// the files (task_dump_owner, fs/proc/base.c).
	owner     uint32
	permitted CapabilitySet // capabilities that the process has, or may take on
}

// effective is the index of the effective id in [Rights].
const effective = 1

// ReadRights returns the present rights of a process. It fails as [Proc.Status] does, and with [ErrZombie].
func ReadRights(fs FS, pid int) (r Rights, err error) {
	status, err := fs.Proc(pid).Status()
	if err != nil {
		return r, err
	}
	var maps unix.Stat_t
	if err := unix.Stat(fs.Proc(pid).path("maps"), &maps); err != nil {
		return r, fs.Proc(pid).failure(err)
	}
	r = Rights{
		users:  [3]uint32{status.UID, status.EUID, status.latent.uid},
		groups: [3]uint32{status.GID, status.EGID, status.latent.gid},
		owner:  maps.Uid, permitted: status.latent.capabilities,
	}
	if r.owner != r.users[effective] {
		if st, err := fs.Proc(pid).Stat(); err == nil && st.Ended() { // the files of an ended process are root's
			return r, &Error{PID: pid, Kind: ErrZombie}
		}
	}
	return r, nil
}

// RightsOf returns the rights of an ordinary process of a user.
func RightsOf(uid uint32) Rights { return Rights{users: [3]uint32{uid, uid, uid}, owner: uid} }

// Covers reports whether a user who may look into a process with rights r may also look into a process with rights
// other. Root may look into every process. A process has more rights than its user if it has executed a set-user-ID or
// set-group-ID program, or a program with capabilities, or if it has changed its user.
func (r Rights) Covers(other Rights) bool {
	sameGroups := other.groups == r.groups || areEqual(other.groups)
	switch {
	case r.users[effective] == 0:
		return true
	case other.users != r.users, !sameGroups:
		return false
	case other.owner == r.users[effective]:
		return true
	}
	return other.owner == r.owner && other.permitted&^r.permitted == 0
}

func areEqual(ids [3]uint32) bool { return ids[0] == ids[1] && ids[0] == ids[2] }

var errMoreRights = errors.New("the process has rights that the traced process's user lacks")

// MayLook fails with [ErrNotPermitted] for a process that has rights which r does not cover.
func (r Rights) MayLook(fs FS, pid int) error {
	rights, err := ReadRights(fs, pid)
	if err == nil && !r.Covers(rights) {
		err = &Error{PID: pid, Kind: ErrNotPermitted, Cause: errors.Join(errMoreRights, syscall.EPERM)}
	}
	return err
}
