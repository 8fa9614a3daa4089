package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/process"
	"ipytracer/model"
)

// nobody is the number of a user without any rights.
const nobody = 65534

// nobodysFolder returns a folder that the user nobody can reach and write to.
func nobodysFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, err := range []error{os.Chmod(filepath.Dir(dir), 0o755), os.Chown(dir, nobody, nobody)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// allThreads checks that the status of each thread of a process has the given lines.
func allThreads(t *testing.T, pid int, lines ...string) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(threads) < 2 {
		t.Fatalf("%v: %d threads", err, len(threads))
	}
	for _, path := range threads {
		status, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		for _, want := range lines {
			if !strings.Contains(string(status), want+"\n") {
				t.Errorf("no %q in\n%s", want, status)
			}
		}
	}
}

const noCapability = "0000000000000000"

// nothingMore are the status lines of threads that can gain no right.
var nothingMore = []string{"CapInh:\t" + noCapability, "CapAmb:\t" + noCapability, "NoNewPrivs:\t1", "Seccomp:\t2"}

// started returns the process in which a tracer runs a hidden command of its own.
func started(t *testing.T, pid int, command string) process.Identity {
	t.Helper()
	children, err := process.FS{}.Children(pid)
	if err != nil {
		t.Fatal(err)
	}
	for _, child := range children {
		line, err := process.FS{}.Proc(child.PID).Cmdline()
		if err == nil && slices.Contains(line.Args, command) {
			return child
		}
	}
	t.Fatalf("none of %v is %s", children, command)
	return process.Identity{}
}

// TestPrivilegesAreDropped: when it looks into the target, the tracer runs as the user who typed sudo, without any
// right in any of its threads; its helper can read.
func TestPrivilegesAreDropped(t *testing.T) {
	together(t)
	dir := nobodysFolder(t)
	ready, out := filepath.Join(dir, "ready"), filepath.Join(dir, "report")
	pid, run := startCell(t, "pass")
	cmd := exec.Command(binary, "attach", "--format", "json", "--ready-file", ready, "-o", out, fmt.Sprint(pid))
	cmd.Env = append(os.Environ(), fmt.Sprintf("SUDO_UID=%d", nobody), fmt.Sprintf("SUDO_GID=%d", nobody))
	stderr := startReady(t, cmd, ready)
	ids := strings.Repeat(fmt.Sprintf("\t%d", nobody), 4)
	allThreads(t, cmd.Process.Pid, append(slices.Clip(nothingMore), "Uid:"+ids, "Gid:"+ids, "Groups:\t ",
		"CapPrm:\t"+noCapability, "CapEff:\t"+noCapability)...)
	small := fmt.Sprintf("%016x", 1<<unix.CAP_DAC_READ_SEARCH|1<<unix.CAP_SYS_PTRACE|1<<unix.CAP_CHECKPOINT_RESTORE|
		1<<unix.CAP_SYS_NICE)
	allThreads(t, started(t, cmd.Process.Pid, process.HelperCommand).PID,
		append(slices.Clip(nothingMore), "CapPrm:\t"+small)...)
	if err := run(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	var st unix.Stat_t
	if err := unix.Stat(out, &st); err != nil || st.Uid != nobody || st.Size == 0 {
		t.Errorf("the report: %v, of %d, %d bytes", err, st.Uid, st.Size)
	}
	complete(t, out, pid)
}

// startReady starts a tracer and waits for its ready file.
func startReady(t *testing.T, cmd *exec.Cmd, ready string) *bytes.Buffer {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	isReady := false
	until(t, "ready, or ended", func() bool {
		_, err := os.Stat(ready)
		isReady = err == nil
		return isReady || hasEnded(cmd.Process.Pid)
	})
	if !isReady {
		_ = cmd.Wait()
		t.Fatalf("not ready: %s", stderr.String())
	}
	return &stderr
}

// hasEnded reports whether a child has ended and waits for wait(2).
func hasEnded(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || bytes.Contains(data, []byte(") Z "))
}

// complete checks that a report has a cell, and misses nothing. It returns the report.
func complete(t *testing.T, path string, pid int) *model.Report {
	t.Helper()
	r := readReport(t, path)
	if cells := topCells(r, pid); !r.Certificate.Complete || len(cells) == 0 {
		t.Errorf("%d cells; %+v", len(cells), r.Certificate)
	}
	return r
}

// TestReportIsSecluded: while it reads a recording, the program runs as the user who typed the command, without any
// right.
func TestReportIsSecluded(t *testing.T) {
	together(t)
	pipe := filepath.Join(nobodysFolder(t), "recording")
	if err := unix.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if err := os.Chown(pipe, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(filepath.Dir(pipe), "report")
	cmd := exec.Command(binary, "report", "-o", out, pipe)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SUDO_UID=%d", nobody), fmt.Sprintf("SUDO_GID=%d", nobody))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	until(t, "secluded, or ended", func() bool { return secluded(cmd.Process.Pid) || hasEnded(cmd.Process.Pid) })
	if hasEnded(cmd.Process.Pid) {
		t.Fatal("it did not wait for the recording")
	}
	allThreads(t, cmd.Process.Pid, append(slices.Clip(nothingMore),
		strings.ReplaceAll("Uid: n n n n", " n", fmt.Sprintf("\t%d", nobody)),
		strings.ReplaceAll("Gid: n n n n", " n", fmt.Sprintf("\t%d", nobody)), "CapPrm:\t"+noCapability,
		"CapEff:\t"+noCapability)...)
	recording, err := os.ReadFile("../testdata/recording/format6.arrows")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write(recording); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(out, &st); err != nil || st.Uid != nobody || st.Size == 0 {
		t.Errorf("the report: %v, of %d, %d bytes", err, st.Uid, st.Size)
	}
}

func secluded(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && bytes.Contains(data, []byte("Seccomp:\t2\n"))
}

// unitsCapabilities returns the capabilities of a unit of scripts/packaging, in the names of setpriv(1).
func unitsCapabilities(t *testing.T, name string) []string {
	t.Helper()
	unit, err := os.ReadFile("../scripts/packaging/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(unit)) {
		if names, ok := strings.CutPrefix(line, "AmbientCapabilities="); ok {
			return strings.Fields(strings.ToLower(strings.ReplaceAll(names, "CAP_", "")))
		}
	}
	t.Fatal("the unit names no capabilities")
	return nil
}

// TestSmallestCapabilities traces another user's kernel with the capabilities that the unit and docs/confined.md name,
// for a user who is not root. Without any of the first four it fails.
func TestSmallestCapabilities(t *testing.T) {
	together(t)
	all := unitsCapabilities(t, "ipytracer@.service")
	if len(all) != 5 {
		t.Fatalf("%v", all)
	}
	dir := nobodysFolder(t)
	for i := range 5 {
		ready, out := filepath.Join(dir, fmt.Sprint("ready", i)), filepath.Join(dir, fmt.Sprint("report", i))
		pid, run := startCell(t, "pass")
		some := all
		if i < 4 {
			some = slices.Delete(slices.Clone(all), i, i+1)
		}
		set := "-all,+" + strings.Join(some, ",+")
		cmd := exec.Command("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs",
			"--bounding-set="+set, "--inh-caps="+set,
			"--ambient-caps="+set, binary, "attach", "--format", "json", "--ready-file", ready, "-o", out,
			fmt.Sprint(pid))
		if i < 4 {
			text, err := cmd.CombinedOutput()
			if status := exitStatus(t, err); status != 3 {
				t.Errorf("without %s: status %d: %s", all[i], status, text)
			}
			continue
		}
		stderr := startReady(t, cmd, ready)
		if err := run(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatalf("with %v: %v: %s", all, err, stderr)
		}
		complete(t, out, pid)
	}
}

// TestHiddenProcesses: where /proc hides other users' processes from a user (hidepid), that user's tracer sees all that
// it traces, including earlier children.
func TestHiddenProcesses(t *testing.T) {
	together(t)
	dir := nobodysFolder(t)
	ready, out := filepath.Join(dir, "ready"), filepath.Join(dir, "report")
	s := startCells(t, nil,
		"import os, time\nparent = os.getpid()\nif os.fork() == 0:\n"+
			"    while os.getppid() == parent: time.sleep(0.01); x = bytearray(1 << 22)\n"+
			"    os._exit(0)", "time.sleep(0.3); y = bytearray(1 << 22)")
	cmd := exec.Command("unshare", "--mount", "sh", "-c",
		`mount -t proc -o hidepid=invisible proc /proc && exec "$0" "$@"`,
		binary, "attach", "--format", "json", "--ready-file", ready, "-o", out, fmt.Sprint(s.cmd.Process.Pid))
	cmd.Env = append(os.Environ(), fmt.Sprintf("SUDO_UID=%d", nobody), fmt.Sprintf("SUDO_GID=%d", nobody))
	stderr := startReady(t, cmd, ready)
	if _, err := io.WriteString(s.in, "go\n"); err != nil {
		t.Fatal(err)
	}
	s.says("done!\n")
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	r := complete(t, out, s.cmd.Process.Pid)
	if cells := topCells(r, s.cmd.Process.Pid); len(cells) != 1 || len(cells[0].Children) != 1 {
		t.Errorf("%+v", cells)
	}
}

// TestHelperEnds kills the session's helper. The report misses everything that the session cannot open any more, and
// says so. Open files stay usable.
func TestHelperEnds(t *testing.T) {
	together(t)
	s := startCells(t, nil, "import subprocess, sys", "x = bytearray(1 << 22)",
		"subprocess.run([sys.executable, '-c', 'import time; time.sleep(0.5)'])")
	tr := attach(t, s.cmd.Process.Pid, "--strict")
	if err := unix.Kill(started(t, tr.cmd.Process.Pid, process.HelperCommand).PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(s.in, "go\n"); err != nil {
		t.Fatal(err)
	}
	s.says("done!\n")
	_ = tr.cmd.Process.Signal(os.Interrupt)
	r, _ := tr.wait(4)
	if cells := topCells(r, s.cmd.Process.Pid); len(cells) != 2 || cells[0].Source == "" ||
		cells[0].Meters["cpu.resident"].Need() < 1<<22 {
		t.Errorf("%+v", cells)
	}
	if r.Certificate.Complete || !strings.Contains(strings.Join(r.Certificate.Problems, "\n"), "has ended") {
		t.Errorf("%+v", r.Certificate)
	}
}

// TestSignalIsPassedOn ends the tracer by a signal. The signal reaches a command that has become another user's, to
// which the tracer itself may not send signals.
func TestSignalIsPassedOn(t *testing.T) {
	together(t)
	ready := filepath.Join(t.TempDir(), "ready")
	cmd := exec.Command(binary, "run", "-q", "--ready-file", ready, "--", "setpriv", "--reuid=12345", "--clear-groups",
		"sleep", "60")
	cmd.Env = append(os.Environ(), "SUDO_UID=", "SUDO_GID=")
	startReady(t, cmd, ready)
	status := fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)
	if data, err := os.ReadFile(status); err != nil || !strings.Contains(string(data), "CapEff:\t"+noCapability) {
		t.Fatalf("%v: %s", err, data)
	}
	// Waits until the command runs as that user.
	until(t, "the command has become another user's", func() bool { return runsAs(cmd.Process.Pid, 12345) })
	if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := exitStatus(t, cmd.Wait()); status != 128+int(unix.SIGTERM) {
		t.Errorf("status %d", status)
	}
}

// runsAs reports whether a process has a child of a user.
func runsAs(pid int, uid uint32) bool {
	children, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, path := range children {
		data, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(data), fmt.Sprintf("\nPPid:\t%d\n", pid)) &&
			strings.Contains(string(data), fmt.Sprintf("\nUid:\t%d\t", uid)) {
			return true
		}
	}
	return false
}
