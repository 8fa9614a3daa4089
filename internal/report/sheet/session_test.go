package sheet_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// parsed returns a page as GitHub reads it: the rows of its tables, and the text of each cell. It fails on elements
// that the text of a notebook could have produced.
func parsed(t *testing.T, page []byte) (rows [][]string) {
	t.Helper()
	reporttest.CheckSafe(t, string(page), "\n")
	document := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(page))
	err := ast.Walk(document, func(n ast.Node, in bool) (ast.WalkStatus, error) {
		if !in {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *tables.TableRow, *tables.TableHeader:
			var row []string
			for cell := n.FirstChild(); cell != nil; cell = cell.NextSibling() {
				row = append(row, textOf(cell, page))
			}
			rows = append(rows, row)
		case *ast.Heading, *ast.Paragraph, *ast.Text, *ast.CodeSpan, *tables.Table, *tables.TableCell, *ast.Document,
			*ast.List, *ast.ListItem, *ast.TextBlock:
		case *ast.Emphasis:
			if textOf(n, page) != "Not complete." {
				t.Errorf("emphasis %q", textOf(n, page))
			}
		default:
			t.Errorf("%T in the page: %s", n, textOf(n, page))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func textOf(n ast.Node, page []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if leaf, ok := c.(*ast.Text); ok {
			b.Write(leaf.Segment.Value(page))
		} else {
			b.WriteString(textOf(c, page))
		}
	}
	return b.String()
}

func TestPages(t *testing.T) {
	for name, make := range reporttest.Reports {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := sheet.SessionMarkdown(&b, make()); err != nil {
				t.Fatal(err)
			}
			if b.Len() > 32<<10 {
				t.Errorf("%d bytes are much for a comment", b.Len())
			}
			r, rows := make(), parsed(t, b.Bytes())
			for i := range r.Windows {
				w := &r.Windows[i]
				meter := "cpu.resident"
				if name == "training" {
					meter = "gpu.0.driver" // the one that ranks
				}
				f, ok := w.Together(meter)
				if w.Kind != model.Cell || w.Execution > 7 || !ok {
					continue
				}
				want, found := words.Bytes(f.Need()), false
				for _, row := range rows {
					found = found ||
						len(row) > 3 && strings.HasPrefix(row[0], cellName(w)) &&
							strings.TrimLeft(row[1], "≈≥") == want &&
							strings.TrimLeft(row[3], "≈≥") == words.Bytes(f.Peak)
				}
				if !found && name != "many" {
					t.Errorf("%s needs %s: %v", cellName(w), want, rows)
				}
			}
		})
	}
}

func cellName(w *model.Window) string {
	if w.ExecutionCount == nil {
		return words.Cell(w.Execution, -1, w.Silent)
	}
	return words.In(*w.ExecutionCount)
}

// TestNothingBecomesMarkdown: text from a notebook stays text.
func TestNothingBecomesMarkdown(t *testing.T) {
	for _, source := range []string{
		"`", "``", "a`b``c", "`x", "x`", "|", `\|`, `\\|`, `a | b`, "<script>alert(1)</script>",
		"![x](http://example.com/x.png)", "[a](javascript:x)", "@octocat #1 https://example.com", "*x* _y_ ~z~", "# x",
		"- x", "`` ` ``|` `", "<!--", "&lt;", "$x$", "\\", "`\\`|`", "```\nx\n```", "a\\`b|c",
	} {
		r := reporttest.Rich()
		for i := range r.Windows {
			r.Windows[i].Source, r.Windows[i].Name = source, source
		}
		r.Host.Name, r.Certificate.Incomplete, r.Certificate.Complete = source, []string{source}, false
		r.Lines = []model.Line{
			{Meter: "cpu.numpy", Frame: model.Frame{Function: source, File: source, Line: 3}, AtPeak: 1 << 20},
		}
		var b bytes.Buffer
		if err := sheet.SessionMarkdown(&b, r); err != nil {
			t.Fatal(err)
		}
		widths := map[string]bool{}
		for _, row := range parsed(t, b.Bytes()) {
			widths[fmt.Sprint(len(row))] = true
		}
		// goldmark fills short rows and cuts long ones: the bars are counted in the text
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(line, "| In[") || strings.HasPrefix(line, "| a cell") ||
				strings.HasPrefix(line, "| a silent") {
				if n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); n != 8 {
					t.Errorf("%q: a row of %d bars: %s", source, n, line)
				}
			}
		}
		if len(widths) != 3 {
			t.Errorf("%q: rows of %v cells", source, widths)
		}
	}
}

// TestAttribution: missing stacks do not make a certificate of figures incomplete, and are named beside it.
func TestAttribution(t *testing.T) {
	for _, r := range []*model.Report{reporttest.Rich(), reporttest.Inexact()} {
		text := func() string {
			var b bytes.Buffer
			if err := sheet.SessionMarkdown(&b, r); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		whole := !strings.Contains(text(), "Who allocated is not known in full")
		if whole != r.Certificate.Attribution.Complete {
			t.Errorf("who allocated is known in full: %v", whole)
		}
		r.Certificate.Attribution = model.Attribution{Incomplete: []string{"native frames not known in time (44)"}}
		if text := text(); !strings.Contains(text, "`native frames not known in time (44)`") ||
			strings.Contains(text, "**Not complete.**") == r.Certificate.Complete {
			t.Errorf("%s", text)
		}
	}
}

// TestSlower: the cost of expensive probes stands in front of the tables, as text.
func TestSlower(t *testing.T) {
	r := reporttest.Rich()
	r.Certificate.Probes = append(r.Certificate.Probes, model.Probe{
		Name: "numpy", Hits: 380_786, CostNS: 380_786_000, Dear: "[a](javascript:x) its code is not known",
	})
	var b bytes.Buffer
	if err := sheet.SessionMarkdown(&b, r); err != nil {
		t.Fatal(err)
	}
	const want = "\n\nSlower: `each array and each scalar is traced, which slows code down that makes many " +
		"([a](javascript:x) its code is not known): 380,786 hits took about 381 ms of CPU time`\n\n"
	if at, table := strings.Index(b.String(), want), strings.Index(b.String(), "\n|"); at < 0 || at > table {
		t.Errorf("%s", b.String())
	}
}

// TestLimitsAndGPUs: limits and the names of GPUs are one paragraph of their own, in front of the table, whichever of
// the two is known.
func TestLimitsAndGPUs(t *testing.T) {
	for _, c := range []struct {
		name         string
		host, gpu    int64
		gpus         int
		first, found string
	}{
		{
			"both", 125 * reporttest.GiB, 80 * reporttest.GiB, 1, "Nearest to a limit: 78.55 of 80.00 GiB of GPU 0",
			". GPU 0: `NVIDIA H100 80GB HBM3, 80.00 GiB`.\n\n| cell |",
		},
		{
			"no GPU's name", 125 * reporttest.GiB, 0, 0, "Nearest to a limit: 2.57 of 125.00 GiB resident (2 %)",
			".\n\n| cell |",
		},
		{"no limit", 0, 0, 1, "GPU 0: `NVIDIA H100 80GB HBM3`.\n\n| cell |", ""},
		{"neither", 0, 0, 0, "| cell |", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := reporttest.Training()
			r.Windows[0].Refused = nil
			r.Host.Memory, r.GPUs = c.host, r.GPUs[:c.gpus]
			for i := range r.GPUs {
				r.GPUs[i].Memory = c.gpu
			}
			r.Levels = model.LevelsOf(r.Processes, r.GPUs)
			var b bytes.Buffer
			if err := sheet.SessionMarkdown(&b, r); err != nil {
				t.Fatal(err)
			}
			_, page, _ := strings.Cut(b.String(), "Peaks of the session:")
			_, page, _ = strings.Cut(page, "\n\n")
			if !strings.HasPrefix(page, c.first) || !strings.Contains(page, c.found) {
				t.Errorf("want %q and %q in\n%.300s", c.first, c.found, page)
			}
			if rows := parsed(t, b.Bytes()); len(rows) == 0 || rows[0][0] != "cell" {
				t.Errorf("the table of cells is none: %v", rows)
			}
		})
	}
}

// TestLinesWithTheirCalls: a page has the lines of the notebook with all calls below them, and with Full those of
// libraries.
func TestLinesWithTheirCalls(t *testing.T) {
	one := 1
	cell := model.Frame{
		Function: "<module>", File: "/tmp/ipykernel_1/1.py", Line: 7, Execution: 1, ExecutionCount: &one,
	}
	r := reporttest.Rich()
	r.Lines = []model.Line{
		{Meter: "cpu.numpy", Frame: cell, AtPeak: 512 << 20, Allocated: 600 << 20, Count: 3},
		{Meter: "cpu.mapped", Frame: cell, AtPeak: 520 << 20, Allocated: 610 << 20, Count: 9},
		{
			Meter: "cpu.numpy",
			Frame: model.Frame{
				Function: "ones", File: "/usr/lib/python3/dist-packages/numpy/core/numeric.py", Line: 205,
			},
			AtPeak: 512 << 20, OwnAtPeak: 512 << 20, OwnAllocated: 600 << 20, Count: 3,
		},
		{
			Meter: "cpu.numpy", Frame: model.Frame{Function: "PyDataMem_UserNEW", Module: "_umath.so", Native: true},
			AtPeak: 512 << 20, OwnAtPeak: 512 << 20, Count: 3,
		},
	}
	page := func(print func(io.Writer, *model.Report) error) (lines []string) {
		var b bytes.Buffer
		if err := print(&b, r); err != nil {
			t.Fatal(err)
		}
		for _, row := range parsed(t, b.Bytes()) {
			if len(row) == 5 && row[0] != "line" {
				lines = append(lines, strings.Join(row, " "))
			}
		}
		return lines
	}
	if got, want := page(sheet.SessionMarkdown), []string{"In[1]:7 numpy 512.00 MiB 600.00 MiB 3"}; !slices.Equal(got,
		want) {
		t.Errorf("got %q, want %q", got, want)
	}
	got, want := page(sheet.SessionMarkdownFull), []string{
		"/usr/lib/python3/dist-packages/numpy/core/numeric.py ones:205 numpy 512.00 MiB 600.00 MiB 3",
	}
	if !slices.Equal(got, want) {
		t.Errorf("with --full: got %q, want %q", got, want)
	}
}
