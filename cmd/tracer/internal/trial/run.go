package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"ipytracer/internal/report/escape"
)

// Runner runs notebooks in fresh kernels, under the tracer.
type Runner struct {
	// Tracer is this program, Python the interpreter, as they are typed; Env is the environment of the tracer, which
	// names the user that typed the command; Folder is where the cells run.
	Tracer, Python, Folder string
	Env                    []string
	Kernel                 string // of Jupyter's; "" for the notebook's own
	Seed                   *int64
	AllowErrors            bool
	Timeout                time.Duration
	// Command returns a command that runs as the user, and UID is the user's number.
	Command func(ctx context.Context, args ...string) (*exec.Cmd, error)
	UID     uint32
	// Record is the recording of the next run, "" for none. It has stacks then, and the variables of the kernel.
	Record string
	// Begins is called when a cell begins, from 1.
	Begins func(cell int)
}

// lastWords bounds the end of a run that was asked to end.
const lastWords = 20 * time.Second

var errTimeout = errors.New("it took longer than --timeout")

// attempt is one run of a notebook. A driver, which is a process of the user's, starts the kernel. The tracer attaches
// to the kernel before the first cell and detaches behind the last one: what the kernel and its children need is exact.
type attempt struct {
	*Runner
	ctx    context.Context
	cells  []Cell
	driver *driver

	mu       sync.Mutex
	attached *attached // nil until there is a kernel
	over     bool      // nothing attaches any more
	figures  *Figures
	failed   error // of the tracer
}

// Run runs a notebook once. Its result and its figures come by pipes: there is no file.
func (r *Runner) Run(ctx context.Context, n *Notebook) (*Result, *Figures, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Timeout, errTimeout)
	defer cancel()
	d, err := r.drive(ctx, n)
	if err != nil {
		return nil, nil, err
	}
	defer d.close()
	t := &attempt{Runner: r, ctx: ctx, cells: n.Cells, driver: d}
	var result *Result
	var answered error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		steps := steps{kernel: t.attach, begins: r.Begins, over: t.detach}
		result, answered = readAnswer(d.out, len(n.Cells), steps)
		if answered != nil {
			cancel()
			_, _ = io.Copy(io.Discard, d.out)
		}
	}()
	waited := d.cmd.Wait()
	t.detach() // from a kernel that has ended before the notebook
	endOrphans(r.UID)
	_ = d.out.SetReadDeadline(time.Now().Add(lastWords)) // something else may have the pipe
	<-ended
	return result, t.figures, t.outcome(result, answered, waited)
}

// attach attaches the tracer to the kernel, and then lets the cells run.
func (t *attempt) attach(pid int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.attached != nil {
		return
	}
	if t.attached, t.failed = t.attachTo(t.ctx, pid, t.cells); t.failed != nil {
		t.over = true
		t.driver.end()
		return
	}
	t.driver.goOn()
}

// detach ends the session of the tracer, if it is not over, and then lets the values be read.
func (t *attempt) detach() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	t.over = true
	if t.attached != nil {
		t.figures, t.failed = t.attached.detach()
	}
	t.driver.goOn()
}

// outcome returns the error of a run. A notebook that does not run to its end is none: the result says why.
func (t *attempt) outcome(result *Result, answered, waited error) error {
	switch {
	case answered != nil:
		return answered
	case context.Cause(t.ctx) == errTimeout:
		result.Why = fmt.Sprintf("it took longer than %s (--timeout)", t.Timeout)
		return nil
	case t.ctx.Err() != nil:
		return context.Cause(t.ctx)
	case result.What == "" && result.ended:
		return fmt.Errorf("no kernel has started: %s", escape.Bounded(result.Why, 400))
	case result.What == "":
		return fmt.Errorf("the run did not begin: %s", lastLine(&t.driver.words, waited))
	case t.failed != nil && (t.figures == nil || result.Why == ""):
		return t.failed
	}
	return nil
}
