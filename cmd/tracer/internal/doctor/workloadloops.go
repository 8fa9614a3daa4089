package doctor

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The names of the loops.
const (
	LoopFaults = "loop-faults" // fresh pages touched, one fault each
	LoopFalls  = "loop-falls"  // pages freed, one call each
	LoopMaps   = "loop-maps"   // a megabyte mapped and unmapped
)

// loops are workloads for measurements of time. They answer each byte on standard input with a line: the time of one
// operation in ns.
var loops = map[string]func(io.Reader, io.Writer) error{
	LoopFaults: loopOf(2048, timeFaults),
	LoopFalls:  loopOf(512, timeFalls),
	LoopMaps:   loopOf(1000, timeMaps),
}

// loopOf returns a loop that measures a number of operations at a time.
func loopOf(operations int, measure func(int) time.Duration) func(io.Reader, io.Writer) error {
	return func(in io.Reader, out io.Writer) error {
		debug.SetGCPercent(-1)
		runtime.LockOSThread()
		request := make([]byte, 1)
		for {
			if _, err := io.ReadFull(in, request); err != nil {
				return nil // no more requests
			}
			spent := measure(operations)
			if _, err := fmt.Fprintln(out, float64(spent.Nanoseconds())/float64(operations)); err != nil {
				return err
			}
		}
	}
}

// timeFaults touches fresh pages, one fault each.
func timeFaults(pages int) time.Duration {
	size := os.Getpagesize()
	m := mapMemory(-1, pages*size, readWrite, anonymous)
	defer unmap(m)
	_ = unix.Madvise(m, unix.MADV_NOHUGEPAGE)
	began := time.Now()
	for i := 0; i < len(m); i += size {
		m[i] = 1
	}
	return time.Since(began)
}

// timeFalls frees pages, one call each, so that the resident memory falls with each call.
func timeFalls(pages int) time.Duration {
	size := os.Getpagesize()
	m := mapMemory(-1, pages*size, readWrite, anonymous)
	defer unmap(m)
	_ = unix.Madvise(m, unix.MADV_NOHUGEPAGE)
	for i := 0; i < len(m); i += size {
		m[i] = 1
	}
	began := time.Now()
	for i := 0; i < len(m); i += size {
		_ = unix.Madvise(m[i:i+size], unix.MADV_DONTNEED)
	}
	return time.Since(began)
}

// timeMaps maps and unmaps a megabyte that is never touched.
func timeMaps(pairs int) time.Duration {
	began := time.Now()
	for range pairs {
		unmap(mapMemory(-1, mib, readWrite, anonymous))
	}
	return time.Since(began)
}

// WorkloadCommand returns the command that runs a workload or a loop in this program, without the signals of Go's
// scheduler and without its collector.
func WorkloadCommand(ctx context.Context, name string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "workload", name)
	cmd.Env = []string{"GOGC=off", "GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=1"}
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "GO") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	return cmd
}

// Loop is a child process that measures an operation when asked.
type Loop struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// StartLoop starts the loop with a name. It ends when the caller closes it, or with the context.
func StartLoop(ctx context.Context, name string) (*Loop, error) {
	cmd := WorkloadCommand(ctx, name)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &Loop{cmd, in, bufio.NewReader(out)}, cmd.Start()
}

// PID returns the pid of the loop's process.
func (l *Loop) PID() int { return l.cmd.Process.Pid }

// rounds is the number of measurements for one answer of [Loop.Ask].
const rounds = 5

// Ask measures several times and returns the shortest time of one operation in ns, since other work on the machine can
// only add time.
func (l *Loop) Ask() (float64, error) {
	var times []float64
	for range rounds {
		if _, err := l.in.Write([]byte{'\n'}); err != nil {
			return 0, err
		}
		line, err := l.out.ReadString('\n')
		if err != nil {
			return 0, err
		}
		ns, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
		if err != nil {
			return 0, err
		}
		times = append(times, ns)
	}
	return slices.Min(times), nil
}

// Close ends the loop and waits for it.
func (l *Loop) Close() {
	_ = l.in.Close() // the loop ends at the end of its input
	_ = l.cmd.Wait()
}
