//go:build cgo && amd64

package gpu

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"ipytracer/internal/gpu/gputest"
	"ipytracer/internal/host/privileges"
)

const confinedVariable = "IPYTRACER_TEST_CONFINED"

// alone runs a test in a process of its own: the test gives rights up for good.
func alone(t *testing.T, test func(*testing.T)) {
	t.Helper()
	if os.Getenv(confinedVariable) == t.Name() {
		test(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), confinedVariable+"="+t.Name())
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS: "+t.Name()) {
		t.Fatalf("%v\n%s", err, out)
	}
}

const (
	none = ^uintptr(0)
	cwd  = uintptr(0xffffff9c) // AT_FDCWD
)

type call struct {
	name string
	call [7]uintptr
}

func (c call) try() unix.Errno {
	_, _, errno := unix.RawSyscall6(c.call[0], c.call[1], c.call[2], c.call[3], c.call[4], c.call[5], c.call[6])
	return errno
}

// byNVML are the system calls that nvmlInit, one query of memory and processes, and nvmlShutdown made: an H100 80 GB,
// driver 580.159.04, Linux 6.18, seen with ptrace(2). Arguments that a filter can distinguish are as they were; the
// others make the call do nothing here. Left out are the calls that this very program makes, or must not make again
// (mmap of memory, brk, rt_sigprocmask, futex).
func byNVML() []call {
	path, err := unix.BytePtrFromString("/no such folder/file")
	if err != nil {
		panic(err)
	}
	name := uintptr(unsafe.Pointer(path))
	return []call{
		{"read", [7]uintptr{0, none}}, {"write", [7]uintptr{1, none}}, {"close", [7]uintptr{3, none}},
		{"stat", [7]uintptr{4, name}}, {"fstat", [7]uintptr{5, none}},
		{"mmap of code", [7]uintptr{9, 0, 4096, unix.PROT_READ | unix.PROT_EXEC, unix.MAP_PRIVATE | unix.MAP_DENYWRITE,
			none}},
		{"mprotect", [7]uintptr{10, 1, 4096, unix.PROT_READ}},
		{"ioctl c04846d2", [7]uintptr{16, none, 0xc04846d2}}, {"ioctl c00846d6", [7]uintptr{16, none, 0xc00846d6}},
		{"ioctl c90046c8", [7]uintptr{16, none, 0xc90046c8}},
		{"ioctl c030462b", [7]uintptr{16, none, 0xc030462b}}, {"ioctl c020462a", [7]uintptr{16, none, 0xc020462a}},
		{"ioctl c00846da", [7]uintptr{16, none, 0xc00846da}},
		{"ioctl c00446c9", [7]uintptr{16, none, 0xc00446c9}}, {"ioctl c23046d7", [7]uintptr{16, none, 0xc23046d7}},
		{"ioctl c0104629", [7]uintptr{16, none, 0xc0104629}},
		{"ioctl 30000001", [7]uintptr{16, none, 0x30000001}}, {"ioctl 4b", [7]uintptr{16, none, 0x4b}},
		{"ioctl 30000002", [7]uintptr{16, none, 0x30000002}},
		{"access", [7]uintptr{21, name, 4}}, {"getpid", [7]uintptr{39}}, {"fcntl F_GETFD", [7]uintptr{72, none, 1}},
		{"fcntl F_SETFD", [7]uintptr{72, none, 2, 1}},
		{"fcntl F_GETFL", [7]uintptr{72, none, 3}}, {"fcntl F_SETFL", [7]uintptr{72, none, 4, 0x8002}},
		{"sched_get_priority_max", [7]uintptr{146, 2}}, {"sched_get_priority_min", [7]uintptr{147, 2}},
		{"sched_getaffinity", [7]uintptr{204, 0, 8, 0}},
		{"getdents64", [7]uintptr{217, none}}, {"clock_nanosleep", [7]uintptr{230, 0, 0, 0}},
		{"get_mempolicy", [7]uintptr{239, 0, 0, 0x400}},
		{"openat", [7]uintptr{257, cwd, name, 0}}, {"openat O_CLOEXEC", [7]uintptr{257, cwd, name, 0x80000}},
		{"openat of a folder", [7]uintptr{257, cwd, name, 0x90800}},
		{"openat O_RDWR", [7]uintptr{257, cwd, name, 2}},
		{"openat O_RDWR|O_CLOEXEC", [7]uintptr{257, cwd, name, 0x80002}},
		{"openat O_RDWR|O_CLOEXEC|O_NONBLOCK", [7]uintptr{257, cwd, name, 0x80802}},
		{"eventfd2", [7]uintptr{290, 0, 1}}, {"pipe2", [7]uintptr{293, 0, 1}},
	}
}

// triedByNVML are calls in the same list that fail for users who are not root, too, with their errors there.
func triedByNVML() map[unix.Errno][]call {
	return map[unix.Errno][]call{
		unix.EEXIST: {{"mkdir", [7]uintptr{83, 0, 0o755}}},
		unix.EACCES: {{"unlink", [7]uintptr{87, 0}}, {"symlink", [7]uintptr{88, 0, 0}},
			{"openat to write", [7]uintptr{257, cwd, 0, 0x241, 0o666}}},
		unix.EPERM:  {{"mknod", [7]uintptr{133, 0}}},
		unix.ENOSYS: {{"clone3", [7]uintptr{435, 0, 0x58}}}, // the C library then takes clone
		unix.EAGAIN: {{"fork, of nvidia-modprobe", [7]uintptr{56, uintptr(unix.SIGCHLD)}}},
	}
}

// TestCallsOfNVML: those that NVIDIA's library makes are allowed, and those that it tries fail as it knows them to.
func TestCallsOfNVML(t *testing.T) {
	alone(t, func(t *testing.T) {
		before := map[string]unix.Errno{}
		for _, c := range byNVML() {
			if before[c.name] = c.try(); before[c.name] == unix.EPERM || before[c.name] == unix.ENOSYS {
				t.Errorf("%s fails anyway: %v", c.name, before[c.name])
			}
		}
		if err := errors.Join(privileges.NoNewPrivileges(), privileges.AllowCalls(rules())); err != nil {
			t.Fatal(err)
		}
		for _, c := range byNVML() {
			if errno := c.try(); errno != before[c.name] {
				t.Errorf("%s: %v, before %v", c.name, errno, before[c.name])
			}
		}
		for want, calls := range triedByNVML() {
			for _, c := range calls {
				if errno := c.try(); errno != want {
					t.Errorf("%s: %v, want %v", c.name, errno, want)
				}
			}
		}
	})
}

// TestForbidden: calls that the helper does not need fail, and would not have failed in this way before.
func TestForbidden(t *testing.T) {
	path, err := unix.BytePtrFromString("/no such folder/file")
	if err != nil {
		t.Fatal(err)
	}
	name := uintptr(unsafe.Pointer(path))
	calls := []call{
		{"execve", [7]uintptr{unix.SYS_EXECVE}}, {"execveat", [7]uintptr{unix.SYS_EXECVEAT, none}},
		{"fork", [7]uintptr{unix.SYS_CLONE, unix.CLONE_NEWUSER | unix.CLONE_FS}},
		{"ptrace", [7]uintptr{unix.SYS_PTRACE, unix.PTRACE_PEEKDATA, none}},
		{"process_vm_readv", [7]uintptr{unix.SYS_PROCESS_VM_READV, none, 0, 1 << 20}},
		{"process_vm_writev", [7]uintptr{unix.SYS_PROCESS_VM_WRITEV, none, 0, 1 << 20}},
		{"pidfd_open", [7]uintptr{unix.SYS_PIDFD_OPEN, none}},
		{"pidfd_getfd", [7]uintptr{unix.SYS_PIDFD_GETFD, none}},
		{"kill", [7]uintptr{unix.SYS_KILL, 1 << 30, uintptr(unix.SIGTERM)}},
		{"tgkill", [7]uintptr{unix.SYS_TGKILL, 1 << 30, 1 << 30}},
		{"pidfd_send_signal", [7]uintptr{unix.SYS_PIDFD_SEND_SIGNAL, none, 9}},
		{"open to write", [7]uintptr{unix.SYS_OPENAT, cwd, name, unix.O_WRONLY}},
		{"open to empty", [7]uintptr{unix.SYS_OPENAT, cwd, name, unix.O_RDWR | unix.O_TRUNC}},
		{"open to write, by the old call", [7]uintptr{unix.SYS_OPEN, name, unix.O_WRONLY}},
		{"rename", [7]uintptr{unix.SYS_RENAME, 0, 0}},
		{"link", [7]uintptr{unix.SYS_LINK, 0, 0}}, {"truncate", [7]uintptr{unix.SYS_TRUNCATE, 0}},
		{"mount", [7]uintptr{unix.SYS_MOUNT, 0, 0}},
		{"setns", [7]uintptr{unix.SYS_SETNS, none}}, {"unshare", [7]uintptr{unix.SYS_UNSHARE, none}},
		{"setuid", [7]uintptr{unix.SYS_SETUID, none}},
		{"bpf", [7]uintptr{unix.SYS_BPF, none}}, {"perf_event_open", [7]uintptr{unix.SYS_PERF_EVENT_OPEN, 0}},
		{"init_module", [7]uintptr{unix.SYS_INIT_MODULE, 0, 0}},
		{"io_uring_setup", [7]uintptr{unix.SYS_IO_URING_SETUP, 0, 0}},
		{"userfaultfd", [7]uintptr{unix.SYS_USERFAULTFD, none}},
		{"a limit", [7]uintptr{unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CORE, 1}},
		{"memory to code", [7]uintptr{unix.SYS_MPROTECT, 1, 4096, unix.PROT_EXEC}},
		{"code from memory", [7]uintptr{unix.SYS_MMAP, 1, 4096, unix.PROT_READ | unix.PROT_EXEC,
			unix.MAP_FIXED | unix.MAP_PRIVATE | unix.MAP_ANON, none}},
		{"code that is written to", [7]uintptr{unix.SYS_MMAP, 1, 4096,
			unix.PROT_READ | unix.PROT_WRITE | unix.PROT_EXEC, unix.MAP_FIXED | unix.MAP_PRIVATE, none}},
		{"typing into the terminal", [7]uintptr{unix.SYS_IOCTL, none, unix.TIOCSTI}},
		{"ioctl of another device", [7]uintptr{unix.SYS_IOCTL, none, 0xc0104500}},
		{"signals by a file's own", [7]uintptr{unix.SYS_FCNTL, none, unix.F_SETOWN, 1}},
	}
	alone(t, func(t *testing.T) {
		before := map[string]unix.Errno{}
		for _, c := range calls {
			before[c.name] = c.try()
		}
		if err := errors.Join(privileges.NoNewPrivileges(), privileges.AllowCalls(rules())); err != nil {
			t.Fatal(err)
		}
		for _, c := range calls {
			after := c.try()
			if after != unix.EPERM && after != unix.ENOSYS && after != unix.EAGAIN {
				t.Errorf("%s: %v, before %v", c.name, after, before[c.name])
			}
			if after == before[c.name] {
				t.Errorf("%s failed before in the same way, %v: nothing is shown", c.name, after)
			}
		}
	})
}

// TestHelperOpensTheDriversFilesAlone: the helper opens the driver's devices to read and write, reads the files of the
// library, and opens nothing else.
func TestHelperOpensTheDriversFilesAlone(t *testing.T) {
	folder := os.Getenv("IPYTRACER_TEST_FOLDER")
	if folder == "" {
		folder = t.TempDir()
		t.Setenv("IPYTRACER_TEST_FOLDER", folder)
		gputest.Devices(t, folder, "0")
		gputest.Write(t, filepath.Join(folder, "nvidia0-not"), "")
		gputest.Write(t, filepath.Join(folder, "kvm"), "")
	}
	t.Setenv(gputest.DevicesVariable, folder)
	alone(t, func(t *testing.T) {
		own := []string{filepath.Join(folder, "nvidiactl"), filepath.Join(folder, "nvidia0")}
		err := errors.Join(privileges.NoNewPrivileges(), privileges.OnlyPaths(paths(own)))
		if errors.Is(err, privileges.ErrNoLandlock) && os.Getenv("TRACER_REQUIRE_BPF") != "1" {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		for path, flags := range map[string]int{own[0]: os.O_RDWR, own[1]: os.O_RDWR, "/proc/self/maps": os.O_RDONLY,
			"/etc/ld.so.cache": os.O_RDONLY, "/usr/bin/env": os.O_RDONLY} {
			if f, err := os.OpenFile(path, flags, 0); err != nil {
				t.Error(err)
			} else {
				f.Close()
			}
		}
		for path, flags := range map[string]int{filepath.Join(folder, "kvm"): os.O_RDONLY,
			filepath.Join(folder, "nvidia0-not"): os.O_RDWR, "/dev/zero": os.O_RDONLY,
			"/dev/shm": os.O_RDONLY, "/tmp": os.O_RDONLY, "/proc/self/comm": os.O_WRONLY, "/etc/passwd": os.O_RDWR,
			filepath.Join(folder, "new"): os.O_WRONLY | os.O_CREATE} {
			f, err := os.OpenFile(path, flags, 0o600)
			if err == nil {
				f.Close()
			}
			if !errors.Is(err, unix.EACCES) {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
}
