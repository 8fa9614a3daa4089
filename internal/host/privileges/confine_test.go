package privileges

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const confinedVariable = "IPYTRACER_TEST_CONFINED"

// confined runs a test in a process of its own: the test gives rights up for good.
func confined(t *testing.T, test func(*testing.T)) {
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

// requireRoot skips where there are no rights to give up.
func requireRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	if os.Getenv("TRACER_REQUIRE_BPF") == "1" {
		t.Fatal("nothing to give up: not root")
	}
	t.Skip("nothing to give up: not root")
}

// busyThreads has threads in system calls.
func busyThreads() (stop func()) {
	done, started := make(chan struct{}), make(chan struct{})
	for range 8 {
		go func() {
			runtime.LockOSThread()
			started <- struct{}{}
			<-done
		}()
		<-started
	}
	return func() { close(done) }
}

// statuses are the status files of all threads.
func statuses(t *testing.T) (all []string) {
	t.Helper()
	paths, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil { // else it has ended
			all = append(all, string(data))
		}
	}
	if len(all) < 9 {
		t.Fatalf("%d threads", len(all))
	}
	return all
}

// TestAllThreads: busy threads, idle ones, and threads that are started afterwards have lost the rights.
func TestAllThreads(t *testing.T) {
	requireRoot(t)
	confined(t, func(t *testing.T) {
		defer busyThreads()()
		bare, end := make(chan error), make(chan struct{})
		defer close(end)
		go func() { // as the thread that has a user's rights
			bare <- WithOnly(nil, func() error { bare <- nil; <-end; return nil })
		}()
		if err := <-bare; err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(KeepCapabilities(unix.CAP_KILL, unix.CAP_SYS_PTRACE),
			AllowCalls(append(Program(), Reading()...))); err != nil {
			t.Fatal(err)
		}
		defer busyThreads()()
		kept := fmt.Sprintf("%016x\n", 1<<unix.CAP_KILL|1<<unix.CAP_SYS_PTRACE)
		for _, status := range statuses(t) {
			for _, want := range []string{"CapInh:\t0000000000000000\n", "CapPrm:\t" + kept, "CapEff:\t" + kept,
				"CapAmb:\t0000000000000000\n", "NoNewPrivs:\t1\n", "Seccomp:\t2\n"} {
				if !strings.Contains(status, want) {
					t.Errorf("no %q in\n%s", want, status)
				}
			}
		}
	})
}

// TestWithOnly: the function has no other capability in effect, and afterwards they are all there again.
func TestWithOnly(t *testing.T) {
	requireRoot(t)
	before, err := capabilities()
	if err != nil {
		t.Fatal(err)
	}
	var inside sets
	err = WithOnly([]uint{unix.CAP_KILL}, func() (err error) {
		inside, err = capabilities()
		return err
	})
	if err != nil || inside[0].Effective != 1<<unix.CAP_KILL || inside[1].Effective != 0 ||
		inside[0].Permitted != before[0].Permitted {
		t.Errorf("%+v %v", inside, err)
	}
	if after, err := capabilities(); after != before || err != nil {
		t.Errorf("%+v, before %+v: %v", after, before, err)
	}
}

// TestTestsOfArguments: a call is allowed where all tests of one case hold, by either half of an argument.
func TestTestsOfArguments(t *testing.T) {
	confined(t, func(t *testing.T) {
		rules := append(append(Program(), Reading()...),
			// dup3 never does anything here: its arguments are no descriptors, or the same one twice.
			Rule{Call: unix.SYS_DUP3, When: [][]Test{{Is(0, 1000), Is(1, 1000)}, {{2, 1<<40 | 0xf0, 1<<40 | 0x10}}}},
			OneOf(unix.SYS_DUP3, 2, 7), Rule{Call: unix.SYS_MKDIRAT, Refuse: unix.ENOSYS}, Rule{Call: unix.SYS_MKDIRAT},
			Rule{Call: unix.SYS_DUP3, When: [][]Test{{Is(2, 6)}, {Is(2, 5), Is(1, 1)}}, Refuse: unix.EXDEV},
			Rule{Call: unix.SYS_DUP3, When: [][]Test{{Is(2, 4)}}, Refuse: unix.EAGAIN})
		if err := errors.Join(NoNewPrivileges(), AllowCalls(rules)); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			arguments [3]uintptr
			allowed   bool
		}{
			{[3]uintptr{1000, 1000, 0}, true},
			{[3]uintptr{1000 | 1<<32, 1000, 0}, true}, // of an int the kernel looks at the lower half
			{[3]uintptr{1000, 1001, 0}, false},
			{[3]uintptr{1001, 1000, 0}, false},
			{[3]uintptr{0, 0, 1<<40 | 0x1f}, true},
			{[3]uintptr{0, 0, 1<<40 | 0x3f}, false},
			{[3]uintptr{0, 0, 0x1f}, false},
			{[3]uintptr{0, 0, 7}, true},
			{[3]uintptr{0, 0, 8}, false},
		} {
			_, _, errno := unix.RawSyscall(unix.SYS_DUP3, c.arguments[0], c.arguments[1], c.arguments[2])
			if (errno != unix.EPERM) != c.allowed {
				t.Errorf("%#x: %v", c.arguments, errno)
			}
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_MKDIRAT, 0, 0, 0); errno != unix.ENOSYS {
			t.Errorf("refused in all cases: %v", errno)
		}
		for arguments, want := range map[[3]uintptr]unix.Errno{
			{0, 0, 6}: unix.EXDEV, {0, 1, 5}: unix.EXDEV, {0, 2, 5}: unix.EPERM, {1000, 1000, 6}: unix.EXDEV,
			{0, 0, 4}: unix.EAGAIN, {1000, 1000, 4}: unix.EAGAIN,
		} {
			if _, _, errno := unix.RawSyscall(unix.SYS_DUP3, arguments[0], arguments[1], arguments[2]); errno != want {
				t.Errorf("%v: %v, want %v", arguments, errno, want)
			}
		}
		for _, call := range otherNumbers {
			if _, _, errno := unix.RawSyscall(call, 0, 0, 0); errno != unix.EPERM {
				t.Errorf("call %#x, by its other number: %v", call, errno)
			}
		}
	})
}

// TestNoFilter: the error distinguishes a kernel without filters from one that takes none of ours.
func TestNoFilter(t *testing.T) {
	confined(t, func(t *testing.T) {
		if err := errors.Join(NoNewPrivileges(),
			install([]Rule{{Call: unix.SYS_SECCOMP, Refuse: unix.ENOSYS}}, verdict(unix.SECCOMP_RET_ALLOW, 0),
				0)); err != nil {
			t.Fatal(err)
		}
		if err := AllowCalls(Program()); !errors.Is(err, ErrNoFilter) {
			t.Error(err)
		}
	})
}

// TestOnlyPaths: files are made in the folders that were named, through a path that has changed since, and nothing else
// becomes of files.
func TestOnlyPaths(t *testing.T) {
	requireRoot(t)
	if os.Getenv(confinedVariable) == "" {
		t.Setenv("IPYTRACER_TEST_FOLDER", t.TempDir()) // it outlives the process that can remove nothing
	}
	confined(t, func(t *testing.T) {
		dir := os.Getenv("IPYTRACER_TEST_FOLDER")
		inside, old := filepath.Join(dir, "inside"), filepath.Join(dir, "old")
		if err := errors.Join(os.Mkdir(inside, 0o755), os.WriteFile(old, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		open, err := os.OpenFile(old, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(NoNewPrivileges(), OnlyPaths(Paths{Make: []string{inside}}))
		if errors.Is(err, ErrNoLandlock) && os.Getenv("TRACER_REQUIRE_BPF") != "1" {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer busyThreads()()
		if _, err := open.WriteString("x"); err != nil {
			t.Errorf("what is open: %v", err)
		}
		f, err := os.OpenFile(filepath.Join(inside, "new"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			t.Fatalf("a new file: %v", err)
		}
		f.Close()
		for name, try := range map[string]func() error{
			"read":    func() error { _, err := os.ReadFile(old); return err },
			"write":   func() error { _, err := os.OpenFile(old, os.O_WRONLY, 0); return err },
			"list":    func() error { _, err := os.ReadDir(dir); return err },
			"make":    func() error { return os.WriteFile(filepath.Join(dir, "new"), nil, 0o600) },
			"remove":  func() error { return os.Remove(old) },
			"move":    func() error { return os.Rename(old, filepath.Join(inside, "old")) },
			"execute": func() error { return exec.Command("/bin/true").Run() },
		} {
			if err := try(); !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EXDEV) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestNoLandlock: a kernel without Landlock gives its own error.
func TestNoLandlock(t *testing.T) {
	confined(t, func(t *testing.T) {
		err := errors.Join(NoNewPrivileges(),
			install([]Rule{{Call: unix.SYS_LANDLOCK_CREATE_RULESET, Refuse: unix.ENOSYS}},
				verdict(unix.SECCOMP_RET_ALLOW, 0), 0))
		if err != nil {
			t.Fatal(err)
		}
		if err := OnlyPaths(Paths{}); !errors.Is(err, ErrNoLandlock) {
			t.Error(err)
		}
	})
}
