package console

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

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

// Set parses the value. It takes true and false, too, as for any switch.
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

// Judge returns an error that names the faults in the scope of --strict, nil without faults. note names faults outside
// of the scope, "" for none.
func (s Strictness) Judge(r *model.Report) (note string, err error) {
	c := &r.Certificate
	figures, attribution := "", ""
	if s.Figures {
		figures = inexactParts(r)
	}
	if !c.Attribution.Complete {
		attribution = summarizeReasons(c.Attribution.Incomplete)
	}
	var faults []string
	if figures != "" {
		faults = append(faults, "--strict: not every figure and window is exact: "+figures)
	}
	switch {
	case attribution == "":
	case s.attribution:
		faults = append(faults, "--strict: who allocated is not known in full: "+attribution)
	case s.Figures:
		note = fmt.Sprintf("who allocated was not judged, and is not known in full: %s (--strict=%s judges it)",
			attribution, strictAll)
	}
	if len(faults) == 0 {
		if note != "" {
			note = "--strict: every figure and window is exact; " + note
		}
		return note, nil
	}
	if note != "" {
		faults = append(faults, note)
	}
	return "", Errorf(NotExact, "%s", strings.Join(faults, "; "))
}

// inexactParts describes which figures and windows are not exact; "" if all are.
func inexactParts(r *model.Report) string {
	var parts []string
	if n, first := countBounds(r); n > 0 {
		text := words.Plural(n, "figure") + " only a bound"
		if n > 1 {
			text = words.Plural(n, "figure") + " only bounds"
		}
		parts = append(parts, fmt.Sprintf("%s (the first: %s)", text, first))
	}
	if !r.Certificate.Complete {
		parts = append(parts, summarizeReasons(r.Certificate.Incomplete))
	}
	return strings.Join(parts, "; ")
}

// summarizeReasons returns the first reason and the number of the others.
func summarizeReasons(reasons []string) string {
	if len(reasons) == 0 {
		return "something is missing"
	}
	text := escape.Bounded(reasons[0], 300)
	if more := len(reasons) - 1; more > 0 {
		text += fmt.Sprintf(" (and %s, see the report)", words.Plural(more, "more reason"))
	}
	return text
}

// countBounds counts the figures of a report that are only bounds, and names the first.
func countBounds(r *model.Report) (n int, first string) {
	count := func(figures map[string]model.Figure, name string) {
		firstMeter := ""
		for id, f := range figures {
			if !f.Exact {
				n++
				if firstMeter == "" || id < firstMeter {
					firstMeter = id
				}
			}
		}
		if firstMeter != "" && first == "" {
			first = words.Meter(firstMeter) + " of " + name
		}
	}
	for w := range r.AllPassing() {
		name := windowName(w)
		count(w.Meters, name)
		count(w.Tree, name+" with its children")
		for i := range w.Children {
			count(w.Children[i].Meters, fmt.Sprintf("child %d in %s", w.Children[i].PID, name))
		}
	}
	for b := range r.AllBetweenPassing() {
		count(b.Meters, "the time "+b.Label)
	}
	for i := range r.Processes {
		count(r.Processes[i].Meters, fmt.Sprintf("pid %d", r.Processes[i].PID))
	}
	return n, escape.Bounded(first, 200)
}

// windowName returns the name of a window for people.
func windowName(w *model.Window) string {
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

// Proven returns the error of --strict with the reasons, unless complete says that everything is exact and known in
// full.
func (o *Options) Proven(complete bool, why []string) error {
	if complete || !o.Strict.Figures {
		return nil
	}
	return Errorf(NotExact, "%s", "--strict: not every figure is exact: "+summarizeReasons(why))
}
