package trial

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/python"
)

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
