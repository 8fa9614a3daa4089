package tracer

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/privileges"
	"ipytracer/internal/host/process"
)

// Remains lists the rights that a confined program keeps besides those that the session needs.
type Remains struct {
	Files     bool             // it may create files and move them into place
	Folders   []string         // the only folders of such files, if the kernel can distinguish them (Landlock)
	Reads     []string         // paths that it may read by name, with everything below, besides the kernel's own files
	User      *privileges.User // the user that the program, started as root, becomes; nil: it keeps its user
	Overrides bool             // it may put files, as root, into folders of other users
	Signals   bool             // [Session.Signal] may be called
	Terminals []int            // descriptors of terminals that it draws on (TCSETS)
}

// Withdraw makes this program run as r.User and leaves it only some capabilities and some system calls. Of files, it
// can read only those of the kernel itself and those that are open. It calls absent with each restriction that the
// kernel does not support.
func Withdraw(r Remains, keep []uint, allowed []privileges.Rule, absent func(error)) error {
	if r.Overrides {
		keep = append(slices.Clip(keep), unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER)
	}
	return GiveUp(r.User, keep, paths(r), allowed, absent)
}

// GiveUp makes this program run as a user, nil for none, and leaves it only some capabilities, files and system calls.
// It calls absent with each restriction that the kernel does not support.
func GiveUp(
	user *privileges.User, keep []uint, files privileges.Paths, allowed []privileges.Rule, absent func(error),
) error {
	if err := become(user, keep); err != nil {
		return err
	}
	for _, err := range []error{privileges.OnlyPaths(files), privileges.AllowCalls(allowed)} {
		switch {
		case errors.Is(err, privileges.ErrNoLandlock), errors.Is(err, privileges.ErrNoFilter):
			absent(err)
		case err != nil:
			return err
		}
	}
	return nil
}

// become switches to a user, nil for none, and leaves some capabilities. A program that keeps any stays root except for
// files.
func become(u *privileges.User, keep []uint) error {
	if u != nil && len(keep) == 0 {
		return privileges.Become(u.UID, u.GID, u.Groups)
	}
	if u != nil {
		if err := privileges.FilesAs(u.UID, u.GID, u.Groups); err != nil {
			return err
		}
	}
	return privileges.KeepCapabilities(keep...)
}

// paths returns the files that a session reads and creates by name.
func paths(r Remains) privileges.Paths {
	return privileges.Paths{Make: r.Folders, Read: slices.Concat(process.CgroupMounts(), r.Reads,
		[]string{"/proc", "/sys", "/etc", "/dev/null"})}
}

// probing are the commands of bpf(2) for using loaded objects. None loads anything: a program of the kernel can read
// all memory.
var probing = []uint32{
	unix.BPF_MAP_LOOKUP_ELEM, unix.BPF_MAP_UPDATE_ELEM, unix.BPF_MAP_DELETE_ELEM, unix.BPF_MAP_GET_NEXT_KEY,
	unix.BPF_MAP_LOOKUP_AND_DELETE_ELEM,
	unix.BPF_MAP_LOOKUP_BATCH, unix.BPF_MAP_LOOKUP_AND_DELETE_BATCH, unix.BPF_MAP_UPDATE_BATCH,
	unix.BPF_MAP_DELETE_BATCH,
	unix.BPF_PROG_TEST_RUN, unix.BPF_OBJ_GET_INFO_BY_FD, unix.BPF_LINK_CREATE, unix.BPF_LINK_UPDATE,
	unix.BPF_LINK_DETACH, unix.BPF_ITER_CREATE,
}

// rules returns the system calls that a session makes once the kernel half is loaded. Those for NVML are made by its
// helper ([gpu.Helper]).
func rules(r Remains) []privileges.Rule {
	all := slices.Concat(Looking(), privileges.Always(
		unix.SYS_PERF_EVENT_OPEN, // a probe, before Linux 6.6
		unix.SYS_WAIT4, unix.SYS_WAITID, unix.SYS_DUP3,
	), []privileges.Rule{
		privileges.OneOf(unix.SYS_BPF, 0, probing...),
		privileges.OneOf(unix.SYS_IOCTL, 1, unix.PERF_EVENT_IOC_ENABLE, unix.PERF_EVENT_IOC_DISABLE,
			unix.PERF_EVENT_IOC_SET_BPF),
		privileges.OneOf(unix.SYS_PTRACE, 0, unix.PTRACE_DETACH), // of a command that was started stopped
	})
	for _, fd := range r.Terminals {
		all = append(all, privileges.Rule{Call: unix.SYS_IOCTL,
			When: [][]privileges.Test{{privileges.Is(0, uint32(fd)), privileges.Is(1, unix.TCSETS)}}})
	}
	if r.Files {
		all = append(all, privileges.Making()...)
	}
	return all
}

// Looking returns the system calls for examining processes, with a helper that opens files which need privileges.
func Looking() []privileges.Rule {
	return slices.Concat(privileges.Program(), privileges.Reading(),
		privileges.Always(unix.SYS_PIDFD_OPEN, unix.SYS_SENDMSG, unix.SYS_RECVMSG), []privileges.Rule{
			privileges.OneOf(unix.SYS_KILL, 1, 0), // does the process exist?
			privileges.OneOf(unix.SYS_PIDFD_SEND_SIGNAL, 1, 0),
			{Call: unix.SYS_OPENAT2, Refuse: unix.ENOSYS}, // its flags lie in memory, and openat serves
		})
}
