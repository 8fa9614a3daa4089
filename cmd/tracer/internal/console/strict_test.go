package console

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

func TestStrictValues(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
		bad  bool
	}{
		{nil, "", false}, {[]string{"--strict"}, strictFigures, false},
		{[]string{"--strict=figures"}, strictFigures, false}, {[]string{"--strict=true"}, strictFigures, false},
		{[]string{"--strict=false"}, "", false}, {[]string{"--strict=attribution"}, strictAttribution, false},
		{[]string{"--strict=all"}, strictAll, false}, {[]string{"--strict=some"}, "", true},
	} {
		var s Strictness
		f := pflag.NewFlagSet("test", pflag.ContinueOnError)
		s.addFlag(f, "")
		if err := f.Parse(c.args); (err != nil) != c.bad || s.String() != c.want {
			t.Errorf("%q: %q, %v", c.args, s.String(), err)
		}
	}
}

// strictCase is a report, a value of --strict, and parts of the note and of the error that it leads to.
type strictCase struct {
	name, value string
	r           *model.Report
	note, err   []string
}

func strictCases() []strictCase {
	rich, unnamed, bound, incomplete := reporttest.Rich(), reporttest.Rich(), reporttest.Rich(), reporttest.Rich()
	for _, r := range []*model.Report{rich, unnamed, incomplete} {
		exact(r)
	}
	unnamed.Certificate.Attribution = model.Attribution{Incomplete: []string{"native frames not known in time (44)"}}
	exact(bound)
	f := bound.Windows[3].Meters["cpu.numpy"]
	f.Exact = false
	bound.Windows[3].Meters["cpu.numpy"] = f
	bound.Certificate.Attribution = unnamed.Certificate.Attribution
	incomplete.Certificate.Complete, incomplete.Certificate.Incomplete = false, []string{
		"3 cells have no window", "more", "and more",
	}
	return []strictCase{
		{"all right", "all", rich, nil, nil},
		{"not asked", "false", unnamed, nil, nil},
		{
			"unnamed", "figures", unnamed,
			[]string{
				"every figure and window is exact", "was not judged", "native frames not known in time (44)",
				"--strict=all",
			},
			nil,
		},
		{
			"unnamed, all", "all", unnamed, nil,
			[]string{"--strict: who allocated is not known in full: native frames not known in time (44)"},
		},
		{"unnamed, alone", "attribution", unnamed, nil, []string{"who allocated is not known in full"}},
		{
			"bound", "figures", bound, nil,
			[]string{
				"--strict: not every figure and window is exact: 1 figure only a bound (the first: numpy of ",
				"who allocated was not judged",
			},
		},
		{"bound, attribution", "attribution", bound, nil, []string{"who allocated is not known in full"}},
		{
			"incomplete", "figures", incomplete, nil,
			[]string{
				"not every figure and window is exact: 3 cells have no window (and 2 more reasons, see the report)",
			},
		},
		{"incomplete, attribution", "attribution", incomplete, nil, nil},
	}
}

// TestStrictJudges: --strict judges figures and windows and names those that are not exact; it mentions stacks, and
// judges them on request.
func TestStrictJudges(t *testing.T) {
	for _, c := range strictCases() {
		var s Strictness
		if err := s.Set(c.value); err != nil {
			t.Fatal(err)
		}
		note, err := s.Judge(c.r)
		said := ""
		if err != nil {
			said = err.Error()
			if code, text := Explain(err); code != NotExact || text != said {
				t.Errorf("%s: status %d, %q", c.name, code, text)
			}
		}
		for text, want := range map[string][]string{note: c.note, said: c.err} {
			if (text == "") != (len(want) == 0) {
				t.Errorf("%s: %q, want %q", c.name, text, want)
			}
			for _, one := range want {
				if !strings.Contains(note+said, one) {
					t.Errorf("%s: note %q, error %q: want %q", c.name, note, said, one)
				}
			}
		}
		if strings.Contains(note+said, "\n") {
			t.Errorf("%s: more than a sentence: %q", c.name, note+said)
		}
	}
}

// exact makes every figure of a report exact.
func exact(r *model.Report) {
	all := func(figures map[string]model.Figure) {
		for id, f := range figures {
			f.Exact, f.Bound = true, nil
			figures[id] = f
		}
	}
	for i := range r.Windows {
		all(r.Windows[i].Meters)
		all(r.Windows[i].Tree)
		for k := range r.Windows[i].Children {
			all(r.Windows[i].Children[k].Meters)
		}
	}
	for i := range r.Between {
		all(r.Between[i].Meters)
	}
	for i := range r.Processes {
		all(r.Processes[i].Meters)
	}
}
