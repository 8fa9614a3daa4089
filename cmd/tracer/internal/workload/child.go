package workload

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

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
