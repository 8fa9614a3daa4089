package html_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/report/html"
	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/words"
	"ipytracer/model"
)

func print(t *testing.T, r *model.Report, a *model.Audit) (page string, data block) {
	t.Helper()
	var b bytes.Buffer
	if err := html.Write(&b, r, html.Options{Audit: a}); err != nil {
		t.Fatal(err)
	}
	page = b.String()
	_, rest, ok := strings.Cut(page, `<script type="application/json" id="data">`)
	if !ok {
		t.Fatal("the page has no data")
	}
	text, _, ok := strings.Cut(rest, "</script>")
	if !ok || strings.ContainsAny(text, "<>&\u2028\u2029") {
		t.Fatal("the data is not only data")
	}
	if err := json.Unmarshal([]byte(text), &data); err != nil {
		t.Fatalf("data: %v", err)
	}
	data.readAll(t)
	return page, data
}

// TestFigures: the data of every fixture has the figures of the report, to the byte.
func TestFigures(t *testing.T) {
	for name, make := range reporttest.Reports {
		t.Run(name, func(t *testing.T) {
			r := make()
			_, data := print(t, r, nil)
			seen := 0
			trees := 0
			for row, id := range data.Rows.ID {
				if id == 0 {
					continue
				}
				for i := range r.Windows {
					w := &r.Windows[i]
					if int64(w.ID) != id {
						continue
					}
					seen++
					if got := data.sources[data.Rows.Source[row]]; w.Kind == model.Cell &&
						(got == "" || !strings.HasPrefix(escape.But(w.Source, "\n\t"), got)) {
						t.Errorf("window %d: source %.100q, want %.100q", id, got, w.Source)
					}
					for m, meter := range data.Meters {
						c := data.Rows.Figures[m]
						f, ok := w.Meters[meter.ID]
						off := int64(0)
						if c.Off != nil {
							off = c.Off[row]
						}
						if ok != (off != -2) || c.Start[row] != f.Start || c.Need[row] != f.Need() ||
							c.Consumed[row] != f.Consumed || ok && f.Exact != (off == 0) {
							t.Errorf("window %d, %s: %d, %d, %d, %d for %+v",
								id, meter.ID, c.Start[row], c.Need[row], c.Consumed[row], off, f)
						}
						with, ok := w.Tree[meter.ID]
						all := data.Rows.Trees
						there := trees < len(all.Row) && all.Row[trees] == int64(row) && all.Meter[trees] == int64(m)
						if ok != there ||
							ok &&
								(all.Start[trees] != with.Start || all.Need[trees] != with.Need() ||
									all.Consumed[trees] != with.Consumed || with.Exact != (all.Off[trees] == 0)) {
							t.Errorf("window %d, %s with children: it is %+v", id, meter.ID, with)
						}
						if there {
							trees++
						}
					}
				}
			}
			if trees != len(data.Rows.Trees.Row) {
				t.Errorf("%d of %d figures with children", trees, len(data.Rows.Trees.Row))
			}
			if seen != len(r.Windows) {
				t.Errorf("%d of %d windows", seen, len(r.Windows))
			}
		})
	}
}

// TestNothingButText: with any texts of a session, the page has the same elements as without them.
func TestNothingButText(t *testing.T) {
	elements := regexp.MustCompile(`<[a-zA-Z!/][^>]*`)
	r, a := reporttest.WithLines(), reporttest.Audited()
	before, _ := print(t, r, a)
	reporttest.Poison(r)
	reporttest.Poison(a)
	after, data := print(t, r, a)
	want, got := elements.FindAllString(before, -1), elements.FindAllString(after, -1)
	if len(want) == 0 || fmt.Sprint(want) != fmt.Sprint(got) {
		t.Errorf("elements %q, want %q", got, want)
	}
	all := data.Texts
	for _, s := range data.sources {
		all = append(all, s)
	}
	for _, s := range all {
		reporttest.CheckSafe(t, s, "\n\t")
	}
	if !strings.Contains(strings.Join(all, "\n"), "onerror") {
		t.Error("the texts are not there")
	}
}

// TestSlower: the cost of expensive probes is among the answers at the page's beginning.
func TestSlower(t *testing.T) {
	r := reporttest.Rich()
	r.Certificate.Probes = append(r.Certificate.Probes, model.Probe{
		Name: "numpy", Hits: 380_786, CostNS: 380_786_000, Dear: "its code is not known",
	})
	_, data := print(t, r, nil)
	want := [2]string{"slower", words.ExpensiveProbes(&r.Certificate.Probes[len(r.Certificate.Probes)-1])}
	if !slices.Contains(data.Answers, want) {
		t.Errorf("%q is not among %q", want, data.Answers)
	}
}

// TestContentPolicyOfAPage: a page may run only the program that this package gives it; it may send requests only if it
// comes from a server.
func TestContentPolicyOfAPage(t *testing.T) {
	page, _ := print(t, reporttest.Rich(), nil)
	for _, part := range []string{
		`default-src 'none';`, `script-src 'sha256-`, `style-src 'sha256-`, `require-trusted-types-for 'script'`,
	} {
		if !strings.Contains(page[:2000], part) {
			t.Errorf("no %s in the policy", part)
		}
	}
	for _, not := range []string{"unsafe-inline", "unsafe-eval", "connect-src"} {
		if strings.Contains(html.Policy(html.Options{}), not) {
			t.Errorf("%s in the policy", not)
		}
	}
	if !strings.Contains(html.Policy(html.Options{Version: 1}), "connect-src 'self'") {
		t.Error("a page of a running session cannot ask for newer figures")
	}
}

// long returns a session of a number of cells with statements and stacks.
func long(cells int) *model.Report {
	r := reporttest.Rich()
	r.Windows = r.Windows[:0]
	for i := range cells {
		w := reporttest.CellWindow(10*i+10, i+1,
			fmt.Sprintf("step(%d)\nx = %d\ny = load('a file name of some length', x)", i, i))
		at := int64(i%977) << 20
		w.Meters = reporttest.All(reporttest.Fig(at, at+int64(i)<<12, at), reporttest.Fig(at, at, at),
			reporttest.Fig(0, 0, 0))
		for j := range 60 {
			w.Allocations = append(w.Allocations,
				model.Allocation{
					Meter: "cpu.numpy", AtPeak: int64(j+1) << 10, Allocated: 1 << 20, Count: 1, Stack: []model.Frame{
						{
							Function: fmt.Sprintf("inner%d", j),
							File:     "/usr/lib/python3/dist-packages/numpy/core/numeric.py", Line: j,
						},
						{Function: "<module>", File: "/tmp/ipykernel_1/1.py", Line: 1, Execution: i + 1}},
				})
		}
		w.Coverage = map[string]model.Coverage{"cpu.numpy": {AtPeak: 60 * 61 / 2 << 10, Exact: true}}
		r.Windows = append(r.Windows, w)
		for j := range 3 {
			r.Windows = append(r.Windows, reporttest.StatementWindow(10*i+11+j, 10*i+10, j+1, w.Meters))
		}
	}
	return r
}

// TestSize: a notebook of 60 cells makes a page that can be mailed, a session of 20,000 one that a browser opens; items
// without room are counted.
func TestSize(t *testing.T) {
	page, data := print(t, long(60), nil)
	if len(page) > 2<<20 {
		t.Errorf("60 cells make a page of %d bytes", len(page))
	}
	if len(data.Left) > 0 {
		t.Errorf("left out of a page of 60 cells: %q", data.Left)
	}
	page, data = print(t, long(20_000), nil)
	if len(page) > 4<<20 {
		t.Errorf("20,000 cells make a page of %d bytes", len(page))
	}
	cells, statements, stacks, more := 0, 0, 0, 0
	for _, kind := range data.Rows.Kind {
		switch kind {
		case 2:
			cells++
		case 3:
			statements++
		}
	}
	for _, d := range data.Details {
		stacks += len(d.Stacks) / 5
		more += d.More
	}
	if cells != 20_000 || statements == 0 || stacks == 0 || len(data.Details) >= cells {
		t.Errorf("%d cells, %d statements, %d stacks in %d cells", cells, statements, stacks, len(data.Details))
	}
	said := strings.Join(data.Left, "\n")
	want := fmt.Sprintf("%s statements of lighter cells", thousands(60_000-statements))
	if !strings.Contains(said, want) {
		t.Errorf("left out: %q, want %q", data.Left, want)
	}
	if want := fmt.Sprintf("%s lighter cells", thousands(20_000-len(data.Details))); !strings.Contains(said, want) {
		t.Errorf("left out: %q, want %q", data.Left, want)
	}
}

func thousands(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }
