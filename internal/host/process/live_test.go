package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var live = FS{}

func TestOwnProcess(t *testing.T) {
	pid := os.Getpid()
	st, err := live.Proc(pid).Stat()
	if err != nil || st.ParentPID != os.Getppid() || st.Ended() || st.KernelThread() {
		t.Errorf("Stat = %+v, %v", st, err)
	}
	status, err := live.Proc(pid).Status()
	if err != nil || int(status.EUID) != os.Geteuid() || int(status.UID) != os.Getuid() ||
		int(status.EGID) != os.Getegid() {
		t.Errorf("Status = %+v, %v", status, err)
	}
	sum := status.ResidentAnonBytes + status.ResidentFileBytes + status.ResidentShmemBytes
	if sum != status.ResidentBytes || sum == 0 {
		t.Errorf("resident parts add up to %d of %d", sum, status.ResidentBytes)
	}
	if status.DataBytes == 0 || status.DataBytes%int64(os.Getpagesize()) != 0 {
		t.Errorf("VmData %d is no number of pages", status.DataBytes)
	}
	if command, err := live.Proc(pid).Cmdline(); err != nil || !reflect.DeepEqual(command.Args, os.Args) {
		t.Errorf("Cmdline = %q, %v; want %q", command.Args, err, os.Args)
	}
	dir, _ := os.Getwd()
	if cwd, err := live.Proc(pid).Cwd(); err != nil || cwd != dir {
		t.Errorf("Cwd = %q, %v; want %q", cwd, err, dir)
	}
	if name := UserName(0); name != "root" {
		t.Errorf("user 0 is %q", name)
	}
	if name := UserName(3999999999); name != "3999999999" {
		t.Errorf("user 3999999999 is %q", name)
	}
}

func TestOwnMaps(t *testing.T) {
	maps, err := live.Image(os.Getpid()).Maps()
	if err != nil {
		t.Fatal(err)
	}
	code := uint64(reflect.ValueOf(TestOwnMaps).Pointer())
	i := slices.IndexFunc(maps, func(m Mapping) bool { return m.Start <= code && code < m.End })
	if i < 0 || maps[i].Perm&Exec == 0 || maps[i].File.Inode == 0 {
		t.Fatalf("our own code at %#x is in %+v", code, maps)
	}
	f, err := live.Image(os.Getpid()).OpenMapping(maps[i])
	if err != nil {
		t.Fatal(err)
	}
	defer f.File.Close()
	if f.Mapping != maps[i] {
		t.Errorf("opened %+v, want %+v", f.Mapping, maps[i])
	}
	// isFile's second opinion must agree with maps, whatever the file system.
	if id, err := mappedID(f.File.(*os.File)); err != nil || id != maps[i].File {
		t.Errorf("mapped here it is %+v, %v; want %+v", id, err, maps[i].File)
	}
}

func TestThreadIsNoProcess(t *testing.T) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil || len(tasks) < 2 {
		t.Fatalf("%d threads, %v", len(tasks), err)
	}
	for _, task := range tasks {
		tid, _ := strconv.Atoi(task.Name())
		_, err := live.Open(tid)
		var e *Error
		if tid != os.Getpid() && (!errors.As(err, &e) || e.Leader != os.Getpid() || !errors.Is(err, ErrNoProcess)) {
			t.Errorf("Open(thread %d): %v", tid, err)
		}
	}
}

func TestHandleOfAProcess(t *testing.T) {
	c := startPython(t)
	h, err := live.Open(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if exited, err := h.Exited(); exited || err != nil {
		t.Errorf("Exited = %v, %v while it runs", exited, err)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := h.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait until a deadline: %v", err)
	}
	if children, err := live.Children(os.Getpid()); err != nil || !slices.Contains(children, h.Identity()) {
		t.Errorf("Children = %v, %v; want %v in it", children, err, h.Identity())
	}

	c.Process.Kill()
	for range 2 { // several may wait
		if err := h.Wait(t.Context()); err != nil {
			t.Errorf("Wait: %v", err)
		}
	}
	if exited, err := h.Exited(); !exited || err != nil {
		t.Errorf("Exited = %v, %v after it ended", exited, err)
	}
	// Not reaped yet: a zombie.
	if _, err := live.Identity(c.Process.Pid); !errors.Is(err, ErrZombie) {
		t.Errorf("Identity of a zombie: %v", err)
	}
	if spent, err := h.CPUTime(); err != nil || spent <= 0 {
		t.Errorf("CPUTime of a zombie = %v, %v", spent, err)
	}
	if maps, err := live.Image(c.Process.Pid).Maps(); err != nil || len(maps) != 0 {
		t.Errorf("Maps of a zombie: %d, %v", len(maps), err)
	}
	if _, err := live.Image(c.Process.Pid).InterpreterFile(holdsInterpreter); !errors.Is(err, ErrZombie) {
		t.Errorf("InterpreterFile of a zombie: %v", err)
	}
	c.Wait()
	if _, err := h.CPUTime(); !errors.Is(err, ErrNoProcess) {
		t.Errorf("CPUTime after the reaping: %v", err)
	}
	if _, err := live.OpenIdentity(h.Identity()); !errors.Is(err, ErrNoProcess) {
		t.Errorf("OpenIdentity after the reaping: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestHandleClosedWhileWaiting(t *testing.T) {
	h, err := live.Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan error)
	go func() { waited <- h.Wait(context.Background()) }()
	if err := h.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := <-waited; !errors.Is(err, ErrClosed) {
		t.Errorf("Wait: %v, want %v", err, ErrClosed)
	}
	if _, err := h.Exited(); !errors.Is(err, ErrClosed) {
		t.Errorf("Exited: %v, want %v", err, ErrClosed)
	}
	if err := h.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("second Close: %v, want %v", err, ErrClosed)
	}
	select {
	case <-h.Done():
		t.Error("Done says we ended")
	default:
	}
}

func TestRecycledPID(t *testing.T) {
	id, err := live.Identity(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	id.StartTicks-- // whoever had our pid before us
	if _, err := live.OpenIdentity(id); !errors.Is(err, ErrNoProcess) {
		t.Errorf("OpenIdentity: %v, want %v", err, ErrNoProcess)
	}
}

func TestCPUTimeIsExact(t *testing.T) {
	var before, after unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &before); err != nil {
		t.Fatal(err)
	}
	spent, err := CPUTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &after); err != nil {
		t.Fatal(err)
	}
	if spent.Nanoseconds() < before.Nano() || spent.Nanoseconds() > after.Nano() {
		t.Errorf("CPUTime %d is not between %d and %d", spent.Nanoseconds(), before.Nano(), after.Nano())
	}
	for _, pid := range []int{-1, 0, maxPIDs, 1 << 40} {
		if _, err := CPUTime(pid); !errors.Is(err, ErrNoProcess) {
			t.Errorf("CPUTime(%d): %v, want %v", pid, err, ErrNoProcess)
		}
	}
}

// TestProcessesThatVanish reads processes while they come and go.
func TestProcessesThatVanish(t *testing.T) {
	const most = 200
	pids := make(chan int)
	go func() {
		defer close(pids)
		for range most {
			cmd := exec.Command("/bin/true")
			if cmd.Start() != nil {
				return
			}
			pids <- cmd.Process.Pid
			cmd.Wait()
		}
	}()
	count := 0
	for pid := range pids {
		count++
		for _, err := range lookAtAll(pid) {
			if err != nil && !errors.Is(err, ErrNoProcess) && !errors.Is(err, ErrZombie) &&
				!errors.Is(err, ErrNotPython) {
				t.Errorf("a vanishing process: %v", err)
			}
		}
	}
	if count < most {
		t.Errorf("only %d processes seen", count)
	}
}

func lookAtAll(pid int) []error {
	_, err1 := live.Identity(pid)
	_, err2 := live.Image(pid).Maps()
	_, err3 := live.Proc(pid).Status()
	_, err4 := live.Proc(pid).Cmdline()
	_, err5 := live.Proc(pid).Cwd()
	_, err6 := live.Proc(pid).GPUs()
	f, err7 := live.Image(pid).InterpreterFile(holdsInterpreter)
	if err7 == nil {
		f.File.Close()
	}
	h, err8 := live.Open(pid)
	if err8 == nil {
		err8 = h.Close()
	}
	return []error{err1, err2, err3, err4, err5, err6, err7, err8}
}

func TestOwnFacts(t *testing.T) {
	got := live.Facts()
	if !got.OwnProc || got.Kernel == "" || got.EUID != os.Geteuid() {
		t.Errorf("Facts = %+v", got)
	}
	t.Logf("%+v", got)
}
