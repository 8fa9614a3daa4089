package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// checks runs `tracer audit --check`. It returns the standard output, the sentence on standard error, and the exit
// status.
func checks(t *testing.T, args ...string) (out, says string, status int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(binary, append([]string{"audit", "--check"}, args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	_ = cmd.Run()
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// TestCheckRecording follows the advice of a recorded session, one entry after another, and checks in a shell the
// number of bytes that came back.
func TestCheckRecording(t *testing.T) {
	together(t)
	w := startWorkload(t, place{driver: "run_freed.py"}, []string{"outputs"})
	file := filepath.Join(t.TempDir(), "run.arrows")
	first := attach(t, w.pid, "--budget", "off", "--record", file)
	w.run()
	r, _ := first.stop()
	if len(r.ToFree) < 3 {
		t.Fatalf("to free: %+v", r.ToFree)
	}
	for typed := range len(r.ToFree) + 1 {
		if typed > 0 {
			w.again(r.ToFree[typed-1].Type)
		}
		out, says, status := checks(t, "--format", "json", file)
		if err := reporttest.CheckCheck([]byte(out)); err != nil || status != 0 || says != "" {
			t.Fatalf("%v, status %d, %q: %s", err, status, says, out)
		}
		var k model.Check
		if err := json.Unmarshal([]byte(out), &k); err != nil {
			t.Fatal(err)
		}
		if len(k.Checked) != len(r.ToFree) || len(k.Processes) != 1 || k.Processes[0].PID != w.pid {
			t.Fatalf("%+v", k)
		}
		for i, c := range k.Checked {
			f := r.ToFree[i]
			all, nothing := c.IsBack()
			if c.Type != f.Type || c.Predicted != f.Falls() || all != (i < typed) || nothing != (i >= typed) {
				t.Errorf("after %d of %d were typed: %+v, predicted by the session: %+v", typed, len(r.ToFree), c, f)
			}
		}
	}
	text, _, _ := checks(t, file)
	if strings.Contains(text, "is there still") ||
		!regexp.MustCompile(`(?m)^ +40\.00 MiB +40\.00 MiB  del plain$`).MatchString(text) {
		t.Errorf("all was typed:\n%s", text)
	}
}

// waiting is a check of a process that waits until some code has been typed.
type waiting struct {
	cmd    *exec.Cmd
	enter  io.WriteCloser
	out    bytes.Buffer
	words  *bufio.Scanner // what else it says
	listed string         // the code that it said to type
}

func startCheck(t *testing.T, args ...string) *waiting {
	t.Helper()
	c := &waiting{cmd: exec.Command(binary, append([]string{"audit", "--check"}, args...)...)}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.cmd.Stdout = &c.out
	in, err1 := c.cmd.StdinPipe()
	words, err2 := c.cmd.StderrPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	c.enter = in
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	for c.words = bufio.NewScanner(words); c.words.Scan(); {
		c.listed += c.words.Text() + "\n"
		if strings.Contains(c.words.Text(), "press Enter") {
			return c
		}
	}
	t.Fatalf("it does not wait:\n%s", c.listed)
	return nil
}

func (c *waiting) ends(t *testing.T) string {
	t.Helper()
	if status, said := c.result(); status != 0 {
		t.Errorf("status %d:\n%s\n%s", status, c.listed, said)
	}
	return c.out.String()
}

// result waits until the command ends, and returns its exit status and its whole output.
func (c *waiting) result() (status int, said string) {
	for c.words.Scan() {
		said += c.words.Text() + "\n"
	}
	_ = c.cmd.Wait()
	return c.cmd.ProcessState.ExitCode(), said + c.out.String()
}

// TestCheckProcess runs the command without a recording. It prints the advice, waits, and reports the bytes that came
// back: after Enter, after Ctrl-C, after its time.
func TestCheckProcess(t *testing.T) {
	together(t)
	w := startWorkload(t, place{driver: "run_freed.py"}, []string{"outputs"})
	w.run()
	pid := fmt.Sprint(w.pid)
	typed := map[string]func(*waiting){
		"del plain":  func(c *waiting) { _, _ = io.WriteString(c.enter, "\n") },
		"%xdel _5":   func(c *waiting) { _ = c.cmd.Process.Signal(os.Interrupt) },
		"del top, a": func(*waiting) {},
	}
	for _, code := range []string{"del plain", "%xdel _5", "del top, a"} {
		var args []string
		if code == "del top, a" {
			args = []string{"--duration", "15s"}
		}
		c := startCheck(t, append(args, pid)...)
		found := regexp.MustCompile(`(?m)^ +([\d.]+ MiB)  (` + regexp.QuoteMeta(code) +
			`.*)$`).FindStringSubmatch(c.listed)
		if found == nil {
			t.Fatalf("no %q in\n%s", code, c.listed)
		}
		w.again(found[2])
		typed[code](c)
		out := c.ends(t)
		if !regexp.MustCompile(`(?m)^ +` + found[1] + ` +` + found[1] + `  ` + regexp.QuoteMeta(found[2]) +
			`$`).MatchString(out) {
			t.Errorf("%q was typed:\n%s", found[2], out)
		}
		if code == "del plain" &&
			!regexp.MustCompile(`(?m)^ +96\.00 MiB +0 B  del top, arr.*is there still$`).MatchString(out) {
			t.Errorf("the rest is there still:\n%s", out)
		}
	}
	out, says, status := checks(t, "--quiet", pid) // standard input is empty
	if status != 0 || says != "" || !strings.Contains(out, "No name of the notebook holds 1 MiB") {
		t.Errorf("nothing is left: status %d, %q\n%s", status, says, out)
	}
}

// TestCheckRefuses checks that one sentence is printed where nothing can be checked, with the status of wrong usage or
// of a failure.
func TestCheckRefuses(t *testing.T) {
	together(t)
	w := startWorkload(t, place{driver: "run_freed.py"}, []string{"aliases"})
	dir := t.TempDir()
	file := filepath.Join(dir, "run.arrows")
	first := attach(t, w.pid, "--budget", "off", "--record", file)
	w.run()
	first.stop()
	garbage, audit := filepath.Join(dir, "garbage"), filepath.Join(dir, "audit.json")
	for name, text := range map[string]string{garbage: strings.Repeat("\x00\xff", 5000), audit: "{}\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{garbage}, 1, "not an ipytracer recording"},
		{[]string{audit}, 1, "--check takes what --record has written"},
		{[]string{filepath.Join(dir, "none")}, 1, "no such file"},
		{[]string{"0"}, 2, "not a process id"},
		{[]string{"99999999"}, 2, "no process 99999999"},
		{[]string{"1", "2"}, 2, "arg"},
		{[]string{"--fail-over", "1MiB", fmt.Sprint(w.pid)}, 2, "--fail-over does not go with it"},
		{[]string{"--record", "x", fmt.Sprint(w.pid)}, 2, "--record does not go with it"},
		{[]string{"--format", "html", fmt.Sprint(w.pid)}, 2, "--format"},
		{[]string{"--duration", "1s", file}, 2, "--duration goes with"},
	} {
		out, says, status := checks(t, c.args...)
		if status != c.status || out != "" || strings.Count(says, "\n") != 1 || !strings.Contains(says, c.says) {
			t.Errorf("%q: status %d, want %d; says %q; prints %q", c.args, status, c.status, says, out)
		}
	}
	if err := syscall.Kill(w.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "the process has ended", func() bool { return hasEnded(w.pid) })
	out, says, status := checks(t, file)
	if status != 2 || out != "" || !strings.Contains(says, "has ended: its memory has come back") {
		t.Errorf("its process has ended: status %d, says %q; prints %q", status, says, out)
	}
}
