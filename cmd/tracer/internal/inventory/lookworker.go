package inventory

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"
)

// Looker is a process that answers one question after another ([LookFor.Examiner]). It is for one goroutine. After an
// error that matches [ErrLookSlow] or [ErrLookEnded] it takes no more questions.
type Looker struct {
	pid     int
	in      io.WriteCloser
	kill    context.CancelFunc
	answers chan workerAnswer
}

// workerAnswer is a line from a worker: an answer or a note.
type workerAnswer struct {
	lookAnswer
	err error // of reading the line
}

// LookLimits limit one question.
type LookLimits struct {
	Processor time.Duration // the worker's processor time
	Wait      time.Duration // time in which the worker uses no processor, such as when a file system does not answer
}

// LookCost is what a question cost.
type LookCost struct {
	Processor time.Duration
	Note      json.RawMessage // what the worker was busy with last, if it has said so
}

// Errors of a worker.
var (
	ErrLookSlow  = errors.New("it takes too long")
	ErrLookEnded = errors.New("the process that looks has ended")
)

const (
	maxWorkerAnswer = 1 << 20 // bytes of one answer
	// betweenMeasures is the time between two reads of a worker's processor time.
	betweenMeasures = 50 * time.Millisecond
	// leastMove is the processor time that a worker must use so that it does not count as waiting.
	leastMove = time.Millisecond
	// patient limits the total time of a question to patient times LookLimits.Wait.
	patient = 6
)

// StartLooker starts a worker for the look named what. It fails with [ErrLooking] as [AskLook] does. The worker ends
// with ctx. The caller closes it.
func StartLooker(ctx context.Context, what string) (*Looker, error) {
	w, err := asks.work(ctx, []string{LookCommand, what})
	if err != nil {
		return nil, fmt.Errorf("look into processes: %w", err)
	}
	return w, nil
}

// work starts a worker.
func (k *asker) work(ctx context.Context, args []string) (*Looker, error) {
	select {
	case k.slots <- struct{}{}:
	default:
		return nil, ErrLooking
	}
	ctx, cancel := context.WithCancel(ctx)
	c, err := k.start(ctx, args, true)
	if err != nil {
		cancel()
		<-k.slots
		return nil, err
	}
	w := &Looker{pid: c.pid, in: c.in, kill: cancel, answers: make(chan workerAnswer)}
	go func() { // at most maxAsking goroutines: one for each slot
		defer func() { <-k.slots }()
		w.read(ctx, c.out)
		cancel()
		_ = c.wait()
	}()
	return w, nil
}

// read passes lines from the worker to w.answers, until the worker ends.
func (w *Looker) read(ctx context.Context, out io.Reader) {
	defer close(w.answers)
	lines := bufio.NewReaderSize(out, 64<<10)
	for {
		line, err := readLine(lines)
		a := workerAnswer{err: err}
		if err == nil {
			a.err = json.Unmarshal(line, &a.lookAnswer)
		}
		select {
		case w.answers <- a:
		case <-ctx.Done():
			return
		}
		if a.err != nil {
			return
		}
	}
}

// readLine returns the next line from a worker. It fails if the line is longer than maxWorkerAnswer.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxWorkerAnswer {
			return nil, errors.New("an answer is too long")
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// Ask asks a question, and decodes the answer from JSON into found. The error matches [ErrLookSlow] or
// [ErrLookEnded], or is that of the worker's examiner.
func (w *Looker) Ask(question, found any, most LookLimits) (cost LookCost, err error) {
	text, err := json.Marshal(question)
	if err != nil {
		return cost, err
	}
	began, used := time.Now(), w.used()
	moved, last := began, used // when the worker last used processor time, and its processor time then
	defer func() { cost.Processor = max(cost.Processor, w.used()-used) }()
	if _, err := w.in.Write(append(bytes.TrimSpace(text), '\n')); err != nil {
		w.Close()
		return cost, ErrLookEnded
	}
	measure := time.NewTicker(betweenMeasures)
	defer measure.Stop()
	for {
		select {
		case a, ok := <-w.answers:
			switch {
			case !ok || a.err != nil:
				w.Close()
				return cost, ErrLookEnded
			case a.Note != nil:
				cost.Note = a.Note
				continue
			}
			if err := a.lookAnswer.err(); err != nil {
				return cost, err
			}
			return cost, json.Unmarshal(a.Found, found)
		case <-measure.C:
		}
		now := w.used()
		if cost.Processor = now - used; now-last >= leastMove {
			moved, last = time.Now(), now
		}
		if cost.Processor >= most.Processor || time.Since(moved) >= most.Wait ||
			time.Since(began) >= patient*most.Wait {
			w.Close()
			return cost, ErrLookSlow
		}
	}
}

// used returns the worker's processor time so far, or 0 if it has ended.
func (w *Looker) used() time.Duration {
	if w.pid <= 0 {
		return 0
	}
	var t unix.Timespec
	// The clock of a process: ~pid << 3 | CPUCLOCK_SCHED (clock_getcpuclockid(3), include/linux/posix-timers.h).
	if unix.ClockGettime(int32(^w.pid<<3|2), &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// Close ends the worker.
func (w *Looker) Close() {
	if w != nil {
		_ = w.in.Close()
		w.kill()
	}
}
