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
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// prepare makes the variant of --patch or --with, or those of --advice-from. Advice of the first run comes later.
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
		other, err := t.ReadFile(t.o.with, console.MaxNotebook)
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
			return console.Usagef("%s changes no code of %s", v.Name, path)
		}
	}
	return nil
}

func (t *try) add(v *Variant) { t.variants = append(t.variants, v) }

const (
	maxAdvice  = 64 << 20 // bytes of advice in JSON
	maxMessage = 400      // bytes of another process's message in an error
)

func (t *try) readAdvice() error {
	data, err := t.ReadFile(t.o.adviceFrom, maxAdvice)
	if err != nil {
		return err
	}
	var a model.Advice
	if err := json.Unmarshal(data, &a); err != nil || a.Schema != model.AdviceSchema {
		return fmt.Errorf("%s is not the output of 'tracer advise --format json'", t.o.adviceFrom)
	}
	t.advice, t.cellOfExecution = &a, nil
	return t.addAdvised()
}

// addAdvised adds the variants of the chosen advice: with --all one for each piece, else one of all the given numbers.
func (t *try) addAdvised() error {
	var chosen []model.AdviceItem
	for _, item := range t.advice.Items {
		if t.o.all && len(item.Edits) > 0 || slices.Contains(t.o.adviceNumbers, item.Number) {
			chosen = append(chosen, item)
		}
	}
	switch {
	case len(chosen) == 0 && t.o.all:
		return errors.New("none of the advice has a change that could be tried")
	case len(chosen) < len(t.o.adviceNumbers):
		return console.Usagef("--advice %s: there are %s", t.o.advice,
			words.Plural(len(t.advice.Items), "piece of advice"))
	}
	if !t.o.all {
		v, err := t.combine(chosen)
		if err == nil {
			t.add(v)
		}
		return err
	}
	for i := range chosen {
		v, err := t.combine(chosen[i : i+1])
		if err != nil {
			return err
		}
		t.add(v)
	}
	return nil
}

// combine makes one variant that applies all given advice.
func (t *try) combine(items []model.AdviceItem) (*Variant, error) {
	v := &Variant{Name: "advice"}
	for i := range items {
		v.Advice = append(v.Advice, items[i].Number)
		v.Name += separatorBefore(i, len(items)) + fmt.Sprint(items[i].Number)
	}
	if len(items) == 1 && items[0].Saves > 0 {
		saves := items[0].Saves
		v.Predicted = &saves
	}
	var err error
	v.Notebook, err = t.notebook.Edited(items, t.cellOfExecution)
	return v, err
}

// separatorBefore returns the text before item i of n, as in "advice 1, 2 and 3".
func separatorBefore(i, n int) string {
	switch {
	case i == 0:
		return " "
	case i == n-1:
		return " and "
	}
	return ", "
}

// scratch is a temporary folder, which the user owns, for one recording.
type scratch struct {
	document *console.Document
	folder   string
}

// newScratch makes the folder with the user's rights, for the user alone.
func newScratch(d *console.Document) (*scratch, error) {
	c := &scratch{d, filepath.Join(os.TempDir(), "tracer-try-"+rand.Text()[:12])}
	opened, err := d.Rights.MakeFolder(c.folder)
	if err != nil {
		return nil, err
	}
	opened.Close()
	d.Console.Signals.RemoveOnExit(c)
	return c, nil
}

// recording is the path of the recording.
func (c *scratch) recording() string { return filepath.Join(c.folder, "run.arrows") }

// Discard removes the recording and the folder, with the user's rights. A folder with other files stays.
func (c *scratch) Discard() {
	_ = c.document.Rights.Do(func() error {
		return errors.Join(unix.Unlink(c.recording()), unix.Rmdir(c.folder))
	})
}

// recordForAdvice runs the original with a recording, as the first run, and adds variants of the recording's advice.
func (t *try) recordForAdvice(ctx context.Context) error {
	temporary, err := newScratch(t.Document)
	if err != nil {
		return fmt.Errorf("record the first run: %w", err)
	}
	defer temporary.Discard()
	t.runner.Record = temporary.recording()
	figures, err := t.run(ctx, nil, 0)
	t.runner.Record = ""
	if err != nil {
		return err
	}
	if t.advice, err = t.askAdvice(ctx, temporary.recording()); err != nil {
		return fmt.Errorf("advice of the first run: %w", err)
	}
	t.cellOfExecution = func(execution int) int { return cellOfExecution(figures, execution) }
	if t.o.By == "" {
		t.judged.Meter = t.advice.Meter
	}
	return t.addAdvised()
}

// cellOfExecution returns the index of the cell that ran as the given execution, -1 if that was no cell of the
// notebook.
func cellOfExecution(figures *Figures, execution int) int {
	for i := range figures.Cells {
		if w := &figures.Cells[i]; w.ID > 0 && w.Execution == execution {
			return i
		}
	}
	return -1
}

// askAdvice runs `tracer advise` on the recording: that process gives up all rights before it reads the recording.
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
	data, readErr := io.ReadAll(io.LimitReader(out, maxAdvice))
	if err := errors.Join(cmd.Wait(), readErr); err != nil {
		if message := bytes.TrimSpace(errs.Text); len(message) > 0 {
			return nil, errors.New(escape.Bounded(string(bytes.TrimPrefix(message, []byte("tracer: "))), maxMessage))
		}
		return nil, err
	}
	var a model.Advice
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, err
	}
	return &a, nil
}
