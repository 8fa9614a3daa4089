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

	"ipytracer/internal/hostile"
)

// TestLastRan asks about this process, which runs, and about one that sleeps, while each processor's clock goes on.
func TestLastRan(t *testing.T) {
	started, asleep := time.Now(), exec.Command("sleep", "600")
	if err := asleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = asleep.Process.Kill(); _ = asleep.Wait() }()
	if _, ok := (FS{}).Proc(os.Getpid()).LastRan(); !ok {
		t.Skip("this kernel does not tell")
	}
	clocks := map[int]time.Duration{}
	began := time.Now()
	for cpu := range runtime.NumCPU() {
		clocks[cpu], _ = (FS{}).clockOf(cpu)
	}
	hostile.Await(t, asleep.Process.Pid, "it has slept for 2 s", func() bool {
		ago, ok := (FS{}).Proc(asleep.Process.Pid).LastRan()
		if passed := time.Since(started); !ok || ago > passed {
			t.Fatalf("a process that began %v ago: %v %v", passed, ago, ok)
		}
		return ago > 2*time.Second
	})
	for cpu, first := range clocks { // the times of processes on different processors are each of one clock
		now, ok := (FS{}).clockOf(cpu)
		if passed := now - first; !ok || passed < time.Second/10 || passed > time.Since(began) {
			t.Errorf("processor %d: %v and %v, %v after %v", cpu, first, now, ok, time.Since(began))
		}
	}
}

// TestClockLeavesThreads: the thread that asks for a processor's clock may run where it could run before.
func TestClockLeavesThreads(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var usual unix.CPUSet
	if err := unix.SchedGetaffinity(0, &usual); err != nil {
		t.Fatal(err)
	}
	for cpu := range runtime.NumCPU() {
		if _, ok := (FS{}).clockOf(cpu); !ok {
			t.Errorf("processor %d has no clock", cpu)
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
