package trial

import (
	"cmp"
	"context"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/output"
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/internal/host/invoker"
)

// tryOptions are the flags of `tracer try`.
type tryOptions struct {
	output.Options
	advice     string        // numbers of advice, such as 1,3
	adviceFrom string        // the file that has the advice, instead of a recording of the first run
	all        bool          // each piece of advice alone, then together
	patch      string        // the file of a unified diff
	with       string        // the file of another version of the notebook
	changed    string        // the file that the changed notebook goes to
	force      bool          // changed overwrites a file
	seed       string        // of random numbers; "" for none
	runs       int           // of each version of the notebook
	python     string        // the program that starts the kernel
	kernel     string        // the name of its specification; "" for the notebook's own
	user       string        // that root runs the notebook as
	folder     string        // to run in; "" for the notebook's own
	timeout    time.Duration // of one run
	within     Tolerance     // of numbers
	onErrors   bool          // go on behind a cell that fails
	yes        bool          // do not ask before the notebook runs

	numbers []int  // of the advice
	number  *int64 // the seed; nil for none
}

// Bounds on a trial.
const (
	maxTries  = 20                  // runs of each version of the notebook
	maxTrying = 30 * 24 * time.Hour // one run
)

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
		Args: status.Args(cobra.ExactArgs(1)),
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

// check finds mistakes before anything is read.
func (o *tryOptions) check() (err error) {
	if err := cmp.Or(output.CheckFormat(o.Format, "text", "json"), output.CheckMeter(o.By)); err != nil {
		return err
	}
	if o.numbers, err = adviceNumbers(o.advice); err != nil {
		return err
	}
	asked := 0
	for _, is := range []bool{o.advice != "", o.all, o.patch != "", o.with != ""} {
		if is {
			asked++
		}
	}
	switch {
	case asked != 1:
		return status.Usagef(
			"the change to try is missing: give one of --patch FILE, --with FILE, --advice NUMBERS and --all")
	case (o.patch != "" || o.with != "") && o.adviceFrom != "":
		return status.Usagef("--advice-from goes with --advice or --all")
	case o.runs < 1 || o.runs > maxTries:
		return status.Usagef("-n %d: must be a number from 1 to %d", o.runs, maxTries)
	case o.timeout <= 0 || o.timeout > maxTrying:
		return status.Usagef("--timeout %s: must be a time of up to %s", o.timeout, maxTrying)
	case !(o.within.Rel >= 0) || !(o.within.Abs >= 0) || math.IsInf(o.within.Rel, 0) || math.IsInf(o.within.Abs, 0):
		return status.Usagef("--rtol and --atol must be numbers from 0")
	}
	if o.seed != "" {
		n, err := strconv.ParseInt(o.seed, 10, 64)
		if err != nil || n < 0 {
			return status.Usagef("--seed %q: must be a whole number from 0", o.seed)
		}
		o.number = &n
	}
	return nil
}

// adviceNumbers reads "1,3".
func adviceNumbers(text string) (all []int, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > 1000 {
			return nil, status.Usagef("--advice %q: must be numbers of advice, such as 1,3", text)
		}
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all, nil
}

var errTryAsRoot = status.Usagef("the notebook's code would run as root: " +
	"type 'sudo tracer try …' as yourself, " +
	"or name the user to run it as: --user NAME")

// asWhom makes sure that the notebook does not run as root.
func (o *tryOptions) asWhom() error {
	who, err := invoker.Find()
	if err != nil {
		return err
	}
	switch {
	case o.user == "" && who.UID == 0:
		return errTryAsRoot
	case o.user == "":
		return nil
	case who.UID != 0 || os.Geteuid() != 0:
		return status.Usagef("--user is for root itself: with sudo the notebook runs as the one who typed it")
	}
	named, err := invoker.Named(o.user)
	if err != nil {
		return status.Usage(err)
	}
	return named.Lend()
}

func runTry(ctx context.Context, o tryOptions, c console.Console, path string) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := status.MayTrace("a trial traces"); err != nil {
		return err
	}
	if err := o.asWhom(); err != nil {
		return err
	}
	d, err := output.NewDocument(&o.Options, c)
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
	if err := Adopt(); err != nil {
		return err
	}
	if err := t.runAll(ctx); err != nil {
		return err
	}
	return t.deliver()
}
