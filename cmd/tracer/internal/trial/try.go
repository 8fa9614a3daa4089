package trial

import (
	"context"
	"fmt"
	"os"
	"strings"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/host/privileges"
	"ipytracer/internal/report/escape"
	"ipytracer/model"
)

// try is the state of one `tracer try`.
type try struct {
	*console.Document
	o               *tryOptions
	notebook        *Notebook
	variants        []*Variant
	advice          *model.Advice           // nil without advice
	cellOfExecution func(execution int) int // see Notebook.Edited; nil if the advice is for another session
	changed         *privileges.File        // nil unless the changed notebook is to be written
	runner          *Runner
	judged          *Trial
	done            int // runs that have begun
}

// run runs a variant once, or the original if v is nil. total is the number of all runs, for the messages; 0 if
// unknown.
func (t *try) run(ctx context.Context, v *Variant, total int) (*Figures, error) {
	t.done++
	n, name := t.notebook, "as it is"
	if v != nil {
		n, name = v.Notebook, "with "+v.Name
	}
	what := fmt.Sprintf("tracer: run %d of %d, %s", t.done, total, escape.Text(name))
	if total == 0 {
		what = fmt.Sprintf("tracer: run %d, %s", t.done, escape.Text(name))
	}
	_, isTerminal := console.Terminal(t.Console.Err)
	isTerminal = isTerminal && os.Getenv("TERM") != "dumb"
	t.runner.Begins = func(cell int) {
		if isTerminal && !t.o.Quiet {
			fmt.Fprintf(t.Console.Err, "\r\x1b[K%s: cell %d of %d …", what, cell, len(n.Cells))
		}
	}
	result, figures, err := t.runner.Run(ctx, n)
	if isTerminal && !t.o.Quiet {
		fmt.Fprint(t.Console.Err, "\r\x1b[K")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.TrimPrefix(what, "tracer: "), err)
	}
	if err := t.judged.Add(v, result, figures); err != nil {
		return nil, err
	}
	if !t.o.Quiet {
		fmt.Fprintln(t.Console.Err, what+" …", t.judged.DescribeLastRun())
	}
	return figures, nil
}
