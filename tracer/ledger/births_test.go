package ledger

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
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
	if err != nil || missed > 0 || !found {
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
		if err != nil || len(list) > 0 {
			t.Errorf("after an overflow: %d births, %v", len(list), err)
		}
		all += missed
	}
	if all < 3*size {
		t.Errorf("after an overflow: %d missed", all)
	}
	pid = run(python, "-c", "pass")
	if list, _, err := l.Births.Next(); err != nil || len(list) == 0 || list[len(list)-1].PID != pid {
		t.Errorf("after the overflow: %v, %v", list, err)
	}
}
