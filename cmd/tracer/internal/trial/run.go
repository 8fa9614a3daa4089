package trial

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/host/process"
	"ipytracer/internal/report/escape"
	"ipytracer/python"
)

// Runner runs notebooks in fresh kernels, under the tracer.
type Runner struct {
	// Tracer is this program, and Python the interpreter, both as they are typed. Env is the environment of the tracer:
	// it names the user who typed the command. Folder is where the cells run.
	Tracer, Python, Folder string
	Env                    []string
	Kernel                 string // of Jupyter's; "" for the notebook's own
	Seed                   *int64
	AllowErrors            bool
	Timeout                time.Duration
	// Command returns a command that runs as the user, and UID is the user's number.
	Command func(ctx context.Context, args ...string) (*exec.Cmd, error)
	UID     uint32
	// Record is the path for the recording of the next run; "" for none. A recording has stacks and the kernel's
	// variables.
	Record string
	// Begins is called when a cell begins, with its number from 1.
	Begins func(cell int)
}

// endTimeout bounds how long a process may take to end once it was asked to.
const endTimeout = 20 * time.Second

var errTimeout = errors.New("it took longer than --timeout")

// attempt is one run of a notebook. A driver, which is a process of the user's, starts the kernel. The tracer attaches
// to the kernel before the first cell and detaches behind the last one, so that its figures have all cells and only
// them.
type attempt struct {
	*Runner
	ctx    context.Context
	cells  []Cell
	driver *driver

	mu        sync.Mutex
	attached  *attached // nil until there is a kernel
	detached  bool      // nothing attaches any more
	figures   *Figures
	tracerErr error // of the tracer
}

// Run runs a notebook once. Its result and its figures come by pipes: there is no file.
func (r *Runner) Run(ctx context.Context, n *Notebook) (*Result, *Figures, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Timeout, errTimeout)
	defer cancel()
	d, err := r.startDriver(ctx, n)
	if err != nil {
		return nil, nil, err
	}
	defer d.close()
	t := &attempt{Runner: r, ctx: ctx, cells: n.Cells, driver: d}
	var result *Result
	var answerErr error
	answerRead := make(chan struct{})
	go func() {
		defer close(answerRead)
		steps := steps{kernelStarted: t.attach, cellBegins: r.Begins, cellsOver: t.detach}
		result, answerErr = readAnswer(d.out, len(n.Cells), steps)
		if answerErr != nil {
			cancel()
			_, _ = io.Copy(io.Discard, d.out) // the driver must not wait until somebody reads
		}
	}()
	driverErr := d.cmd.Wait()
	t.detach() // the kernel may have ended before the last cell
	endOrphans(r.UID)
	_ = d.out.SetReadDeadline(time.Now().Add(endTimeout)) // another process may keep the pipe open
	<-answerRead
	return result, t.figures, t.outcome(result, answerErr, driverErr)
}

// attach attaches the tracer to the kernel, and then lets the driver run the cells.
func (t *attempt) attach(pid int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.detached || t.attached != nil {
		return
	}
	if t.attached, t.tracerErr = t.startTracer(t.ctx, pid, t.cells); t.tracerErr != nil {
		t.detached = true
		t.driver.end()
		return
	}
	t.driver.goOn()
}

// detach ends the session of the tracer, and then lets the driver read the variables. The second call does nothing.
func (t *attempt) detach() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.detached {
		return
	}
	t.detached = true
	if t.attached != nil {
		t.figures, t.tracerErr = t.attached.detach()
	}
	t.driver.goOn()
}

// outcome returns the error of a run: answerErr is of the driver's output, driverErr of the driver's end. A notebook
// that did not run to its end is no error: result.Why says so.
func (t *attempt) outcome(result *Result, answerErr, driverErr error) error {
	switch {
	case answerErr != nil:
		return answerErr
	case context.Cause(t.ctx) == errTimeout:
		result.Why = fmt.Sprintf("it took longer than %s (--timeout)", t.Timeout)
		return nil
	case t.ctx.Err() != nil:
		return context.Cause(t.ctx)
	case result.What == "" && result.ended:
		return fmt.Errorf("no kernel has started: %s", escape.Bounded(result.Why, 400))
	case result.What == "":
		return fmt.Errorf("the run did not begin: %s", lastLine(&t.driver.stderr, driverErr))
	case t.tracerErr != nil && (t.figures == nil || result.Why == ""):
		return t.tracerErr
	}
	return nil
}

// attached is a running `tracer attach` to the kernel. Its report comes by a pipe that the kernel cannot open.
type attached struct {
	cmd        *exec.Cmd
	stderr     console.Tail
	report     *os.File
	reportRead chan struct{} // closed when the report has been read
	figures    *Figures
	reportErr  error // why the report could not be read
	exitErr    error // of the process
}

// startTracer starts `tracer attach` to a process of the user's, and returns once every probe is in place.
func (r *Runner) startTracer(ctx context.Context, pid int, cells []Cell) (*attached, error) {
	kernel, err := (process.FS{}).Identity(pid)
	if err != nil {
		return nil, fmt.Errorf("attach to the kernel: %w", err)
	}
	if err := process.RightsOf(r.UID).MayLook(process.FS{}, pid); err != nil {
		return nil, fmt.Errorf("process %d, which was named as the kernel, is not the user's: %w", pid, err)
	}
	a := &attached{reportRead: make(chan struct{})}
	a.cmd = exec.CommandContext(ctx, r.Tracer, r.arguments(kernel)...)
	a.cmd.Env, a.cmd.Stderr = r.Env, &a.stderr
	a.cmd.Cancel = func() error { return a.cmd.Process.Signal(syscall.SIGTERM) }
	a.cmd.WaitDelay = endTimeout
	sign, err := a.start()
	if err != nil {
		return nil, fmt.Errorf("attach to the kernel: %w", err)
	}
	defer sign.Close()
	go func() {
		defer close(a.reportRead)
		if a.figures, a.reportErr = readFigures(a.report, cells); a.reportErr != nil {
			_, _ = io.Copy(io.Discard, a.report)
		}
	}()
	if _, err := bufio.NewReaderSize(sign, 64).ReadString('\n'); err != nil {
		a.finish()
		return nil, fmt.Errorf("the kernel cannot be traced: %s", lastLine(&a.stderr, a.exitErr))
	}
	return a, nil
}

// arguments returns the tracer's arguments. Its report goes to descriptor 3. To descriptor 4 it writes the sign that it
// has attached.
func (r *Runner) arguments(kernel process.Identity) []string {
	args := []string{
		"attach", "--quiet", "--format", "json", "--output", "/dev/fd/3", "--ready-file", "/dev/fd/4",
		"--owner", strconv.FormatUint(uint64(r.UID), 10), "--started", strconv.FormatUint(kernel.StartTicks, 10),
	}
	if r.Record == "" {
		args = append(args, "--no-stacks")
	} else {
		args = append(args, "--record", r.Record)
	}
	return append(args, strconv.Itoa(kernel.PID))
}

// start starts the tracer, and returns the pipe on which the tracer says that it has attached.
func (a *attached) start() (sign *os.File, err error) {
	report, toReport, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	sign, toSign, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, report.Close(), toReport.Close())
	}
	a.cmd.ExtraFiles = []*os.File{toReport, toSign}
	err = a.cmd.Start()
	toReport.Close()
	toSign.Close()
	if err != nil {
		return nil, errors.Join(err, report.Close(), sign.Close())
	}
	a.report = report
	return sign, nil
}

// finish waits until the process has ended and its report is read.
func (a *attached) finish() {
	a.exitErr = a.cmd.Wait()
	_ = a.report.SetReadDeadline(time.Now().Add(endTimeout))
	<-a.reportRead
	_ = a.report.Close()
}

// detach ends the session, which the kernel's end may have done already, and returns the report's figures. The kernel
// goes on.
func (a *attached) detach() (*Figures, error) {
	_ = a.cmd.Process.Signal(os.Interrupt)
	a.finish()
	if a.reportErr != nil {
		return a.figures, fmt.Errorf("%w: %s", a.reportErr, lastLine(&a.stderr, a.exitErr))
	}
	return a.figures, nil
}

// request is the first line of the driver's input (python/src/ipytracer/_try_run.py).
type request struct {
	Cells       []string `json:"cells"`
	MayFail     []int    `json:"may_fail"` // numbers of cells, from 1
	Folder      string   `json:"folder"`
	Kernel      string   `json:"kernel"`
	Seed        *int64   `json:"seed"`
	AllowErrors bool     `json:"allow_errors"`
	Bytes       int      `json:"bytes"` // of all outputs, at most
	Digest      string   `json:"digest"`
	Shell       string   `json:"shell"`
}

func (r *Runner) request(n *Notebook) ([]byte, error) {
	ask := request{
		Folder: r.Folder, Kernel: n.Kernel, Seed: r.Seed, AllowErrors: r.AllowErrors, Bytes: maxOutputs,
		Digest: python.TryDigest, Shell: python.TryShell, MayFail: []int{},
	}
	if r.Kernel != "" {
		ask.Kernel = r.Kernel
	}
	for i, c := range n.Cells {
		ask.Cells = append(ask.Cells, c.Source)
		if c.MayFail {
			ask.MayFail = append(ask.MayFail, i+1)
		}
	}
	return json.Marshal(ask)
}

// driver is the process that starts a kernel and runs the cells in it, with the user's rights. Before the first cell
// and behind the last one, it waits for a line of input.
type driver struct {
	cmd    *exec.Cmd
	in     *os.File // this program's end of standard input
	out    *os.File // this program's end of standard output
	stderr console.Tail
}

// startDriver starts a driver, and sends it the request for a notebook.
func (r *Runner) startDriver(ctx context.Context, n *Notebook) (*driver, error) {
	request, err := r.request(n)
	if err != nil {
		return nil, err
	}
	cmd, err := r.Command(ctx, r.Python, "-c", python.TryRun)
	if err != nil {
		return nil, err
	}
	d := &driver{cmd: cmd}
	in, out, err := d.pipes()
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &d.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = endTimeout
	err = cmd.Start()
	in.Close()
	out.Close()
	if err != nil {
		d.close()
		return nil, fmt.Errorf("run %s: %w", r.Python, err)
	}
	go func() { // ends when the driver has read the request, or has ended
		if _, err := d.in.Write(append(request, '\n')); err != nil {
			d.end()
		}
	}()
	return d, nil
}

// pipes makes the driver's pipes, and returns the driver's ends.
func (d *driver) pipes() (in, out *os.File, err error) {
	if in, d.in, err = os.Pipe(); err != nil {
		return nil, nil, err
	}
	if d.out, out, err = os.Pipe(); err != nil {
		in.Close()
		d.in.Close()
		return nil, nil, err
	}
	return in, out, nil
}

// goOn lets the driver take its next step. It does not wait for a driver that does not read.
func (d *driver) goOn() {
	_ = d.in.SetWriteDeadline(time.Now().Add(endTimeout))
	_, _ = d.in.WriteString("\n")
}

// end makes the driver give up, by the end of its input.
func (d *driver) end() { _ = d.in.Close() }

// close closes the pipes of a driver that has ended.
func (d *driver) close() {
	_ = d.in.Close()
	_ = d.out.Close()
}

// lastLine returns the last line of a process's standard error, or the text of err if there is none.
func lastLine(stderr *console.Tail, err error) string { return cmp.Or(stderr.Text(), fmt.Sprint(err)) }
