package ledger

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestReadingsComeWithBoundaries: what a boundary says of the other processes of its tree is handed on with it, though the CPU that draws it is held up
// between the two: who takes the boundary in has nothing else to wait for.
func TestReadingsComeWithBoundaries(t *testing.T) {
	if os.Getenv("LEDGER_PARENT") != "" {
		parent()
		return
	}
	l := load(t, Options{lingering: 20_000})
	pid, _, in, answers := again(t, l, "LEDGER_PARENT")
	fmt.Fprintln(in, "go")
	if !answers.Scan() {
		t.Fatal("the process has ended")
	}
	drawn := make(chan error, 1)
	go func() { // ends after 300 boundaries
		for range 300 {
			if err := l.Detach(pid); err != nil { // any boundary
				drawn <- err
				return
			}
			time.Sleep(time.Millisecond)
		}
		drawn <- nil
	}()
	var c collected
	boundaries, readings := map[uint64]int{}, map[uint64]int{} // by number: the poll in which they came
	for polls, isOver := 1, false; !isOver; polls++ {
		select {
		case err := <-drawn:
			if err != nil {
				t.Fatal(err)
			}
			isOver = true
		default:
		}
		if err := l.Poll(time.Now().Add(50*time.Millisecond), &c); err != nil {
			t.Fatal(err)
		}
		for _, b := range c.boundaries {
			boundaries[b.Number] = polls
		}
		for _, r := range c.readings {
			readings[r.Number] = polls
		}
		c = collected{}
	}
	late := 0
	for number, at := range readings {
		if at != boundaries[number] {
			late++
		}
	}
	if len(readings) < 100 || late > 0 {
		t.Errorf("%d boundaries, %d with readings, of which %d came later", len(boundaries), len(readings), late)
	}
}

// parent starts a process that takes memory and gives it back.
func parent() {
	runtime.LockOSThread()
	fmt.Println("ready")
	bufio.NewScanner(os.Stdin).Scan()
	cmd := exec.Command("/proc/self/exe", "-test.run", "^TestCutsAmongChanges$")
	cmd.Env = append(os.Environ(), "LEDGER_FALLS=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	fmt.Println("started")
	_ = cmd.Wait()
}
