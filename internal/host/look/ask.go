package look

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"ipytracer/internal/host/process"
)

const (
	grace     = time.Second // to end, for a process that was killed
	maxAsking = 8           // processes that look, or were killed and have not ended
)

// ErrLooking is the error when no other process that looks is started, because so many of them have not ended, though
// they were killed.
var ErrLooking = errors.New("the processes that did so before have not ended, though they were killed: the Linux " +
	"kernel waits for a file system or a driver there")

// child is a process that looks.
type child struct {
	pid  int
	in   io.WriteCloser // nil: nothing is asked
	out  io.Reader
	wait func() error
}

// asker starts processes that look. It never waits for one that does not end.
type asker struct {
	start func(ctx context.Context, args []string, asked bool) (*child, error)
	slots chan struct{} // one is taken by each process until it has ended
}

var asks = &asker{start: startChild, slots: make(chan struct{}, maxAsking)}

// Ask has another process look, and takes its findings in, as JSON. pid is the process that the look is about, if there
// is one. Ask takes 11 s at most, or one more second once ctx is done. A process that does not end when it is killed,
// because the Linux kernel waits for something in it, is left behind. While there are 8 of these, Ask fails with
// [ErrLooking].
func Ask(ctx context.Context, found any, what string, pid ...int) error {
	args := []string{Command, what}
	for _, p := range pid {
		args = append(args, strconv.Itoa(p))
	}
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	a, err := asks.ask(ctx, args)
	if err != nil {
		return fmt.Errorf("look into processes: %w", err)
	}
	if err := a.err(); err != nil {
		return err
	}
	return json.Unmarshal(a.Found, found)
}

// ended is the outcome of a process.
type ended struct {
	answer answer
	err    error
}

// because is its error, with why the process was killed.
func (e *ended) because(ctx context.Context) error {
	if e.err == nil {
		return nil
	}
	return errors.Join(context.Cause(ctx), e.err)
}

// inherited returns the capabilities that a child must inherit explicitly. Root's children have them anyway. Another
// user's have only ambient ones, and a program that gives up capabilities has lost its ambient set, too
// (capabilities(7)).
func inherited(f process.Facts) (some []uintptr) {
	if f.EUID == 0 {
		return nil
	}
	for _, c := range []process.Capability{
		process.CapSysPtrace, process.CapDACReadSearch, process.CapCheckpointRestore,
	} {
		if f.Capabilities.Has(c) {
			some = append(some, uintptr(c))
		}
	}
	return some
}

// startChild starts this program again. asked: questions are written to it.
func startChild(ctx context.Context, args []string, asked bool) (c *child, err error) {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = append(os.Environ(), "GOMAXPROCS=2"), "/", grace
	cmd.SysProcAttr = &syscall.SysProcAttr{AmbientCaps: inherited(process.FS{}.Facts())}
	c = &child{wait: cmd.Wait}
	if asked {
		if c.in, err = cmd.StdinPipe(); err != nil {
			return nil, err
		}
	}
	if c.out, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c.pid = cmd.Process.Pid
	return c, nil
}

func (k *asker) ask(ctx context.Context, args []string) (a answer, err error) {
	select {
	case k.slots <- struct{}{}:
	default:
		return a, ErrLooking
	}
	c, err := k.start(ctx, args, false)
	if err != nil {
		<-k.slots
		return a, err
	}
	over := make(chan ended, 1)
	go func() { // one for each slot: maxAsking
		defer func() { <-k.slots }()
		var e ended
		e.err = json.NewDecoder(io.LimitReader(c.out, maxAnswer)).Decode(&e.answer)
		e.err = errors.Join(e.err, c.wait())
		over <- e
	}()
	select {
	case e := <-over:
		return e.answer, e.because(ctx)
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case e := <-over:
		return e.answer, e.because(ctx)
	case <-late.C:
		return a, errors.Join(context.Cause(ctx), errors.New("the process that looks does not end"))
	}
}
