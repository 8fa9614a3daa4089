package workload

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

// loops are workloads without a truth, for measurements: each line on standard input is answered by the nanoseconds of
// one operation.
var loops = map[string]func(io.Reader, io.Writer) error{
	LoopFaults: loopOf(2048, timeFaults),
	LoopFalls:  loopOf(512, timeFalls),
	LoopMaps:   loopOf(1000, timeMaps),
}

func loopOf(operations int, timed func(int) time.Duration) func(io.Reader, io.Writer) error {
	return func(in io.Reader, out io.Writer) error {
		debug.SetGCPercent(-1)
		runtime.LockOSThread()
		one := make([]byte, 1)
		for {
			if _, err := io.ReadFull(in, one); err != nil {
				return nil // no more questions
			}
			spent := timed(operations)
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

// timeFalls frees pages, one call each: resident falls each time.
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

// Command returns this very program as a workload or a loop, to be started, in the environment that it needs: no
// signals of the scheduler, no collector.
func Command(ctx context.Context, name string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "workload", name)
	cmd.Env = []string{"GOGC=off", "GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=1"}
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "GO") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	return cmd
}

// Loop is a child that times an operation when asked.
type Loop struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// StartLoop starts the loop of this name. The caller closes it; it ends with the context, too.
func StartLoop(ctx context.Context, name string) (*Loop, error) {
	cmd := Command(ctx, name)
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

// askedRounds is the number of requests at once.
const askedRounds = 5

// Ask asks several times and returns the shortest time of one operation in nanoseconds: other work on the machine can
// only add time.
func (l *Loop) Ask() (float64, error) {
	var times []float64
	for range askedRounds {
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
	_ = l.in.Close() // it ends when there are no more questions
	_ = l.cmd.Wait()
}
