package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
	var spent int
	for began := time.Now(); time.Since(began) < 100*time.Millisecond; spent++ {
	}
	if ago, ok := (FS{}).Proc(asleep.Process.Pid).LastRan(); !ok || ago < time.Second || ago > time.Minute {
		t.Errorf("a process that sleeps for 3 s: %v %v (after %d turns)", ago, ok, spent)
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
