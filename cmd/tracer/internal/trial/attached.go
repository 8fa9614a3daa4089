package trial

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/host/process"
)

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

// arguments are those of the tracer: its report goes to descriptor 3, and its sign that it has attached to 4.
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

// start starts the process, and returns the pipe of its sign.
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

// detach ends the session, unless the kernel has, and returns the report's figures. It does nothing to the kernel.
func (a *attached) detach() (*Figures, error) {
	_ = a.cmd.Process.Signal(os.Interrupt)
	a.finish()
	if a.unread != nil {
		return a.figures, fmt.Errorf("%w: %s", a.unread, lastLine(&a.words, a.finished))
	}
	return a.figures, nil
}
