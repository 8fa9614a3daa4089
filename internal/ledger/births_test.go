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

// runs runs a program to its end, and returns its pid.
func runs(t *testing.T, program string, arguments ...string) (pid int) {
	t.Helper()
	c := exec.Command(program, arguments...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return c.Process.Pid
}

// bornAs reports whether a process is among births.
func bornAs(list []Birth, pid int) bool {
	return slices.ContainsFunc(list, func(b Birth) bool { return b.PID == pid })
}

// TestBirths: a Python that any process executes is noted with its pid and arguments, other programs are not. Without
// the option nothing is noted.
func TestBirths(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	l := load(t, Options{Births: true})
	silent := load(t, Options{})
	pid := runs(t, python, "-c", "pass", "-m ipykernel")
	other := runs(t, "/bin/true")
	found := false
	list, missed, err := l.Births.Next()
	for _, b := range list {
		found = found || b.PID == pid && b.Started > 0 &&
			bytes.HasSuffix(b.Arguments, []byte("\x00-c\x00pass\x00-m ipykernel\x00"))
	}
	if err != nil || !found || bornAs(list, os.Getpid()) || bornAs(list, other) {
		t.Errorf("%d births, %d missed, %v", len(list), missed, err)
	}
	if list, missed, err := silent.Births.Next(); len(list) > 0 || missed > 0 || err != nil {
		t.Errorf("without the option: %v, %d, %v", list, missed, err)
	}
}

// TestMissedBirths: what was overwritten counts as missed, and births after that are read.
func TestMissedBirths(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	l := load(t, Options{Births: true})
	size, all := uint64(l.objects.Births.MaxEntries()), uint64(0)
	if err := l.objects.Born.Set(l.Births.seen + 3*size); err != nil {
		t.Fatal(err)
	}
	// At the first call they may still be being written, and other programs execute Pythons, too.
	for range 100 {
		_, missed, err := l.Births.Next()
		if err != nil {
			t.Fatal(err)
		}
		if all += missed; all >= 3*size && !l.Births.Unread() {
			break
		}
	}
	if all < 3*size || l.Births.Unread() {
		t.Errorf("%d were missed of %d, and there are more: %v", all, 3*size, l.Births.Unread())
	}
	pid := runs(t, python, "-c", "pass")
	if !l.Births.Unread() {
		t.Error("there is no birth to read")
	}
	if list, _, err := l.Births.Next(); err != nil || !bornAs(list, pid) {
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

// TestManyBirths: a program that forks Pythons without end wakes the reader up twice a second at most.
func TestManyBirths(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	const forks, rest = 300, 500 * time.Millisecond
	began := time.Now()
	l := load(t, Options{Births: true})
	runs(t, python, "-c", fmt.Sprintf(`
import os
for _ in range(%d):
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
`, forks))
	list, missed, err := l.Births.Next()
	if err != nil || len(list)+int(missed) < forks {
		t.Fatalf("%d births, %d missed, %v", len(list), missed, err)
	}
	before, most := l.Stream.Received(), uint64(time.Since(began)/rest)+1
	if err := l.Stream.Poll(time.Now().Add(time.Minute), &collected{}); err != nil {
		t.Fatal(err)
	}
	if woken := l.Stream.Received() - before; woken == 0 || woken > most {
		t.Errorf("%d births woke the reader up %d times, %d at most", len(list), woken, most)
	}
}
