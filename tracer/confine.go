package tracer

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"ipytracer/tracer/confine"
	"ipytracer/tracer/gpu"
	"ipytracer/tracer/process"
	"ipytracer/tracer/userfile"
)

// needed are the capabilities a session goes on needing once its probes are in (capabilities(7)).
var needed = []uint{
	unix.CAP_BPF,                // the rings and maps
	unix.CAP_PERFMON,            // probes put back by the budget, or placed in a child that turns out to be a Python
	unix.CAP_SYS_PTRACE,         // /proc/PID/mem of a target
	unix.CAP_CHECKPOINT_RESTORE, // /proc/PID/map_files of a target, since Linux 5.9
	unix.CAP_DAC_READ_SEARCH,    // /proc/PID/mem of another user's process, which is not root's to read
}

// Remains says what a session will be used for once it is confined, besides reading what its targets do.
type Remains struct {
	Files     bool           // files are made and put in their places
	User      *userfile.User // whose rights on files the program, which is root's, has from now on; nil: root's
	Overrides bool           // files are put in folders of others, as root itself
	Signals   bool           // SIGTERM, SIGHUP and SIGKILL are sent to a command, which may be another user's
}

// Confine takes from this program, in all its threads and for good, the capabilities and system calls that the session does not need from now on.
// Nothing can be started afterwards, so what the session needs another process for must run. Where the machine takes no filter of
// system calls, or too few capabilities are there to empty the bounding set, the log says so and the rest is done.
func (s *Session) Confine(r Remains) error {
	keep := slices.Clone(needed)
	if what, err := s.needsAdmin(); err != nil {
		s.log.Info("CAP_SYS_ADMIN is kept, as this kernel asks for it to "+what, "error", err)
		keep = append(keep, unix.CAP_SYS_ADMIN)
	}
	if r.Overrides {
		keep = append(keep, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER)
	}
	if r.Signals {
		keep = append(keep, unix.CAP_KILL)
	}
	if u := r.User; u != nil {
		if err := confine.FilesAs(u.UID, u.GID, u.Groups); err != nil {
			return err
		}
	}
	err := confine.KeepCapabilities(keep...)
	if errors.Is(err, confine.ErrBounding) {
		s.log.Info(err.Error())
	} else if err != nil {
		return err
	}
	if err := confine.NoNewPrivileges(); err != nil {
		return err
	}
	allowed := rules(r, gpu.Loadable())
	if s.fs.Helper.Seal() {
		allowed = append(allowed, confine.Always(unix.SYS_SENDMSG, unix.SYS_RECVMSG)...)
	}
	err = confine.Allow(allowed)
	if errors.Is(err, confine.ErrNoFilter) {
		s.log.Warn("the tracer can make any system call", "error", err)
		return nil
	}
	return err
}

// needsAdmin tries each kind of thing that has taken CAP_SYS_ADMIN on some kernel, and says which one takes it here: before 6.10
// probes, which are perf events there; before 5.9 files by their mappings. What does not work either way is no reason to keep it.
func (s *Session) needsAdmin() (what string, why error) {
	for _, thing := range []struct {
		what string
		try  func() error
	}{{"place a probe", s.ledger.TryProbe}, {"open what is mapped", s.fs.TryMapFiles}} {
		if err := confine.WithOnly(needed, thing.try); err != nil && thing.try() == nil {
			return thing.what, err
		}
	}
	return "", nil
}

// probing are the commands of bpf(2) by which what has been loaded is used. None loads anything: a program of the kernel can read all memory.
var probing = []uint32{
	unix.BPF_MAP_LOOKUP_ELEM, unix.BPF_MAP_UPDATE_ELEM, unix.BPF_MAP_DELETE_ELEM, unix.BPF_MAP_GET_NEXT_KEY, unix.BPF_MAP_LOOKUP_AND_DELETE_ELEM,
	unix.BPF_MAP_LOOKUP_BATCH, unix.BPF_MAP_LOOKUP_AND_DELETE_BATCH, unix.BPF_MAP_UPDATE_BATCH, unix.BPF_MAP_DELETE_BATCH,
	unix.BPF_PROG_TEST_RUN, unix.BPF_OBJ_GET_INFO_BY_FD, unix.BPF_LINK_CREATE, unix.BPF_LINK_UPDATE, unix.BPF_LINK_DETACH, unix.BPF_ITER_CREATE,
}

// rules are the system calls that a session makes once its probes are in. nvml: NVIDIA's library may be loaded yet.
func rules(r Remains, nvml bool) []confine.Rule {
	all := slices.Concat(confine.Program(), confine.Reading(), confine.Always(
		unix.SYS_PERF_EVENT_OPEN, // a probe, before Linux 6.6
		unix.SYS_PIDFD_OPEN, unix.SYS_WAIT4, unix.SYS_WAITID, unix.SYS_DUP3,
	), []confine.Rule{
		confine.OneOf(unix.SYS_BPF, 0, probing...),
		confine.OneOf(unix.SYS_IOCTL, 1, unix.PERF_EVENT_IOC_ENABLE, unix.PERF_EVENT_IOC_DISABLE, unix.PERF_EVENT_IOC_SET_BPF),
		confine.OneOf(unix.SYS_KILL, 1, 0), // is it there?
		confine.OneOf(unix.SYS_PIDFD_SEND_SIGNAL, 1, 0),
	})
	if (process.FS{}).TryMapFiles() != nil {
		all = append(all, confine.Rule{Call: unix.SYS_OPENAT2}) // the other way to what is mapped
	} else {
		all = append(all, confine.Rule{Call: unix.SYS_OPENAT2, Absent: true})
	}
	if r.Files {
		all = append(all, confine.Making()...)
	}
	if r.Signals {
		all = append(all, confine.OneOf(unix.SYS_KILL, 1, signals...), confine.OneOf(unix.SYS_PIDFD_SEND_SIGNAL, 1, signals...))
	}
	if nvml {
		all = append(all, driver()...)
	}
	return all
}

var signals = []uint32{uint32(unix.SIGTERM), uint32(unix.SIGHUP), uint32(unix.SIGKILL)}

// driver are the calls of NVIDIA's library: it is loaded, opens /dev/nvidiactl and its like to read and write, and asks the driver by ioctls of
// its own (type 'F', nv-ioctl-numbers.h of NVIDIA's open kernel modules).
func driver() []confine.Rule {
	return []confine.Rule{
		{Call: unix.SYS_MMAP, When: [][]confine.Test{{confine.Without(2, unix.PROT_WRITE)}}},
		{Call: unix.SYS_OPENAT, When: [][]confine.Test{{{Argument: 2, Mask: confine.Writing, Value: unix.O_RDWR}}}},
		{Call: unix.SYS_IOCTL, When: [][]confine.Test{{{Argument: 1, Mask: 0xff00, Value: 'F' << 8}}}},
	}
}
