package tracer

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/privileges"
)

const confinedVariable = "IPYTRACER_TEST_CONFINED"

// absent is no descriptor, no process, no user.
const absent = ^uintptr(0)

// forbidden returns calls by which an attacker in control of the tracer could do harm. Their arguments make them fail
// at once, in another way than the filter does, where they are made at all.
func forbidden() map[string][7]uintptr {
	all := forbiddenOnProcesses()
	maps.Copy(all, forbiddenOnFiles())
	maps.Copy(all, olderForbidden())
	maps.Copy(all, forbiddenOnMachines())
	return all
}

func forbiddenOnProcesses() map[string][7]uintptr {
	return map[string][7]uintptr{
		"execve":            {unix.SYS_EXECVE},
		"execveat":          {unix.SYS_EXECVEAT, absent},
		"fork":              {unix.SYS_CLONE, unix.CLONE_NEWUSER | unix.CLONE_FS},
		"clone3":            {unix.SYS_CLONE3},
		"ptrace":            {unix.SYS_PTRACE, unix.PTRACE_PEEKDATA, absent},
		"process_vm_writev": {unix.SYS_PROCESS_VM_WRITEV, absent},
		"process_madvise":   {unix.SYS_PROCESS_MADVISE, absent},
		"pidfd_getfd":       {unix.SYS_PIDFD_GETFD, absent},
		"kill":              {unix.SYS_KILL, 1 << 30, uintptr(unix.SIGTERM)},
		"tgkill":            {unix.SYS_TGKILL, 1 << 30, 1 << 30},
		"pidfd_send_signal": {unix.SYS_PIDFD_SEND_SIGNAL, absent, uintptr(unix.SIGKILL)},
	}
}

func forbiddenOnFiles() map[string][7]uintptr {
	path, err := unix.BytePtrFromString("/no such folder/file")
	if err != nil {
		panic(err)
	}
	name := uintptr(unsafe.Pointer(path))
	cwd := uintptr(0xffffff9c) // AT_FDCWD
	return map[string][7]uintptr{
		"open to write":          {unix.SYS_OPENAT, cwd, name, unix.O_WRONLY},
		"open to read and write": {unix.SYS_OPENAT, cwd, name, unix.O_RDWR},
		"open to empty":          {unix.SYS_OPENAT, cwd, name, unix.O_TRUNC},
		"open to append":         {unix.SYS_OPENAT, cwd, name, unix.O_WRONLY | unix.O_APPEND},
		"open by the new call":   {unix.SYS_OPENAT2, cwd, name},
		"mkdir":                  {unix.SYS_MKDIRAT, absent},
		"mknod":                  {unix.SYS_MKNODAT, absent},
		"symlink":                {unix.SYS_SYMLINKAT, 0, absent},
		"chmod":                  {unix.SYS_FCHMODAT, absent},
		"chown":                  {unix.SYS_FCHOWNAT, absent},
		"truncate":               {unix.SYS_TRUNCATE, 0},
		"setxattr":               {unix.SYS_SETXATTR, 0},
		"mount":                  {unix.SYS_MOUNT, 0, 0},
		"pivot_root":             {unix.SYS_PIVOT_ROOT, 0, 0},
		"chroot":                 {unix.SYS_CHROOT, 0},
	}
}

func forbiddenOnMachines() map[string][7]uintptr {
	return map[string][7]uintptr{
		"setns":                    {unix.SYS_SETNS, absent},
		"unshare":                  {unix.SYS_UNSHARE, absent},
		"setuid":                   {unix.SYS_SETUID, absent},
		"setresuid":                {unix.SYS_SETRESUID, absent, absent, absent},
		"setgroups":                {unix.SYS_SETGROUPS, absent},
		"socket":                   {unix.SYS_SOCKET, absent},
		"connect":                  {unix.SYS_CONNECT, absent},
		"init_module":              {unix.SYS_INIT_MODULE, 0, 0},
		"finit_module":             {unix.SYS_FINIT_MODULE, absent},
		"delete_module":            {unix.SYS_DELETE_MODULE, 0, 0},
		"kexec_load":               {unix.SYS_KEXEC_LOAD, 0, 1 << 30},
		"keyctl":                   {unix.SYS_KEYCTL, absent},
		"add_key":                  {unix.SYS_ADD_KEY, 0, 0, 0, absent},
		"io_uring_setup":           {unix.SYS_IO_URING_SETUP, 0, 0},
		"userfaultfd":              {unix.SYS_USERFAULTFD, absent},
		"a program for the kernel": {unix.SYS_BPF, unix.BPF_PROG_LOAD, 0, 0},
		"a map for the kernel":     {unix.SYS_BPF, unix.BPF_MAP_CREATE, 0, 0},
		"another's program":        {unix.SYS_BPF, unix.BPF_PROG_GET_FD_BY_ID, 0, 0},
		"a limit":                  {unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CORE, 1},
		"code from memory": {
			unix.SYS_MMAP, 1, 4096, unix.PROT_READ | unix.PROT_EXEC,
			unix.MAP_FIXED | unix.MAP_PRIVATE | unix.MAP_ANON, absent,
		},
		"memory to code":             {unix.SYS_MPROTECT, 1, 4096, unix.PROT_EXEC},
		"typing into the terminal":   {unix.SYS_IOCTL, absent, unix.TIOCSTI},
		"signals by a file's own":    {unix.SYS_FCNTL, absent, unix.F_SETOWN, 1},
		"reboot":                     {unix.SYS_REBOOT, 0},
		"swapon":                     {unix.SYS_SWAPON, 0},
		"settimeofday":               {unix.SYS_SETTIMEOFDAY, 1, 1},
		"sethostname":                {unix.SYS_SETHOSTNAME, 0, absent},
		"quotactl":                   {unix.SYS_QUOTACTL, absent},
		"acct":                       {unix.SYS_ACCT, 1},
		"fanotify_init":              {unix.SYS_FANOTIFY_INIT, absent},
		"open_by_handle_at":          {unix.SYS_OPEN_BY_HANDLE_AT, absent},
		"name_to_handle_at":          {unix.SYS_NAME_TO_HANDLE_AT, absent},
		"the same by another number": {unix.SYS_EXECVE | 0x40000000},
	}
}

// TestForbidden: calls outside the rules of a session fail, with any arguments, and would not have failed in this way
// before.
func TestForbidden(t *testing.T) {
	if os.Getenv(confinedVariable) != "" {
		tryForbidden(t)
		return
	}
	if os.Geteuid() != 0 { // for other users, more calls fail anyway
		if os.Getenv("TRACER_REQUIRE_BPF") == "1" {
			t.Fatal("not root")
		}
		t.Skip("not root")
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestForbidden$", "-test.v")
	cmd.Env = append(os.Environ(), confinedVariable+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestForbidden") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func tryForbidden(t *testing.T) {
	calls := forbidden()
	try := func(c [7]uintptr) unix.Errno {
		_, _, errno := unix.RawSyscall6(c[0], c[1], c[2], c[3], c[4], c[5], c[6])
		return errno
	}
	before := map[string]unix.Errno{}
	for name, c := range calls {
		before[name] = try(c)
	}
	if err := errors.Join(privileges.NoNewPrivileges(), privileges.AllowCalls(rules(Remains{}))); err != nil {
		t.Fatal(err)
	}
	for name, c := range calls {
		after := try(c)
		if after != unix.EPERM && after != unix.ENOSYS {
			t.Errorf("%s: %v, before %v", name, after, before[name])
		}
		if after == before[name] {
			t.Errorf("%s failed before in the same way, %v: nothing is shown", name, after)
		}
	}
	if data, err := os.ReadFile("/proc/self/status"); err != nil || !strings.Contains(string(data), "Seccomp:\t2") {
		t.Errorf("reading: %v", err)
	}
}

// TestFilesOfASession: a session reads the kernel's files about all processes, creates files in the folders that were
// named, and can open nothing else.
func TestFilesOfASession(t *testing.T) {
	const variable = "IPYTRACER_TEST_FOLDER"
	if os.Getenv(confinedVariable) != "" {
		tryFiles(t, os.Getenv(variable))
		return
	}
	if os.Geteuid() != 0 {
		if os.Getenv("TRACER_REQUIRE_BPF") == "1" {
			t.Fatal("not root")
		}
		t.Skip("not root")
	}
	dir, err := os.MkdirTemp("", "session") // the folders of t.TempDir are below one of root's
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	inside, outside := filepath.Join(dir, "inside"), filepath.Join(dir, "outside")
	for _, err := range []error{os.Mkdir(inside, 0o755), os.Mkdir(outside, 0o777), os.Chmod(outside, 0o777),
		os.Chmod(dir, 0o755), os.Chown(inside, 65534, 65534),
		os.WriteFile(filepath.Join(outside, "readable"), nil, 0o644)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestFilesOfASession$", "-test.v")
	cmd.Env = append(os.Environ(), confinedVariable+"=1", variable+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestFilesOfASession") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func tryFiles(t *testing.T, dir string) {
	parent := fmt.Sprintf("/proc/%d/", os.Getppid())
	r := Remains{Files: true, Folders: []string{filepath.Join(dir, "inside")},
		User: &privileges.User{UID: 65534, GID: 65534}}
	if err := Withdraw(r, nil, rules(r), func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/proc/self/maps", parent + "status", parent + "cgroup", "/proc/meminfo",
		"/etc/passwd", "/sys/kernel/btf/vmlinux"} {
		if f, err := os.Open(path); err != nil {
			t.Error(err)
		} else {
			f.Close()
		}
	}
	for _, path := range []string{parent + "mem", parent + "maps", parent + "environ", parent + "exe", parent + "fd",
		parent + "root/etc/passwd", "/etc/shadow", "/usr/bin/env", "/",
		filepath.Join(dir, "outside", "readable")} {
		if f, err := os.Open(path); err == nil {
			f.Close()
			t.Errorf("%s was opened", path)
		} else if !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for folder, may := range map[string]bool{"inside": true, "outside": false} {
		f, err := os.OpenFile(filepath.Join(dir, folder, "new"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			f.Close()
		}
		if (err == nil) != may {
			t.Errorf("a file %s: %v", folder, err)
		}
	}
}
