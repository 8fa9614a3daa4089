package output

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Strictness is the scope of --strict. The zero value judges nothing.
type Strictness struct{ Figures, attribution bool }

// The values of --strict. Without a value it is strictFigures.
const (
	strictFigures     = "figures"
	strictAttribution = "attribution"
	strictAll         = "all"
)

// Any reports whether there is anything to judge.
func (s Strictness) Any() bool { return s.Figures || s.attribution }

// String returns the value in its typed form.
func (s *Strictness) String() string {
	switch {
	case s.Figures && s.attribution:
		return strictAll
	case s.Figures:
		return strictFigures
	case s.attribution:
		return strictAttribution
	}
	return ""
}

// Set parses the value. pflag sets true for --strict alone.
func (s *Strictness) Set(text string) error {
	switch text {
	case strictFigures, "true":
		*s = Strictness{Figures: true}
	case strictAttribution:
		*s = Strictness{attribution: true}
	case strictAll:
		*s = Strictness{Figures: true, attribution: true}
	case "false":
		*s = Strictness{}
	default:
		return fmt.Errorf("must be %s, %s or %s", strictFigures, strictAttribution, strictAll)
	}
	return nil
}

// Type returns the placeholder of the value in help.
func (s *Strictness) Type() string { return "bool" } // help shows it as a boolean, because the value may be missing

// addFlag defines the flag, which needs no value.
func (s *Strictness) addFlag(f *pflag.FlagSet, usage string) {
	f.Var(s, "strict", usage)
	f.Lookup("strict").NoOptDefVal = strictFigures
}

// Judge returns an error with the report's faults under --strict; nil without faults. note names faults outside of its
// scope, "" for none.
func (s Strictness) Judge(r *model.Report) (note string, err error) {
	c := &r.Certificate
	figures, attribution := "", ""
	if s.Figures {
		figures = wanting(r)
	}
	if !c.Attribution.Complete {
		attribution = reasons(c.Attribution.Incomplete)
	}
	var all []string
	if figures != "" {
		all = append(all, "--strict: not every figure and window is exact: "+figures)
	}
	switch {
	case attribution == "":
	case s.attribution:
		all = append(all, "--strict: who allocated is not known in full: "+attribution)
	case s.Figures:
		note = fmt.Sprintf("who allocated was not judged, and is not known in full: %s (--strict=%s judges it)",
			attribution, strictAll)
	}
	if len(all) == 0 {
		if note != "" {
			note = "--strict: every figure and window is exact; " + note
		}
		return note, nil
	}
	if note != "" {
		all = append(all, note)
	}
	return "", status.Errorf(status.NotExact, "%s", strings.Join(all, "; "))
}

// wanting names the figures and windows that are not exact; "" if all are.
func wanting(r *model.Report) string {
	var all []string
	if n, first := bounds(r); n > 0 {
		text := words.Plural(n, "figure") + " only a bound"
		if n > 1 {
			text = words.Plural(n, "figure") + " only bounds"
		}
		all = append(all, fmt.Sprintf("%s (the first: %s)", text, first))
	}
	if !r.Certificate.Complete {
		all = append(all, reasons(r.Certificate.Incomplete))
	}
	return strings.Join(all, "; ")
}

// reasons returns the first reason, and how many more there are.
func reasons(all []string) string {
	if len(all) == 0 {
		return "something is missing"
	}
	text := escape.Bounded(all[0], 300)
	if more := len(all) - 1; more > 0 {
		text += fmt.Sprintf(" (and %s, see the report)", words.Plural(more, "more reason"))
	}
	return text
}

// bounds counts the figures of a report that are only bounds, and names the first.
func bounds(r *model.Report) (n int, first string) {
	inexact := func(figures map[string]model.Figure, of string) {
		least := ""
		for id, f := range figures {
			if !f.Exact {
				n++
				if least == "" || id < least {
					least = id
				}
			}
		}
		if least != "" && first == "" {
			first = words.Meter(least) + " of " + of
		}
	}
	for w := range r.AllPassing() {
		of := nameOf(w)
		inexact(w.Meters, of)
		inexact(w.Tree, of+" with its children")
		for i := range w.Children {
			inexact(w.Children[i].Meters, fmt.Sprintf("child %d in %s", w.Children[i].PID, of))
		}
	}
	for b := range r.AllBetweenPassing() {
		inexact(b.Meters, "the time "+b.Label)
	}
	for i := range r.Processes {
		inexact(r.Processes[i].Meters, fmt.Sprintf("pid %d", r.Processes[i].PID))
	}
	return n, escape.Bounded(first, 200)
}

// nameOf returns the name of a window for people.
func nameOf(w *model.Window) string {
	switch w.Kind {
	case model.Cell:
		return words.CellOf(w)
	case model.Statement:
		return fmt.Sprintf("line %d of a cell", w.Line)
	case model.Experiment:
		return "experiment " + w.Name
	}
	return "the session"
}

// StrictFlag defines --strict of a command that prints no report.
func (o *Options) StrictFlag(f *pflag.FlagSet, usage string) {
	f.BoolVar(&o.Strict.Figures, "strict", false, "exit with status 4 if "+usage)
}

// Proven returns the error of --strict, with the reasons, unless everything is exact and known in full.
func (o *Options) Proven(everything bool, why []string) error {
	if everything || !o.Strict.Figures {
		return nil
	}
	return status.Errorf(status.NotExact, "%s", "--strict: not every figure is exact: "+reasons(why))
}
