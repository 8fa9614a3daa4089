package processor

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel's own events are counted in the same way as a processor's, on every machine.
var kernels = []Event{
	{"task clock", unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_TASK_CLOCK},
	{"page faults", unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS},
}

func open(t *testing.T, events []Event) (*Process, []Missing) {
	t.Helper()
	p, missing := Open(os.Getpid(), events)
	for _, m := range missing {
		if (errors.Is(m.Why, unix.EACCES) || errors.Is(m.Why, unix.EPERM)) && os.Getenv("TRACER_REQUIRE_BPF") != "1" {
			t.Skip(m.Why)
		}
	}
	t.Cleanup(p.Close)
	return p, missing
}

// TestThreadsAndNoChildren: the work of a thread that begins later is counted, and a child's is not.
func TestThreadsAndNoChildren(t *testing.T) {
	p, missing := open(t, kernels)
	if len(missing) > 0 {
		t.Fatal(missing)
	}
	const pages = 20_000
	before, between, after := make([]uint64, 2), make([]uint64, 2), make([]uint64, 2)
	p.Read(before)
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: it needs a thread of its own, which ends
		done <- touch(pages)
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	p.Read(between)
	if out, err := exec.Command("sh", "-c",
		"i=0; while [ $i -lt 3000 ]; do i=$((i+1)); (:); done").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.Read(after)
	if before[1] == 0 || between[1]-before[1] < pages {
		t.Errorf("page faults: %d, then %d", before[1], between[1])
	}
	if child := after[1] - between[1]; child > pages {
		t.Errorf("%d page faults of a child", child)
	}
	if before[0] >= between[0] || between[0] >= after[0] {
		t.Errorf("task clock: %d, %d, %d", before[0], between[0], after[0])
	}
}

func touch(pages int) error {
	m, err := unix.Mmap(-1, 0, pages*4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	if err := unix.Madvise(m, unix.MADV_NOHUGEPAGE); err != nil {
		return err
	}
	for i := 0; i < len(m); i += 4096 {
		m[i] = 1
	}
	return unix.Munmap(m)
}

// TestWhatIsMissing: an event that cannot be counted has a reason, is not known, and costs the others nothing.
func TestWhatIsMissing(t *testing.T) {
	nonsense := Event{"nonsense", unix.PERF_TYPE_HARDWARE, 1 << 20}
	p, missing := open(t, append([]Event{nonsense}, kernels...))
	if len(missing) != 1 || len(missing[0].Events) != 1 || missing[0].Events[0] != "nonsense" || missing[0].Why == nil {
		t.Fatal(missing)
	}
	counts := make([]uint64, 4)
	if p.Read(counts); counts[0] != 0 || counts[1] == 0 || counts[2] == 0 || counts[3] != 0 {
		t.Error(counts)
	}
}

// TestProcessor: a processor either counts or there is a reason.
func TestProcessor(t *testing.T) {
	p, missing := open(t, Processor)
	counts := make([]uint64, len(Processor))
	p.Read(counts)
	t.Log(counts, missing)
	for _, m := range missing {
		if m.Why == nil || len(m.Events) == 0 {
			t.Error(m)
		}
	}
	if len(missing) == 0 && counts[0] == 1 {
		t.Error("no instruction was counted")
	}
}

func TestCountersOfAnEndedProcess(t *testing.T) {
	if _, missing := Open(1<<30, kernels); len(missing) == 0 || len(missing[0].Events) != len(kernels) {
		t.Error("a process that is not there is counted")
	}
}
