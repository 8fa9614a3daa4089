package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/internal/ledger"
	"ipytracer/model"
	"ipytracer/tracer"
)

// workloadTimeout is the time limit of a workload, with the loading of the probes. Loading alone takes half a minute if
// two busy CPUs emulate eight.
const workloadTimeout = 5 * time.Minute

// unsteadyTries is how often a workload is run while it is unsteady: other memory moved while it read its own.
const unsteadyTries = 5

// measureWorkload runs a workload under the tracer and compares every peak with its truth. ring is the size of the ring
// of changes in bytes; with 0, the usual size, no change may be lost.
func (t *selftest) measureWorkload(ctx context.Context, w Workload, ring int) (Test, error) {
	for try := 1; ; try++ {
		truths, r, err := t.traceWorkload(ctx, w.Name, ring)
		if errors.Is(err, ErrUnsteady) && try < unsteadyTries {
			continue
		}
		if err != nil {
			return Test{}, err
		}
		out, err := compareWorkload(w, truths, r)
		if err == nil {
			err = checkCertificate(r, ring != 0)
		}
		if ring != 0 {
			out.Note = fmt.Sprintf("%d of %d changes lost, all counted", lostChanges(r), r.Certificate.Made)
		}
		return out, err
	}
}

// traceWorkload starts the program itself, as a workload, and traces it to its end.
func (t *selftest) traceWorkload(ctx context.Context, name string, ring int) ([]Truth, *model.Report, error) {
	cmd := WorkloadCommand(context.Background(), name) // traceCommand ends it
	text, r, err := traceCommand(ctx, cmd, tracer.Options{Version: t.Tracer, ChangeRing: ring, Copies: true})
	if err != nil {
		return nil, nil, err
	}
	truths, err := ParseTruths(text)
	return truths, r, err
}

// traceCommand runs a command under the tracer from its first instruction to its end, and returns the bytes that it
// wrote to its file descriptor 3.
func traceCommand(ctx context.Context, cmd *exec.Cmd, o tracer.Options) ([]byte, *model.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, workloadTimeout)
	defer cancel()
	written, to, err := capture(64 << 20)
	if err != nil {
		return nil, nil, err
	}
	complaints, errsTo, err := capture(1 << 20)
	if err != nil {
		return nil, nil, errors.Join(err, to.Close())
	}
	cmd.ExtraFiles = []*os.File{to}
	cmd.Stdout, cmd.Stderr = errsTo, errsTo
	live, err := tracer.Launch(cmd, o)
	to.Close()
	errsTo.Close()
	if err != nil {
		return nil, nil, err
	}
	defer live.Close()
	tracker := attribution.New()
	if err = event.Each(ctx, live, tracker.Add); err != nil || ctx.Err() != nil {
		err = errors.Join(err, context.Cause(ctx), cmd.Process.Kill())
	}
	state, waitErr := cmd.Process.Wait()
	if err == nil && waitErr == nil && !state.Success() {
		err = fmt.Errorf("%s: %v: %s", cmd.Args[len(cmd.Args)-1], state, bytes.TrimSpace(<-complaints))
	}
	if err = errors.Join(err, waitErr); err != nil {
		return nil, nil, err
	}
	return <-written, tracker.Report(), nil
}

// capture makes a pipe, and returns a channel and the pipe's writing end. The channel yields what was written, up to a
// limit, once all writing ends are closed.
func capture(limit int64) (<-chan []byte, *os.File, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	captured := make(chan []byte, 1)
	go func() {
		defer from.Close()
		text, _ := io.ReadAll(io.LimitReader(from, limit))
		captured <- text
	}()
	return captured, to, nil
}

// compareWorkload compares the figures of a report with the truths.
func compareWorkload(w Workload, truths []Truth, r *model.Report) (out Test, err error) {
	sums := map[string]int64{}
	bounds := map[string]int64{}
	for i, truth := range truths {
		subject := "process"
		if i < len(truths)-1 { // the workload's own process ends last
			subject = "child"
		}
		at := slices.IndexFunc(r.Processes, func(p model.Process) bool { return p.PID == truth.PID })
		if at < 0 {
			return out, fmt.Errorf("%w: process %d of workload %s is not in the report", ErrSelftest, truth.PID, w.Name)
		}
		for _, meter := range w.Meters {
			f := r.Processes[at].Meters[meter]
			bounds[meter] += boundOf(f)
			sums[meter] += truth.Bytes[meter]
			out.Figures = append(out.Figures, newFigure(meter, subject, truth.Bytes[meter], f.Peak, boundOf(f)))
		}
	}
	at := slices.IndexFunc(r.Windows, func(w model.Window) bool { return w.Kind == model.Session })
	if at < 0 {
		return out, fmt.Errorf("%w: the report of workload %s has no session", ErrSelftest, w.Name)
	}
	session := &r.Windows[at]
	for _, meter := range w.Meters {
		switch {
		case len(truths) == 1:
			out.Figures = append(out.Figures, newFigure(meter, "session", sums[meter], session.Meters[meter].Peak,
				bounds[meter]))
		case w.Tree: // memory that the child shares with its parent counts once, and widens the figure's bound
			f, _ := session.Together(meter)
			shared := boundOf(f) - boundOf(session.Meters[meter])
			copied, others := copiedOf(w, meter, r)
			out.Figures = append(out.Figures, newFigure(meter, "tree", sums[meter]-shared+copied, f.Peak,
				bounds[meter]+others))
		}
	}
	return out, nil
}

// copiedOf returns the bytes by which a tree's meter is higher because a child has copied memory: those that it is
// known to have copied, and at most how many others. Both are 0 where copies are not counted.
func copiedOf(w Workload, meter string, r *model.Report) (known, others int64) {
	const mostOthers = 1 << 20
	for i := range r.Processes {
		p := &r.Processes[i]
		f, counted := p.Meters[event.Copied.String()]
		if counted && p.Parent != 0 && w.Copied > 0 && (meter == Resident || meter == Anon) {
			return w.Copied, min(max(f.Peak-w.Copied, 0), mostOthers)
		}
	}
	return 0, 0
}

func boundOf(f model.Figure) int64 {
	if f.Exact || f.Bound == nil {
		return 0
	}
	return *f.Bound
}

// checkCertificate checks that no boundary is missing, that all changes are delivered or counted as lost, and that the
// kernel's peaks agree with those recomputed from the changes. lossy demands lost changes, except with pages of more
// than 4 KiB: the ring is then so large that all changes may be read in time.
func checkCertificate(r *model.Report, lossy bool) error {
	c := r.Certificate
	if c.BoundariesLost != 0 {
		return fmt.Errorf("%w: %d boundaries are missing", ErrSelftest, c.BoundariesLost)
	}
	if made := c.Delivered + uint64(lostChanges(r)); made != c.Made {
		return fmt.Errorf("%w: %d changes were made, but %d delivered and %d counted as lost",
			ErrSelftest, c.Made, c.Delivered, lostChanges(r))
	}
	if lossy && event.Bytes(smallestRing) > event.UsualPage {
		lossy = c.Delivered != c.Made
	}
	if !lossy && !c.Complete && len(c.Problems) > 0 {
		return fmt.Errorf("%w: the certificate is not complete: %s", ErrSelftest, strings.Join(c.Problems, "; "))
	}
	if lossy != (c.Delivered != c.Made) || c.Complete == lossy {
		return fmt.Errorf("%w: %d of %d changes were delivered", ErrSelftest, c.Delivered, c.Made)
	}
	for _, p := range c.Meters {
		if p.Agreed != p.Compared {
			return fmt.Errorf("%w: certificate: %s: the peaks of %d of %d windows differ from the recomputed "+
				"ones, by up to %d bytes",
				ErrSelftest, p.ID, p.Compared-p.Agreed, p.Compared, p.Difference)
		}
		if !lossy && p.Skipped > 0 && p.ID != meterNumPy {
			return fmt.Errorf("%w: certificate: %s: %d windows could not be compared", ErrSelftest, p.ID, p.Skipped)
		}
	}
	return nil
}

// lostChanges returns the number of changes that the certificate counts as lost.
func lostChanges(r *model.Report) (n int64) {
	for _, l := range r.Certificate.Lost {
		if l.Reason == ledger.LostChanges {
			n += int64(l.Count)
		}
	}
	return n
}
