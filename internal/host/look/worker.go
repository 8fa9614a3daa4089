package look

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

// Worker is a process that answers one question after another ([For.Examiner]). It is for one goroutine. It has ended
// after an error that matches [ErrSlow] or [ErrEnded].
type Worker struct {
	pid     int
	in      io.WriteCloser
	kill    context.CancelFunc
	answers chan workerAnswer
}

// workerAnswer is a line of a worker's.
type workerAnswer struct {
	answer
	err error
}

// Limits are how much one question may take.
type Limits struct {
	Processor time.Duration // of the worker's processor time
	Wait      time.Duration // of time in which it uses none: a file system may be silent
}

// Cost is how much a question took.
type Cost struct {
	Processor time.Duration
	Note      json.RawMessage // what the worker was busy with last, if it said so
}

// Errors of a worker.
var (
	ErrSlow  = errors.New("it takes too long")
	ErrEnded = errors.New("the process that looks has ended")
)

const (
	maxWorkerAnswer = 1 << 20 // bytes of one answer
	// betweenMeasures is how often a worker's processor time is read while it is awaited.
	betweenMeasures = 50 * time.Millisecond
	// leastMove is the processor time that shows that a worker does not merely wait, and patient how many times as long
	// as a worker may wait it may take at all.
	leastMove, patient = time.Millisecond, 6
)

// Start starts a worker that makes a look. It fails with [ErrLooking] as [Ask] does. The worker must be closed, and
// ends at the latest with ctx.
func Start(ctx context.Context, what string) (*Worker, error) {
	w, err := asks.work(ctx, []string{Command, what})
	if err != nil {
		return nil, fmt.Errorf("look into processes: %w", err)
	}
	return w, nil
}

// work starts a worker.
func (k *asker) work(ctx context.Context, args []string) (*Worker, error) {
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
	w := &Worker{pid: c.pid, in: c.in, kill: cancel, answers: make(chan workerAnswer)}
	go func() { // one for each slot: maxAsking
		defer func() { <-k.slots }()
		w.read(ctx, c.out)
		cancel()
		_ = c.wait()
	}()
	return w, nil
}

// read hands answers on until the worker ends.
func (w *Worker) read(ctx context.Context, out io.Reader) {
	defer close(w.answers)
	lines := bufio.NewReaderSize(out, 64<<10)
	for {
		line, err := readLine(lines)
		a := workerAnswer{err: err}
		if err == nil {
			a.err = json.Unmarshal(line, &a.answer)
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

// readLine returns the next line of a worker's, if it is not too long.
func readLine(r *bufio.Reader) ([]byte, error) {
	var all []byte
	for {
		part, err := r.ReadSlice('\n')
		all = append(all, part...)
		if len(all) > maxWorkerAnswer {
			return nil, errors.New("an answer is too long")
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return all, err
		}
	}
}

// Ask asks a question and takes the answer in, as JSON. The error matches [ErrSlow] or [ErrEnded], or is the
// examiner's.
func (w *Worker) Ask(question, found any, most Limits) (cost Cost, err error) {
	text, err := json.Marshal(question)
	if err != nil {
		return cost, err
	}
	began, used := time.Now(), w.used()
	moved, last := began, used // when it had last used processor time: a busy machine gives it little
	defer func() { cost.Processor = max(cost.Processor, w.used()-used) }()
	if _, err := w.in.Write(append(bytes.TrimSpace(text), '\n')); err != nil {
		w.Close()
		return cost, ErrEnded
	}
	measure := time.NewTicker(betweenMeasures)
	defer measure.Stop()
	for {
		select {
		case a, ok := <-w.answers:
			switch {
			case !ok || a.err != nil:
				w.Close()
				return cost, ErrEnded
			case a.Note != nil:
				cost.Note = a.Note
				continue
			}
			if err := a.answer.err(); err != nil {
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
			return cost, ErrSlow
		}
	}
}

// used returns the processor time of the worker so far, 0 once it has ended.
func (w *Worker) used() time.Duration {
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
func (w *Worker) Close() {
	if w != nil {
		_ = w.in.Close()
		w.kill()
	}
}
