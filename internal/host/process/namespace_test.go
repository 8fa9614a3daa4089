package process

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/commandline"
)

func TestInterpreterFile(t *testing.T) {
	c := startPython(t)
	f, err := live.Image(c.Process.Pid).InterpreterFile(holdsInterpreter)
	if err != nil {
		t.Fatal(err)
	}
	defer f.File.Close()
	if base := filepath.Base(f.Mapping.Path); !strings.HasPrefix(base, "python3.") &&
		!strings.HasPrefix(base, "libpython3.") {
		t.Errorf("the interpreter is in %q", f.Mapping.Path)
	}
	if f.Mapping.Perm&Exec == 0 || f.Mapping.Deleted {
		t.Errorf("the interpreter is %+v", f.Mapping)
	}
	if os.Geteuid() == 0 && f.Route != ByMapFiles {
		t.Errorf("opened by %s, want %s", f.Route, ByMapFiles)
	}
	if _, err := live.Image(os.Getpid()).InterpreterFile(holdsInterpreter); !errors.Is(err, ErrNotPython) {
		t.Errorf("we are Python: %v", err)
	}
}

// TestDeletedInterpreter: the interpreter's file is deleted, as a package upgrade does to a running kernel.
func TestDeletedInterpreter(t *testing.T) {
	needRoot(t)
	needPython(t)
	private := filepath.Join(t.TempDir(), "python3")
	copyFile(t, python, private)
	c := start(t, exec.Command(private, "-S", "-c", program))
	if err := os.Remove(private); err != nil {
		t.Fatal(err)
	}
	copyFile(t, "/bin/true", private)
	f, err := live.Image(c.Process.Pid).InterpreterFile(holdsInterpreter)
	if err != nil {
		t.Fatal(err)
	}
	defer f.File.Close()
	if !f.Mapping.Deleted || f.Mapping.Path != private {
		t.Errorf("the interpreter is %+v, want %s, deleted", f.Mapping, private)
	}
	probed(t, c, c.Process.Pid, f)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o755); err != nil {
		t.Fatal(err)
	}
}

// containers start Python, as process 1 of its own pid namespace, from a file that exists in its own mount namespace
// only. $1 is a directory for the root, $2 the interpreter to copy, $3 the code to run.
var containers = []struct {
	name, prepare, enter string
	insideRoot           bool // the kernel names files as the process itself sees them
}{
	{"chroot", tmpfsRoot, `exec chroot . /private/python3`, false},
	{"pivot_root", tmpfsRoot, pivot, true},
	{"overlay", overlayRoot, pivot, true},
}

const (
	tmpfsRoot = `mount -t tmpfs none "$1"; mkdir "$1/private"; cp "$2" "$1/private/python3"; cd "$1"`
	// Layers on two file systems: stat(2) shows another device for these files than maps does.
	overlayRoot = `mkdir -p "$1/low/private" "$1/top"; cp "$2" "$1/low/private/python3"; cd "$1/top"
		mount -t tmpfs none .; cd "$1/top"; ln -s ../low low; mkdir up work all
		mount -t overlay none -o lowerdir=low,upperdir=up,workdir=work all; cd all`
	furnish = `mkdir usr proc; mount --rbind /usr usr; mount -t proc proc proc
		ln -s usr/lib lib; ln -s usr/lib64 lib64`
	pivot = `pivot_root . .; umount -l .; exec /private/python3`
)

func TestContainers(t *testing.T) {
	needRoot(t)
	needPython(t)
	for _, tt := range containers {
		t.Run(tt.name, func(t *testing.T) {
			script := "set -e\n" + tt.prepare + "\n" + furnish + "\n" + tt.enter + ` -S -c "$3"`
			c := start(t, exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script,
				"sh", t.TempDir(), python, program))
			children, err := live.Children(c.Process.Pid)
			if err != nil || len(children) != 1 {
				t.Fatalf("unshare has children %v, %v", children, err)
			}
			pid := children[0].PID
			status, err := live.Proc(pid).Status()
			if err != nil || !slices.Equal(status.NSPIDs, []int{pid, 1}) {
				t.Errorf("NSpid %v, %v", status.NSPIDs, err)
			}
			f, err := live.Image(pid).InterpreterFile(holdsInterpreter)
			if err != nil {
				t.Fatal(err)
			}
			defer f.File.Close()
			inside := f.Mapping.Path == "/private/python3"
			if inside != tt.insideRoot || f.Mapping.Deleted || f.Route != ByMapFiles {
				t.Errorf("the interpreter is %+v by %s", f.Mapping, f.Route)
			}
			probed(t, c, pid, f)
			checkRoute(t, ByExe, f.Mapping, func() (int, error) { return openPath(live.Proc(pid).path("exe")) })
			if inside {
				checkRoute(t, ByRoot, f.Mapping, func() (int, error) {
					return live.Image(pid).openBelowRoot(f.Mapping.Path)
				})
			}

			all, err := live.Pythons(t.Context(), isInterpreter)
			i := slices.IndexFunc(all.Pythons, func(p Python) bool { return p.PID == pid })
			if err != nil || i < 0 || all.Pythons[i].NamespacePID != 1 {
				t.Errorf("Pythons: %d of %+v, %v", i, all.Pythons, err)
			}
		})
	}
}

// checkRoute asks that a route of the less privileged leads to the same file.
func checkRoute(t *testing.T, name Route, m Mapping, find func() (int, error)) {
	t.Helper()
	f, _, err := openFound(find, m)
	if err != nil {
		t.Errorf("by %s: %v", name, err)
		return
	}
	f.Close()
}

// probed puts a uprobe into the file by its ProbePath, and wants the kernel to count exactly the process's runs.
func probed(t *testing.T, c *child, pid int, f *MappedFile) {
	t.Helper()
	kind, err := os.ReadFile("/sys/bus/event_source/devices/uprobe/type")
	need(t, err == nil, "needs uprobes")
	number, err := strconv.ParseUint(strings.TrimSpace(string(kind)), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	offset, ok := evalCode(f.File)
	if !ok {
		t.Fatal("no PyEval_EvalCode")
	}
	path, err := unix.BytePtrFromString(f.ProbePath())
	if err != nil {
		t.Fatal(err)
	}
	attr := unix.PerfEventAttr{
		Type: uint32(number), Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Ext1: uint64(uintptr(unsafe.Pointer(path))), Ext2: offset,
	}
	fd, err := unix.PerfEventOpen(&attr, pid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		t.Fatalf("uprobe on %s: %v", f.ProbePath(), err)
	}
	defer unix.Close(fd)
	for range 3 {
		c.evaluate("1")
	}
	var count [8]byte
	if _, err := unix.Read(fd, count[:]); err != nil {
		t.Fatal(err)
	}
	if n := binary.NativeEndian.Uint64(count[:]); n != 3 {
		t.Errorf("the probe on PyEval_EvalCode counted %d, want 3", n)
	}
}

func TestPythons(t *testing.T) {
	c := startPython(t, "-m", "ipykernel_launcher") // the program's own arguments: no kernel
	script := filepath.Join(t.TempDir(), "ipykernel_launcher.py")
	write(t, script, program)
	needPython(t)
	k := start(t, exec.Command(python, "-S", script, "-f", "/run/kernel-v2-1.json"))

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	all, err := live.Pythons(ctx, isInterpreter)
	if err != nil {
		t.Fatal(err)
	}
	for pid, want := range map[int]commandline.Kind{c.Process.Pid: commandline.Script,
		k.Process.Pid: commandline.Kernel} {
		i := slices.IndexFunc(all.Pythons, func(p Python) bool { return p.PID == pid })
		if i < 0 {
			t.Errorf("process %d is not among %+v", pid, all.Pythons)
			continue
		}
		p := all.Pythons[i]
		if p.Kind != want || p.Threads != 1 || p.ResidentBytes < 1<<20 || p.ParentPID != os.Getpid() ||
			p.User != UserName(uint32(os.Getuid())) {
			t.Errorf("process %d is %+v", pid, p)
		}
		if want == commandline.Kernel && (p.Frontend != "VS Code" || p.ConnectionFile != "/run/kernel-v2-1.json") {
			t.Errorf("front end %q, connection file %q", p.Frontend, p.ConnectionFile)
		}
	}
	if !slices.IsSortedFunc(all.Pythons, func(a, b Python) int { return a.PID - b.PID }) {
		t.Error("not sorted by pid")
	}
	cancel()
	if _, err := live.Pythons(ctx, isInterpreter); !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled context: %v", err)
	}
}

func BenchmarkPythons(b *testing.B) {
	for b.Loop() {
		if _, err := live.Pythons(b.Context(), isInterpreter); err != nil {
			b.Fatal(err)
		}
	}
}
