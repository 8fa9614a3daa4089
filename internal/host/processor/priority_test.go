package processor

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/privileges"
)

// clock is the processor time of a program that is made up. It reports each look at it before it answers, to whoever
// waits for one.
type clock struct {
	atomic.Int64
	looks chan struct{}
}

func (c *clock) used() (time.Duration, error) {
	select {
	case c.looks <- struct{}{}:
	default:
	}
	return time.Duration(c.Load()), nil
}

// ofOurselves returns a keeper of this very program.
func ofOurselves(t *testing.T) (*Priority, *clock) {
	t.Helper()
	if os.Geteuid() != 0 && os.Getenv("TRACER_REQUIRE_BPF") != "1" {
		t.Skip("raising a priority takes CAP_SYS_NICE")
	}
	c := clock{looks: make(chan struct{})}
	k, err := NewPriority(os.Getpid(), c.used)
	if err != nil {
		t.Fatal(err)
	}
	if usual, raised := k.Values(); raised >= usual {
		t.Fatalf("%d is raised to %d: the test must not run with the highest priority", usual, raised)
	}
	t.Cleanup(func() {
		if err := k.Lower(); err != nil {
			t.Error(err)
		}
	})
	return k, &c
}

// haveAll fails unless all threads of this program have a nice value, those included that are begun now.
func haveAll(t *testing.T, nice int) {
	t.Helper()
	end := make(chan struct{})
	defer close(end)
	for range 4 {
		begun := make(chan struct{})
		go func() { runtime.LockOSThread(); close(begun); <-end }()
		<-begun
	}
	if left := others(t, nice); len(left) > 0 {
		t.Fatalf("threads with other nice values than %d: %v", nice, left)
	}
}

// looked waits until a keeper that has raised the priority has looked at the time, and has done what follows.
func looked(k *Priority, c *clock) {
	<-c.looks
	k.mu.Lock() // it is held for a look
	defer k.mu.Unlock()
}

// others returns the threads of this program that do not have a nice value.
func others(t *testing.T, nice int) map[string]int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil || len(tasks) < 4 {
		t.Fatalf("%d threads, %v", len(tasks), err)
	}
	found := map[string]int{}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		if has, err := unix.Getpriority(unix.PRIO_PROCESS, tid); err == nil && 20-has != nice {
			found[task.Name()] = 20 - has
		}
	}
	return found
}

// TestRaiseAndLower: all threads have the priority, those included that begin meanwhile, and then none has it.
func TestRaiseAndLower(t *testing.T) {
	k, _ := ofOurselves(t)
	usual, raised := k.Values()
	for range 3 {
		for range 2 { // the second time it does nothing
			if err := k.Raise(); err != nil {
				t.Fatal(err)
			}
			haveAll(t, raised)
		}
		for range 2 {
			if err := k.Lower(); err != nil {
				t.Fatal(err)
			}
			haveAll(t, usual)
		}
	}
}

// TestPriorityIsSpentOnce: once the program has taken its time, in several parts, it has the usual priority, and for
// good.
func TestPriorityIsSpentOnce(t *testing.T) {
	k, c := ofOurselves(t)
	usual, raised := k.Values()
	for i, part := range []time.Duration{Most / 2, Most/2 - time.Millisecond} {
		if err := k.Raise(); err != nil {
			t.Fatal(err)
		}
		haveAll(t, raised)
		c.Add(int64(part))
		looked(k, c)
		if left := others(t, raised); len(left) > 0 {
			t.Fatalf("part %d: the time is not over, and there are threads without priority: %v", i, left)
		}
		if err := k.Lower(); err != nil {
			t.Fatal(err)
		}
		c.Add(int64(time.Hour)) // with the usual priority it takes what it likes
	}
	if err := k.Raise(); err != nil {
		t.Fatal(err)
	}
	c.Add(int64(time.Millisecond))
	looked(k, c)
	haveAll(t, usual)
	if err := k.Raise(); !errors.Is(err, ErrSpent) {
		t.Errorf("raised again: %v", err)
	}
	haveAll(t, usual)
}

// TestNoRight: without the capability nothing changes.
func TestNoRight(t *testing.T) {
	k, _ := ofOurselves(t)
	usual, _ := k.Values()
	if err := privileges.WithOnly(nil, k.Raise); !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM) {
		t.Errorf("%v", err)
	}
	haveAll(t, usual)
}
