package trial

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/output"
	"ipytracer/internal/report/escape"
	"ipytracer/model"
)

// scratch is a folder of the user's for one recording, in the folder for temporary files.
type scratch struct {
	document *output.Document
	folder   string
}

// newScratch makes it, with the user's rights and for the user alone.
func newScratch(d *output.Document) (*scratch, error) {
	c := &scratch{d, filepath.Join(os.TempDir(), "tracer-try-"+rand.Text()[:12])}
	kept, err := d.Rights.MakeFolder(c.folder)
	if err != nil {
		return nil, err
	}
	kept.Close()
	d.Console.Signals.RemoveOnExit(c)
	return c, nil
}

// recording is the path of the recording.
func (c *scratch) recording() string { return filepath.Join(c.folder, "run.arrows") }

// Discard removes the recording and the folder, with the user's rights. What somebody else has put there stays.
func (c *scratch) Discard() {
	_ = c.document.Rights.Do(func() error {
		return errors.Join(unix.Unlink(c.recording()), unix.Rmdir(c.folder))
	})
}

// advised runs the notebook as it is, as the first run, and makes variants of the advice for it.
func (t *try) advised(ctx context.Context) error {
	place, err := newScratch(t.Document)
	if err != nil {
		return fmt.Errorf("record the first run: %w", err)
	}
	defer place.Discard()
	t.runner.Record = place.recording()
	figures, err := t.run(ctx, nil, 0)
	t.runner.Record = ""
	if err != nil {
		return err
	}
	if t.advice, err = t.askAdvice(ctx, place.recording()); err != nil {
		return fmt.Errorf("advice of the first run: %w", err)
	}
	t.ran = func(execution int) int { return cellWith(figures, execution) }
	if t.o.By == "" {
		t.judged.Meter = t.advice.Meter
	}
	return t.take()
}

// cellWith returns the index of the cell of an execution of a run, -1 if it is none of the notebook's cells.
func cellWith(figures *Figures, execution int) int {
	for i := range figures.Cells {
		if w := &figures.Cells[i]; w.ID > 0 && w.Execution == execution {
			return i
		}
	}
	return -1
}

// askAdvice asks a process of this program, which gives up all rights before it reads the recording.
func (t *try) askAdvice(ctx context.Context, path string) (*model.Advice, error) {
	args := []string{"advise", "--quiet", "--format", "json"}
	if t.o.By != "" {
		args = append(args, "--by", t.o.By)
	}
	cmd := exec.CommandContext(ctx, t.runner.Tracer, append(args, path)...)
	var errs console.Head
	cmd.Env, cmd.Stderr = t.runner.Env, &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	data, tooMuch := io.ReadAll(io.LimitReader(out, maxAdvice))
	if err := errors.Join(cmd.Wait(), tooMuch); err != nil {
		if words := bytes.TrimSpace(errs.Text); len(words) > 0 {
			return nil, errors.New(escape.Bounded(string(bytes.TrimPrefix(words, []byte("tracer: "))), 400))
		}
		return nil, err
	}
	var a model.Advice
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, err
	}
	return &a, nil
}
