package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"ipytracer/python"
	"ipytracer/report/escape"
)

// Runner starts runs of notebooks under the tracer.
type Runner struct {
	// Tracer is this program, Python the interpreter, as they are typed; Env is the environment of the tracer, which
	// names the user that the Python runs as; Folder is where the cells run.
	Tracer, Python, Folder string
	Env                    []string
	Kernel                 string // of Jupyter's; "" for the notebook's own
	Seed                   *int64
	AllowErrors            bool
	Timeout                time.Duration
	// Record is the recording of the next run, "" for none. It has stacks then, and the variables of the kernel, which
	// lives until the session has ended.
	Record string
	// Begins is called when a cell begins, from 1.
	Begins func(cell int)
	// Orphans ends processes that a run has left.
	Orphans func()
}

// request is what the runner reads (python/src/ipytracer/_try_run.py).
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
	Waits       bool     `json:"waits"` // behind the cells, for the end of its input
}

func (r *Runner) request(n *Notebook) ([]byte, error) {
	ask := request{
		Folder: r.Folder, Kernel: n.Kernel, Seed: r.Seed, AllowErrors: r.AllowErrors, Bytes: maxOutputs,
		Digest: python.TryDigest, Shell: python.TryShell, MayFail: []int{},
		Waits: r.Record != "",
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

// lastWords bounds the end of a run that was asked to end.
const lastWords = 20 * time.Second

// Run runs a notebook once. Its result and its figures come by pipes: there is no file.
func (r *Runner) Run(ctx context.Context, n *Notebook) (*Result, *Figures, error) {
	asked, err := r.request(n)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.Timeout, errTimeout)
	defer cancel()
	out, results, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer out.Close()
	report, figures, err := os.Pipe()
	if err != nil {
		results.Close()
		return nil, nil, err
	}
	defer report.Close()
	cmd := exec.CommandContext(ctx, r.Tracer, r.arguments()...)
	input, request, err := os.Pipe()
	if err != nil {
		results.Close()
		figures.Close()
		return nil, nil, err
	}
	defer request.Close()
	var words tail
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = r.Env, input, results, &words
	cmd.ExtraFiles = []*os.File{figures}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = lastWords
	err = cmd.Start()
	input.Close()
	results.Close()
	figures.Close()
	if err != nil {
		return nil, nil, err
	}
	go func() {
		if _, err := request.Write(append(asked, '\n')); err != nil || r.Record == "" {
			request.Close()
		}
	}()
	return r.finish(ctx, cancel, cmd, n, out, report, request, &words)
}

var errTimeout = errors.New("it took longer than --timeout")

// finish reads what a run sends, and waits for its end. Behind the cells of a run that is recorded, the session ends
// first, and the kernel when request is closed.
func (r *Runner) finish(ctx context.Context, cancel func(), cmd *exec.Cmd, n *Notebook, out, report, request *os.File,
	words *tail,
) (*Result, *Figures, error) {
	var result *Result
	var figures *Figures
	var answered, reported error
	done := make(chan struct{})
	go func() {
		defer close(done)
		figures, reported = readFigures(report, n.Cells)
		if reported != nil {
			_, _ = io.Copy(io.Discard, report)
		}
		if r.Record != "" {
			_ = request.Close()
		}
	}()
	over := func() {
		if r.Record != "" {
			_ = cmd.Process.Signal(syscall.SIGUSR1)
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if result, answered = readAnswer(out, len(n.Cells), r.Begins, over); answered != nil {
			cancel()
			_, _ = io.Copy(io.Discard, out)
		}
	}()
	waited := cmd.Wait()
	r.Orphans() // whatever of the notebook's still has the pipes
	for _, pipe := range []*os.File{out, report} {
		_ = pipe.SetReadDeadline(time.Now().Add(lastWords))
	}
	<-ended
	<-done
	return result, figures, r.failed(ctx, result, answered, reported, waited, words)
}

// failed returns the error of a run. A notebook that does not run to its end is none: the result says why.
func (r *Runner) failed(ctx context.Context, result *Result, answered, reported, waited error, words *tail) error {
	switch {
	case answered != nil:
		return answered
	case context.Cause(ctx) == errTimeout:
		result.Why = fmt.Sprintf("it took longer than %s (--timeout)", r.Timeout)
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case result.What == "" && result.ended:
		return fmt.Errorf("no kernel has started: %s", escape.Bounded(result.Why, 400))
	case result.What == "":
		return fmt.Errorf("the run did not begin: %s", words.last(waited))
	case reported != nil && result.Why == "":
		return fmt.Errorf("%w: %s", reported, words.last(waited))
	}
	return nil
}

// arguments are those of the tracer for a run.
func (r *Runner) arguments() []string {
	all := []string{"run", "--quiet", "--format", "json", "--output", "/dev/fd/3"}
	if r.Record == "" {
		all = append(all, "--no-stacks")
	} else {
		all = append(all, "--record", r.Record)
	}
	return append(all, "--", r.Python, "-c", python.TryRun)
}

// tail keeps the end of what a run writes to standard error.
type tail struct{ text []byte }

// Write accepts everything.
func (t *tail) Write(p []byte) (int, error) {
	const most = 16 << 10
	t.text = append(t.text, p...)
	if len(t.text) > most {
		t.text = append(t.text[:0], t.text[len(t.text)-most:]...)
	}
	return len(p), nil
}

// last returns the last line that was written, or an error's text.
func (t *tail) last(err error) string {
	lines := bytes.Split(bytes.TrimSpace(t.text), []byte("\n"))
	if line := string(lines[len(lines)-1]); line != "" {
		return escape.Bounded(line, 400)
	}
	return fmt.Sprint(err)
}
