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
	// Record is the recording of the next run; "" for none. A run with a recording has stacks, and the variables of the
	// kernel.
	Record string
	// Begins is called when a cell begins, from 1.
	Begins func(cell int)
}

// lastWords bounds the time that a run takes to end once it was asked to.
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

// outcome returns the error of a run. A notebook that does not run to its end is no error: the result says why it did
// not.
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

// attached is a `tracer attach` of the kernel of a run. Its report comes by a pipe that the kernel cannot open.
type attached struct {
	cmd      *exec.Cmd
	words    console.Tail
	report   *os.File
	read     chan struct{} // closed when the report has been read
	figures  *Figures
	unread   error // why the report could not be read
	finished error // of the process
}

// attachTo attaches to a process, which must be the user's, and returns once every probe is in place.
func (r *Runner) attachTo(ctx context.Context, pid int, cells []Cell) (*attached, error) {
	kernel, err := (process.FS{}).Identity(pid)
	if err != nil {
		return nil, fmt.Errorf("attach to the kernel: %w", err)
	}
	if err := process.RightsOf(r.UID).MayLook(process.FS{}, pid); err != nil {
		return nil, fmt.Errorf("process %d, which was named as the kernel, is not the user's: %w", pid, err)
	}
	a := &attached{read: make(chan struct{})}
	a.cmd = exec.CommandContext(ctx, r.Tracer, r.arguments(kernel)...)
	a.cmd.Env, a.cmd.Stderr = r.Env, &a.words
	a.cmd.Cancel = func() error { return a.cmd.Process.Signal(syscall.SIGTERM) }
	a.cmd.WaitDelay = lastWords
	sign, err := a.start()
	if err != nil {
		return nil, fmt.Errorf("attach to the kernel: %w", err)
	}
	defer sign.Close()
	go func() {
		defer close(a.read)
		if a.figures, a.unread = readFigures(a.report, cells); a.unread != nil {
			_, _ = io.Copy(io.Discard, a.report)
		}
	}()
	if _, err := bufio.NewReaderSize(sign, 64).ReadString('\n'); err != nil {
		a.finish()
		return nil, fmt.Errorf("the kernel cannot be traced: %s", lastLine(&a.words, a.finished))
	}
	return a, nil
}

// arguments returns the tracer's arguments. Its report goes to descriptor 3. To descriptor 4 it writes the sign that it
// has attached.
func (r *Runner) arguments(kernel process.Identity) []string {
	all := []string{
		"attach", "--quiet", "--format", "json", "--output", "/dev/fd/3", "--ready-file", "/dev/fd/4",
		"--owner", strconv.FormatUint(uint64(r.UID), 10), "--started", strconv.FormatUint(kernel.StartTicks, 10),
	}
	if r.Record == "" {
		all = append(all, "--no-stacks")
	} else {
		all = append(all, "--record", r.Record)
	}
	return append(all, strconv.Itoa(kernel.PID))
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

// finish waits for the process and its report.
func (a *attached) finish() {
	a.finished = a.cmd.Wait()
	_ = a.report.SetReadDeadline(time.Now().Add(lastWords))
	<-a.read
	_ = a.report.Close()
}

// detach ends the session, unless the kernel's end has ended it, and returns the report's figures. It does nothing to
// the kernel.
func (a *attached) detach() (*Figures, error) {
	_ = a.cmd.Process.Signal(os.Interrupt)
	a.finish()
	if a.unread != nil {
		return a.figures, fmt.Errorf("%w: %s", a.unread, lastLine(&a.words, a.finished))
	}
	return a.figures, nil
}

// request is what the driver reads (python/src/ipytracer/_try_run.py).
type request struct {
	Cells       []string `json:"cells"`
	MayFail     []int    `json:"may_fail"` // from 1
	Folder      string   `json:"folder"`
	Kernel      string   `json:"kernel"`
	Seed        *int64   `json:"seed"`
	AllowErrors bool     `json:"allow_errors"`
	Bytes       int      `json:"bytes"`
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

// driver is the process that starts a kernel and runs the cells in it, with the user's rights. It waits for a line of
// its input before the first cell and behind the last one.
type driver struct {
	cmd   *exec.Cmd
	in    *os.File // to it
	out   *os.File // from it
	words console.Tail
}

// drive starts a driver for a notebook.
func (r *Runner) drive(ctx context.Context, n *Notebook) (*driver, error) {
	asked, err := r.request(n)
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
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &d.words
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = lastWords
	err = cmd.Start()
	in.Close()
	out.Close()
	if err != nil {
		d.close()
		return nil, fmt.Errorf("run %s: %w", r.Python, err)
	}
	go func() { // ends with the driver
		if _, err := d.in.Write(append(asked, '\n')); err != nil {
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
	_ = d.in.SetWriteDeadline(time.Now().Add(lastWords))
	_, _ = d.in.WriteString("\n")
}

// end makes the driver give up: it reads the end of its input.
func (d *driver) end() { _ = d.in.Close() }

// close closes the pipes of a driver that has ended.
func (d *driver) close() {
	_ = d.in.Close()
	_ = d.out.Close()
}

// lastLine returns the last line that a process has written to standard error, or an error's text.
func lastLine(words *console.Tail, err error) string { return cmp.Or(words.Text(), fmt.Sprint(err)) }
