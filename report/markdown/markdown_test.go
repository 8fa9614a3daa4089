package markdown_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"ipytracer/model"
	"ipytracer/report/markdown"
	"ipytracer/report/reporttest"
	"ipytracer/words"
)

// parsed is a page as GitHub reads it: the rows of its tables, each cell's text, and nothing that a notebook could have made of it.
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
		case *ast.Heading, *ast.Paragraph, *ast.Text, *ast.CodeSpan, *tables.Table, *tables.TableCell, *ast.Document, *ast.List, *ast.ListItem, *ast.TextBlock:
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
			if err := markdown.Print(&b, make()); err != nil {
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
					found = found || len(row) > 3 && strings.HasPrefix(row[0], cellName(w)) && strings.TrimLeft(row[1], "≈≥") == want && strings.TrimLeft(row[3], "≈≥") == words.Bytes(f.Peak)
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

// TestNothingBecomesMarkdown: what a notebook writes stays text.
func TestNothingBecomesMarkdown(t *testing.T) {
	for _, source := range []string{
		"`", "``", "a`b``c", "`x", "x`", "|", `\|`, `\\|`, `a | b`, "<script>alert(1)</script>", "![x](http://example.com/x.png)", "[a](javascript:x)", "@octocat #1 https://example.com",
		"*x* _y_ ~z~", "# x", "- x", "`` ` ``|` `", "<!--", "&lt;", "$x$", "\\", "`\\`|`", "```\nx\n```", "a\\`b|c",
	} {
		r := reporttest.Rich()
		for i := range r.Windows {
			r.Windows[i].Source, r.Windows[i].Name = source, source
		}
		r.Host.Name, r.Certificate.Incomplete, r.Certificate.Complete = source, []string{source}, false
		r.Lines = []model.Line{{Meter: "cpu.numpy", Frame: model.Frame{Function: source, File: source, Line: 3}, OwnAtPeak: 1 << 20}}
		var b bytes.Buffer
		if err := markdown.Print(&b, r); err != nil {
			t.Fatal(err)
		}
		widths := map[string]bool{}
		for _, row := range parsed(t, b.Bytes()) {
			widths[fmt.Sprint(len(row))] = true
		}
		// goldmark fills short rows and cuts long ones: the bars are counted in the text
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(line, "| In[") || strings.HasPrefix(line, "| a cell") || strings.HasPrefix(line, "| a silent") {
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

// TestAttribution: what is missing of who allocated makes no certificate of figures incomplete, and is said beside it.
func TestAttribution(t *testing.T) {
	for _, r := range []*model.Report{reporttest.Rich(), reporttest.Inexact()} {
		text := func() string {
			var b bytes.Buffer
			if err := markdown.Print(&b, r); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		if whole := !strings.Contains(text(), "Who allocated is not known in full"); whole != r.Certificate.Attribution.Complete {
			t.Errorf("who allocated is known in full: %v", whole)
		}
		r.Certificate.Attribution = model.Attribution{Incomplete: []string{"native frames not known in time (44)"}}
		if text := text(); !strings.Contains(text, "`native frames not known in time (44)`") || strings.Contains(text, "**Not complete.**") == r.Certificate.Complete {
			t.Errorf("%s", text)
		}
	}
}
