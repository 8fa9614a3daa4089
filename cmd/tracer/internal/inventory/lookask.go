package inventory

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
	grace     = time.Second // for a process to end after it was killed
	maxAsking = 8           // processes that look, with those that were killed and have not ended
)

// ErrLooking is the error if no process can be started because maxAsking have not ended, although they were killed.
var ErrLooking = errors.New("the processes that did so before have not ended, though they were killed: the Linux " +
	"kernel waits for a file system or a driver there")

// child is a process that looks.
type child struct {
	pid  int
	in   io.WriteCloser // for questions; nil if the process takes none
	out  io.Reader
	wait func() error
}

// asker starts processes that look. It does not wait for a process that never ends.
type asker struct {
	start func(ctx context.Context, args []string, asked bool) (*child, error)
	slots chan struct{} // one is taken by each process until it has ended
}

var asks = &asker{start: startChild, slots: make(chan struct{}, maxAsking)}

// AskLook has a process look, and decodes its findings from JSON into found. what names the look. pid is the process
// that the look is about, if there is one. AskLook takes at most 11 s, and at most one more second once ctx is done. It
// leaves behind a process that does not end when it is killed, because Linux waits for something in it. While there are
// maxAsking of these, AskLook fails with [ErrLooking].
func AskLook(ctx context.Context, found any, what string, pid ...int) error {
	args := []string{LookCommand, what}
	for _, p := range pid {
		args = append(args, strconv.Itoa(p))
	}
	ctx, cancel := context.WithTimeout(ctx, 2*lookPatience)
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
	answer lookAnswer
	err    error
}

// because returns the process's error together with the reason why the process was killed, if it was.
func (e *ended) because(ctx context.Context) error {
	if e.err == nil {
		return nil
	}
	return errors.Join(context.Cause(ctx), e.err)
}

// inherited returns the capabilities that a child must inherit as ambient ones. Root's children have all capabilities
// anyway. Another user's children have only ambient ones, and this program has lost its ambient set when it gave up
// capabilities (capabilities(7)).
func inherited(f process.Facts) (ambient []uintptr) {
	if f.EUID == 0 {
		return nil
	}
	for _, c := range []process.Capability{
		process.CapSysPtrace, process.CapDACReadSearch, process.CapCheckpointRestore,
	} {
		if f.Capabilities.Has(c) {
			ambient = append(ambient, uintptr(c))
		}
	}
	return ambient
}

// startChild starts this program again. With asked, it can be sent questions.
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

// ask starts a process and returns its only answer.
func (k *asker) ask(ctx context.Context, args []string) (a lookAnswer, err error) {
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
	go func() { // at most maxAsking goroutines: one for each slot
		defer func() { <-k.slots }()
		var e ended
		e.err = json.NewDecoder(io.LimitReader(c.out, maxLookAnswer)).Decode(&e.answer)
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
