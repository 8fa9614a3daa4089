package ledger

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/event"
)

// TestEventsAddUp: the resident memory by events alone, without a boundary that reads the share of every CPU, equals
// that of the page tables, although many threads worked on all CPUs at the same time.
func TestEventsAddUp(t *testing.T) {
	if os.Getenv("LEDGER_STIRS") != "" {
		stir()
		return
	}
	eventsAddUp(t, load(t, Options{}))
}

func eventsAddUp(t *testing.T, l *Ledger) {
	t.Helper()
	pid, slot, in, answers := again(t, l, "LEDGER_STIRS")
	for range 5 {
		if _, err := in.Write([]byte("\n")); err != nil || !answers.Scan() {
			t.Fatal(err)
		}
		var p kernelProcess
		var is int64
		for range 100 { // the runtime of the process may still be busy
			is = anonymous(t, pid)
			if err := l.objects.Processes.Lookup(slot, &p); err != nil {
				t.Fatal(err)
			}
			if p.Value[event.ResidentAnon] == is {
				break
			}
		}
		if p.Value[event.ResidentAnon] != is {
			t.Errorf("events add up to %d bytes, there are %d", p.Value[event.ResidentAnon], is)
		}
	}
}

// again starts the test's own program, with the same test and a variable set, and attaches to it once it has printed a
// line. It skips kernels without an exact resident meter.
func again(t *testing.T, l *Ledger, variable string) (pid int, slot uint32, in io.Writer, answers *bufio.Scanner) {
	t.Helper()
	if !l.Capabilities().ExactResident {
		t.Skip("this kernel has one counter for all CPUs")
	}
	cmd := exec.Command("/proc/self/exe", "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"=1", "GOGC=off")
	in, out, err := piped(t, cmd)
	if err != nil {
		t.Fatal(err)
	}
	if answers = bufio.NewScanner(out); !answers.Scan() {
		t.Fatal("the child has ended")
	}
	if slot, err = l.Processes.AttachProcess(0, cmd.Process.Pid, 0); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, slot, in, answers
}

// stir answers each line after eight threads have touched memory and freed some of it, page by page and many pages at
// once.
func stir() {
	debug.SetGCPercent(-1)
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var threads sync.WaitGroup
		for range 8 {
			threads.Go(stirOnce)
		}
		threads.Wait()
		fmt.Println("done")
	}
}

func stirOnce() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const pages, size = 2048, 4096
	m, err := unix.Mmap(-1, 0, pages*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		panic(err)
	}
	for range 200 {
		from := rand.IntN(pages)
		some := m[from*size : min(pages, from+1+rand.IntN(1<<rand.IntN(11)))*size]
		if rand.IntN(2) == 0 {
			for i := 0; i < len(some); i += size {
				some[i] = 1
			}
		} else if err := unix.Madvise(some, unix.MADV_DONTNEED); err != nil {
			panic(err)
		}
	}
}

var anonymousLine = regexp.MustCompile(`(?m)^Anonymous: +(\d+) kB$`)

// anonymous returns the anonymous memory in the page tables of a process, in bytes.
func anonymous(t *testing.T, pid int) int64 {
	t.Helper()
	rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Fatal(err)
	}
	kib, err := strconv.ParseInt(string(anonymousLine.FindSubmatch(rollup)[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
