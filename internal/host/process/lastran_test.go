package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLastRan asks about this process, which runs, and about one that sleeps.
func TestLastRan(t *testing.T) {
	asleep := exec.Command("sleep", "600")
	if err := asleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = asleep.Process.Kill(); _ = asleep.Wait() }()
	if _, ok := (FS{}).Proc(os.Getpid()).LastRan(); !ok {
		t.Skip("this kernel does not tell")
	}
	time.Sleep(3 * time.Second)
	if ago, ok := (FS{}).Proc(asleep.Process.Pid).LastRan(); !ok || ago < 2*time.Second || ago > time.Minute {
		t.Errorf("a process that sleeps for 3 s: %v %v", ago, ok)
	}
}

// TestLastRanByOneClock: the times of processes on different processors are each of their own processor's clock, and
// the thread that asks may run where it could run before.
func TestLastRanByOneClock(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var usual unix.CPUSet
	if err := unix.SchedGetaffinity(0, &usual); err != nil {
		t.Fatal(err)
	}
	for cpu := range runtime.NumCPU() {
		began := time.Now()
		first, ok := (FS{}).clockOf(cpu)
		time.Sleep(time.Second)
		second, known := (FS{}).clockOf(cpu)
		if passed := second - first; !ok || !known || passed < time.Second/10 || passed > time.Since(began) {
			t.Errorf("processor %d: %v and %v, %v after %v", cpu, first, second, ok && known, time.Since(began))
		}
	}
	var now unix.CPUSet
	if err := unix.SchedGetaffinity(0, &now); err != nil || now != usual {
		t.Errorf("may run on %v, before on %v (%v)", now, usual, err)
	}
	if _, ok := (FS{}).clockOf(1 << 20); ok {
		t.Error("a processor that is not there has a clock")
	}
}

// TestLastRanReads: a name that looks like the line is not taken for it, and other texts are no time.
func TestLastRanReads(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"python3 (7, #threads: 1)\n---\nse.exec_start   :     1500.250000\n": 1500250 * time.Microsecond,
		"x\nse.exec_start (7, #threads: 1)\nse.exec_start : 2.0\n":           2 * time.Millisecond,
		"se.exec_start : NaN\n": 0, "se.exec_start : -5\n": 0, "se.exec_start : 1e300\n": 0, "": 0,
		strings.Repeat("x", 2*maxStat) + "\nse.exec_start : 1.0\n": 0,
	} {
		root := t.TempDir()
		if err := os.Mkdir(filepath.Join(root, "7"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "7", "sched"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, ok := FS{Root: root}.Proc(7).lastRun()
		if ok != (want != 0) || ok && got != want {
			t.Errorf("%.40q: %v %v, want %v", text, got, ok, want)
		}
	}
}
