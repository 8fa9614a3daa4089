package ledger

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// TestBirths: a Python that any process executes is noted with its pid and arguments, other programs are not. What was
// overwritten counts as missed. Without the option nothing is noted.
func TestBirths(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	run := func(program string, arguments ...string) (pid int) {
		t.Helper()
		c := exec.Command(program, arguments...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return c.Process.Pid
	}
	l := load(t, Options{Births: true})
	silent := load(t, Options{})
	pid := run(python, "-c", "pass", "-m ipykernel")
	run("/bin/true")
	found := false
	list, missed, err := l.Births.Next()
	for _, b := range list {
		found = found || b.PID == pid && b.Started > 0 &&
			bytes.HasSuffix(b.Arguments, []byte("\x00-c\x00pass\x00-m ipykernel\x00"))
		if b.PID == os.Getpid() {
			t.Error("this process counts as born")
		}
	}
	if err != nil || !found {
		t.Errorf("%d births, %d missed, %v", len(list), missed, err)
	}
	if list, missed, err := silent.Births.Next(); len(list) > 0 || missed > 0 || err != nil {
		t.Errorf("without the option: %v, %d, %v", list, missed, err)
	}
	size := uint64(l.objects.Births.MaxEntries())
	if err := l.objects.Born.Set(l.Births.seen + 3*size); err != nil {
		t.Fatal(err)
	}
	all := uint64(0)
	for range 2 { // at the first call they may still be being written
		list, missed, err := l.Births.Next()
		if err != nil || slices.ContainsFunc(list, func(b Birth) bool { return b.PID == pid }) {
			t.Errorf("after an overflow: %d births, %v", len(list), err)
		}
		all += missed
	}
	if all < 3*size {
		t.Errorf("after an overflow: %d missed", all)
	}
	read := false
	for range 100 { // other programs execute Pythons, too
		if read = !l.Births.Unread(); read {
			break
		}
		if _, _, err := l.Births.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if !read {
		t.Error("there are always more births")
	}
	pid = run(python, "-c", "pass")
	if !l.Births.Unread() {
		t.Error("there is no birth to read")
	}
	list, _, err = l.Births.Next()
	if err != nil || !slices.ContainsFunc(list, func(b Birth) bool { return b.PID == pid }) {
		t.Errorf("after the overflow: %v, %v", list, err)
	}
}

// TestForkedBirths: the fork of a Python is noted as such, with its parent's arguments, and a reader that waits wakes
// up. The fork of another program is not noted.
func TestForkedBirths(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	l := load(t, Options{Births: true})
	out, err := exec.Command(python, "-c", `
import os
child = os.fork()
if child:
    os.waitpid(child, 0)
    print(child)
`).Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("sh", "-c", "(true); true").Run(); err != nil {
		t.Fatal(err)
	}
	forks := []string{}
	list, _, err := l.Births.Next()
	for _, b := range list {
		if b.Forked && bytes.Contains(b.Arguments, []byte("child = os.fork()")) {
			forks = append(forks, fmt.Sprintln(b.PID))
		} else if b.Forked && !bytes.Contains(b.Arguments, []byte("python")) {
			t.Errorf("a fork of %q", b.Arguments)
		}
	}
	if err != nil || !slices.Equal(forks, []string{string(out)}) {
		t.Errorf("forks %q, want %q; %v", forks, out, err)
	}
	before := l.Stream.Received()
	if err := l.Stream.Poll(time.Now().Add(time.Minute), &collected{}); err != nil || l.Stream.Received() == before {
		t.Errorf("no birth wakes the reader: %v", err)
	}
}
