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
	"slices"

	"golang.org/x/sys/unix"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/output"
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

func (t *try) prepare(path string) (err error) {
	switch {
	case t.o.patch != "":
		patch, err := t.ReadFile(t.o.patch, maxPatch)
		if err != nil {
			return err
		}
		changed, err := t.notebook.Patched(patch)
		if err != nil {
			return fmt.Errorf("--patch %s: %w", t.o.patch, err)
		}
		t.add(&Variant{Name: "patch " + filepath.Base(t.o.patch), Notebook: changed})
	case t.o.with != "":
		other, err := t.ReadFile(t.o.with, output.MaxNotebook)
		if err != nil {
			return err
		}
		changed, err := Read(t.o.with, other)
		if err != nil {
			return fmt.Errorf("read %s: %w", t.o.with, err)
		}
		t.add(&Variant{Name: "version " + filepath.Base(t.o.with), Notebook: changed})
	case t.o.adviceFrom != "":
		if err := t.readAdvice(); err != nil {
			return err
		}
	}
	for _, v := range t.variants {
		if t.notebook.Diff(v.Notebook) == "" {
			return status.Usagef("%s changes no code of %s", v.Name, path)
		}
	}
	return nil
}

func (t *try) add(v *Variant) { t.variants = append(t.variants, v) }

// maxAdvice is the most bytes of advice.
const maxAdvice = 64 << 20

func (t *try) readAdvice() error {
	data, err := t.ReadFile(t.o.adviceFrom, maxAdvice)
	if err != nil {
		return err
	}
	var a model.Advice
	if err := json.Unmarshal(data, &a); err != nil || a.Schema != model.AdviceSchema {
		return fmt.Errorf("%s is not the output of 'tracer advise --format json'", t.o.adviceFrom)
	}
	t.advice, t.ran = &a, nil
	return t.take()
}

// take makes variants of the chosen advice.
func (t *try) take() error {
	var chosen []model.AdviceItem
	for _, item := range t.advice.Items {
		if t.o.all && len(item.Edits) > 0 || slices.Contains(t.o.numbers, item.Number) {
			chosen = append(chosen, item)
		}
	}
	switch {
	case len(chosen) == 0 && t.o.all:
		return errors.New("none of the advice has a change that could be tried")
	case len(chosen) < len(t.o.numbers):
		return status.Usagef("--advice %s: there are %s", t.o.advice,
			words.Plural(len(t.advice.Items), "piece of advice"))
	}
	if !t.o.all {
		v, err := t.together(chosen)
		if err != nil {
			return err
		}
		t.add(v)
		return nil
	}
	for i := range chosen {
		v, err := t.together(chosen[i : i+1])
		if err != nil {
			return err
		}
		t.add(v)
	}
	return nil
}

// together makes a variant of several pieces of advice.
func (t *try) together(items []model.AdviceItem) (*Variant, error) {
	v := &Variant{Name: "advice"}
	for i := range items {
		v.Advice = append(v.Advice, items[i].Number)
		v.Name += listed(i, len(items)) + fmt.Sprint(items[i].Number)
	}
	if len(items) == 1 && items[0].Saves > 0 {
		saves := items[0].Saves
		v.Predicted = &saves
	}
	var err error
	v.Notebook, err = t.notebook.Edited(items, t.ran)
	return v, err
}

// listed returns the text before an item of "advice 1, 2 and 3".
func listed(i, n int) string {
	switch {
	case i == 0:
		return " "
	case i == n-1:
		return " and "
	}
	return ", "
}

// scratch is a folder of the user's for one recording, in the folder for temporary files.
type scratch struct {
	document *output.Document
	folder   string
}

// newScratch makes the folder with the user's rights, for the user alone.
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
