package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// starts returns what starts a shell in the place of a process that looks.
func starts(script string) func(context.Context, []string, bool) (*child, error) {
	return func(ctx context.Context, _ []string, _ bool) (*child, error) {
		cmd := exec.CommandContext(ctx, "sh", "-c", script)
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return &child{pid: cmd.Process.Pid, in: in, out: out, wait: cmd.Wait}, nil
	}
}

// TestWorker: a worker answers questions one after another. One that takes too much processor time or does not answer
// is ended, with what it was busy with; one that ends, or says nonsense or too much, has ended. Nothing is left behind.
func TestWorker(t *testing.T) {
	const note = `read q; echo '{"Note":{"File":7}}'; `
	most := LookLimits{Processor: 300 * time.Millisecond, Wait: time.Minute}
	brief := LookLimits{Processor: time.Minute, Wait: 300 * time.Millisecond}
	for _, c := range []struct {
		name, script string
		most         LookLimits
		err          error
		answers      int
	}{
		{"answers", `while read q; do echo "{\"Found\":$q}"; done`, most, nil, 3},
		{"fails", note + `echo '{"Error":"no"}'`, most, nil, 0},
		{"burns", note + `while :; do :; done`, most, ErrLookSlow, 0},
		{"hangs", note + `exec sleep 600`, brief, ErrLookSlow, 0},
		{"ends", note + `exit 3`, most, ErrLookEnded, 0},
		{"babbles", note + `echo '{'; sleep 600`, most, ErrLookEnded, 0},
		{"goes on", note + `exec yes | tr -d '\n'`, LookLimits{time.Minute, time.Minute}, ErrLookEnded, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := &asker{slots: make(chan struct{}, 1), start: starts(c.script)}
			w, err := k.work(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := k.work(t.Context(), nil); !errors.Is(err, ErrLooking) {
				t.Errorf("one more: %v", err)
			}
			for i := range max(1, c.answers) {
				var found int
				cost, err := w.Ask(i, &found, c.most)
				switch {
				case c.answers > 0 && (err != nil || found != i):
					t.Errorf("%d: %d, %v", i, found, err)
				case c.err != nil && (!errors.Is(err, c.err) || string(cost.Note) != `{"File":7}`):
					t.Errorf("%v, busy with %s; want %v", err, cost.Note, c.err)
				case c.answers == 0 && err == nil:
					t.Error("no error")
				}
				if c.name == "burns" && cost.Processor < c.most.Processor {
					t.Errorf("it took %v", cost.Processor)
				}
			}
			w.Close()
			awaitRoom(t, k)
		})
	}
}

// TestExamine: the examiner's answers, notes and errors arrive in order.
func TestExamine(t *testing.T) {
	var said strings.Builder
	out := json.NewEncoder(&said)
	answer := func(q json.RawMessage) (any, error) {
		_ = out.Encode(lookAnswer{Note: q})
		if string(q) == "2" {
			return nil, errors.New("no")
		}
		return q, nil
	}
	questions := make(chan json.RawMessage, 2)
	questions <- json.RawMessage("1")
	questions <- json.RawMessage("2")
	close(questions)
	if err := answerAll(out, questions, answer); err != nil {
		t.Fatal(err)
	}
	if want := "{\"Note\":1}\n{\"Found\":1}\n{\"Note\":2}\n{\"Error\":\"no\"}\n"; said.String() != want {
		t.Errorf("%q, want %q", said.String(), want)
	}
}

// TestProcessClock: the processor time of another process can be read.
func TestProcessClock(t *testing.T) {
	var own unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &own); err != nil {
		t.Fatal(err)
	}
	w := &Looker{pid: os.Getpid(), in: nopCloser{io.Discard}}
	if used := w.used(); used < time.Duration(own.Nano()) {
		t.Errorf("%v, less than %v", used, time.Duration(own.Nano()))
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
