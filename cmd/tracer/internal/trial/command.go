package trial

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
)

// Command returns the command try.
func Command(c console.Console) *cobra.Command {
	var o tryOptions
	cmd := &cobra.Command{
		Use:   "try NOTEBOOK",
		Short: "Run a notebook with and without a change, and compare results, memory and times",
		Long: `Run a notebook (.ipynb, or a .py with # %% cells) as it is and with a change, each several times in a
fresh kernel under the tracer, and compare outputs, variables, peaks and times: what was saved, to the byte, and what
differs.

The notebook's code runs as you, never as root, in the notebook's folder: what it writes, it writes each time. The
tracer itself writes nothing but the files that you name. What differs between two runs of the notebook as it is, is not
held against the change.`,
		Example: "  sudo tracer try notebook.ipynb --all\n  sudo tracer try notebook.ipynb --advice 1,3\n" +
			"  sudo tracer try notebook.ipynb --patch smaller.diff\n" +
			"  sudo tracer try notebook.ipynb --with smaller.ipynb --seed 1\n" +
			"  sudo tracer try notebook.ipynb --patch smaller.diff -o smaller.ipynb",
		Args: console.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runTry(cmd.Context(), o, c, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&o.adviceFrom, "advice-from", "", "take the advice from `FILE`, which 'tracer advise --format json' "+
		"prints, instead of a recording of the first run")
	f.StringVar(&o.advice, "advice", "", "try the advice with these `NUMBERS` together, such as 1,3")
	f.BoolVar(&o.all, "all", false, "try each piece of advice alone, and then together those that passed and saved")
	f.StringVar(&o.patch, "patch", "",
		"try the change in `FILE`, a unified diff of the notebook or of its cells (In[3])")
	f.StringVar(&o.with, "with", "", "try another version of the notebook, in `FILE`")
	f.StringVarP(&o.changed, "output", "o", "", "write the changed notebook to `FILE`, if its results are the same")
	f.BoolVar(&o.force, "force", false, "let -o overwrite a file")
	f.StringVar(&o.File, "report", "", "write the comparison to `FILE` instead of standard output")
	f.StringVar(&o.Format, "format", "text", "the `FORMAT` of the comparison: text or json")
	f.IntVarP(&o.runs, "runs", "n", 2, "run each version of the notebook `N` times")
	f.StringVar(&o.python, "python", "python3", "the `PYTHON` that starts the kernel, by name or path")
	f.StringVar(&o.kernel, "kernel", "", "the `NAME` of the kernel, as 'jupyter kernelspec list' has it "+
		"(default: the notebook's, or that Python's own)")
	f.StringVar(&o.user, "user", "", "as root itself: the user `NAME` to run the notebook as")
	f.StringVar(&o.folder, "folder", "", "run the notebook in `FOLDER` instead of its own")
	f.StringVar(&o.seed, "seed", "",
		"seed random numbers of Python, NumPy and PyTorch with this `NUMBER` before the first cell")
	f.Float64Var(&o.within.Rel, "rtol", 1e-6, "numbers may differ by this `SHARE`")
	f.Float64Var(&o.within.Abs, "atol", 0, "numbers may differ by this `AMOUNT`, in addition")
	f.DurationVar(&o.timeout, "timeout", time.Hour, "end a run that takes longer than this `TIME`")
	f.BoolVar(&o.onErrors, "allow-errors", false, "go on behind a cell that fails")
	f.StringVar(&o.By, "by", "", "judge by this `METER`, such as cpu.numpy or gpu.0.active (default: resident memory)")
	f.BoolVar(&o.yes, "yes", false, "do not ask before the notebook runs")
	f.BoolVar(&o.NoSource, "no-source", false, "keep the notebook's source and outputs out of the comparison")
	f.BoolVar(&o.Full, "full", false, "list every cell and every difference in the text")
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "no progress, only the comparison")
	o.StrictFlag(f, "results differ, or a figure is not exact")
	return cmd
}

func runTry(ctx context.Context, o tryOptions, c console.Console, path string) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := console.MayTrace("a trial traces"); err != nil {
		return err
	}
	if err := o.chooseUser(); err != nil {
		return err
	}
	d, err := console.NewDocument(&o.Options, c)
	if err != nil {
		return err
	}
	defer d.Close()
	t, err := newTry(d, &o, path)
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.announce(); err != nil {
		return err
	}
	if err := adoptOrphans(); err != nil {
		return err
	}
	if err := t.runAll(ctx); err != nil {
		return err
	}
	return t.deliver()
}

// newTry reads the notebook and its change.
func newTry(d *console.Document, o *tryOptions, path string) (*try, error) {
	whole, err := d.ReadFile(path, console.MaxNotebook)
	if err != nil {
		return nil, err
	}
	t := &try{Document: d, o: o}
	if t.notebook, err = Read(path, whole); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if err := t.prepare(path); err != nil {
		return nil, err
	}
	if o.changed != "" {
		if t.changed, err = d.Rights.Create(o.changed, o.force); err != nil {
			return nil, fmt.Errorf("write the changed notebook: %w", err)
		}
		d.Console.Signals.RemoveOnExit(t.changed)
	}
	folder, err := filepath.Abs(cmp.Or(o.folder, filepath.Dir(path)))
	if err != nil {
		return nil, err
	}
	t.judged = &Trial{
		Original: t.notebook, Within: o.within, Meter: o.By,
	}
	t.runner = &Runner{
		Tracer: "/proc/self/exe", Python: o.python, Folder: folder, Env: os.Environ(), Kernel: o.kernel,
		Seed: o.seedNumber, AllowErrors: o.onErrors, Timeout: o.timeout, UID: d.Who.UID, Command: d.UserCommand,
	}
	return t, nil
}

func (t *try) close() {
	if t.changed != nil {
		t.changed.Discard()
	}
}

// announce says what will run. On a terminal it asks whether to go on, and fails if the answer is no.
func (t *try) announce() error {
	each := words.Times(int64(t.o.runs))
	changed := each + " with each change"
	switch {
	case len(t.variants) == 1:
		changed = each + " with " + escape.Text(t.variants[0].Name)
	case t.o.advice != "":
		changed = each + " with the advice " + t.o.advice + " that a recording of the first run gives"
	case len(t.variants) == 0:
		changed = each + " with each piece of advice that a recording of the first run gives"
	}
	t.Console.Say("runs %s of %s %s as it is and %s, as user %s in %s, started by %s",
		words.Plural(len(t.notebook.Cells), "cell"), escape.Text(t.notebook.Name), each, changed,
		escape.Text(t.Who.Name()), escape.Text(t.runner.Folder), escape.Text(t.o.python))
	if t.o.seedNumber != nil {
		t.Console.Say("random numbers of Python, NumPy and PyTorch are seeded with %d",
			*t.o.seedNumber)
	}
	file, isTerminal := console.Terminal(t.Console.In)
	if t.o.yes || !isTerminal {
		return nil
	}
	fmt.Fprint(t.Console.Err, "tracer: go on? [y/N] ")
	answer, _ := bufio.NewReader(io.LimitReader(file, 100)).ReadString('\n')
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return errors.New("nothing was run")
	}
	return nil
}
