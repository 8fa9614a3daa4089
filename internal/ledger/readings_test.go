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

	"ipytracer/event"
)

// TestReadingsComeWithBoundaries: a boundary's readings of the other processes of its tree are handed on with it,
// though the CPU that draws it is held up between the two: the receiver of the boundary need not wait for anything
// else.
func TestReadingsComeWithBoundaries(t *testing.T) {
	if os.Getenv("LEDGER_PARENT") != "" {
		parent()
		return
	}
	l := load(t, Options{lingering: 20_000})
	boundaries, readings := drawShared(t, l)
	late := 0
	for number, at := range readings {
		if at != boundaries[number].poll {
			late++
		}
	}
	if len(readings) < 100 || late > 0 {
		t.Errorf("%d boundaries, %d with readings, of which %d came later", len(boundaries), len(readings), late)
	}
	if n := lostReadings(l); n > 0 {
		t.Errorf("%d are said to be missing", n)
	}
}

// TestReadingsThatComeLate: where a boundary was handed on without its readings, the next one reports that, and so does
// the certificate.
func TestReadingsThatComeLate(t *testing.T) {
	if os.Getenv("LEDGER_PARENT") != "" {
		parent()
		return
	}
	l := load(t, Options{lingering: 20_000, readingWait: 1})
	late, seen := 0, 0
	for round := 0; round < 10 && late == 0; round++ { // whether one comes late depends on the machine
		boundaries, readings := drawShared(t, l)
		seen += len(readings)
		for number, at := range readings {
			b, next := boundaries[number], boundaries[number+1]
			if at == b.poll || next == (handedOn{}) {
				continue
			}
			if late++; next.incomplete <= b.incomplete {
				t.Errorf("boundary %d came without its readings, and the next one says nothing: %d, before %d", number,
					next.incomplete, b.incomplete)
			}
		}
	}
	if n := lostReadings(l); late == 0 || n < uint64(late) {
		t.Errorf("%d of %d came later, %d are said to be missing", late, seen, n)
	}
}

func lostReadings(l *Ledger) uint64 {
	for _, loss := range l.Losses() {
		if loss.Reason == event.LostReadings {
			return loss.Count
		}
	}
	return 0
}

// handedOn has the poll in which a boundary came, and the number of boundaries that lacked their readings by then.
type handedOn struct {
	poll       int
	incomplete uint64
}

// drawShared draws boundaries of a tree of two processes. It returns, by their numbers, the poll in which they came,
// and that of their readings.
func drawShared(t *testing.T, l *Ledger) (boundaries map[uint64]handedOn, readings map[uint64]int) {
	t.Helper()
	pid, _, in, answers := again(t, l, "LEDGER_PARENT")
	fmt.Fprintln(in, "go")
	if !answers.Scan() {
		t.Fatal("the process has ended")
	}
	drawn, turns := make(chan error, 1), make(chan struct{}, 1)
	go func() { // ends after 300 boundaries, one for each poll
		for range 300 {
			<-turns
			if err := l.Processes.Detach(pid); err != nil { // any kind of boundary
				drawn <- err
				return
			}
		}
		drawn <- nil
	}()
	var c collected
	boundaries, readings = map[uint64]handedOn{}, map[uint64]int{}
	for polls, isOver := 1, false; !isOver; polls++ {
		select {
		case err := <-drawn:
			if err != nil {
				t.Fatal(err)
			}
			isOver = true
		case turns <- struct{}{}:
		default:
		}
		if err := l.Stream.Poll(time.Now().Add(50*time.Millisecond), &c); err != nil {
			t.Fatal(err)
		}
		for _, b := range c.boundaries {
			boundaries[b.Number] = handedOn{polls, b.Refused[event.RefusedReadings]}
		}
		for _, r := range c.readings {
			readings[r.Number] = polls
		}
		c = collected{}
	}
	return boundaries, readings
}

// parent starts a process that allocates memory and frees it.
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
