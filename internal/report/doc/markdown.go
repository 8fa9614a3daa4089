package doc

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"

	"ipytracer/internal/report/escape"
)

// Markdown writes the document as Markdown of GitHub and GitLab. Every text that may come from a notebook is a code
// span, in which nothing is a link, a mention or HTML.
func (d *Document) Markdown(w io.Writer) error {
	out := bufio.NewWriter(w)
	if d.Flow {
		d.flow(out)
		return out.Flush()
	}
	p := d.page(markdownItems)
	fmt.Fprintf(out, "### %s, by ipytracer\n\n", p.Title)
	for _, f := range p.Facts {
		fmt.Fprintf(out, "- %s: %s\n", inline(cell{Text: f.Name}), inline(cell{Text: f.Text}))
	}
	for i := range p.Sections {
		s := &p.Sections[i]
		fmt.Fprintf(out, "\n#### %s\n\n", s.Title)
		if s.Note != "" {
			fmt.Fprintf(out, "%s\n\n", s.Note)
		}
		if s.Pre != "" {
			for line := range strings.Lines(s.Pre) { // indented, because a text could contain the end of a fence
				fmt.Fprintf(out, "    %s\n", escape.Text(strings.TrimSuffix(line, "\n")))
			}
		}
		if len(s.Rows) > 0 {
			s.table(out, sectionTable)
		} else if s.Pre == "" {
			fmt.Fprint(out, "None.\n")
		}
		if s.More != "" {
			fmt.Fprintf(out, "\n… %s\n", s.More)
		}
	}
	return out.Flush()
}

// flow writes a document with Flow: lines and tables in their order.
func (d *Document) flow(out *bufio.Writer) {
	fmt.Fprintf(out, "### %s, by ipytracer\n\n", d.Title)
	for _, b := range d.blocks {
		switch part := b.part.(type) {
		case blank:
			fmt.Fprint(out, "\n")
		case line:
			for _, s := range part.whole {
				text := flowing(cell{Text: s.Text, Code: s.Source})
				if s.Style == strong {
					text = "**" + text + "**"
				}
				fmt.Fprint(out, text)
			}
			fmt.Fprint(out, "\n")
		case *Table:
			var s section
			part.fill(&s, len(part.rows))
			s.table(out, flowTable)
			if s.More != "" {
				fmt.Fprintf(out, "\n… %s\n", s.More)
			}
		}
	}
}

// flowing returns a cell of a document with Flow: sources as code, other texts as Markdown.
func flowing(c cell) string {
	if c.Code {
		return Code(c.Text)
	}
	return escape.Text(c.Text)
}

var (
	harmless = regexp.MustCompile(`^[\pL\pN .,+−–→%≥≈·;()\[\]=-]*$`)
	domain   = regexp.MustCompile(`\pL\.\pL`) // GitHub turns it into a link
)

// inline returns a text as it is if none of its characters has a meaning in Markdown, else a code span.
func inline(c cell) string {
	if harmless.MatchString(c.Text) && !domain.MatchString(c.Text) {
		return c.Text
	}
	return Code(c.Text)
}

// tableStyle is how a table is written.
type tableStyle struct {
	right    string // the mark of a column that is aligned to the right
	untitled string // the heading of a column without a title
	text     func(cell) string
}

var (
	sectionTable = tableStyle{"|---:", "|  ", inline}
	flowTable    = tableStyle{"|--:", "| ", flowing}
)

// table writes the columns and rows of a section as a table.
func (s *section) table(out *bufio.Writer, style tableStyle) {
	for _, c := range s.Columns {
		if c.Title == "" {
			fmt.Fprint(out, style.untitled)
		} else {
			fmt.Fprintf(out, "| %s ", c.Title)
		}
	}
	fmt.Fprint(out, "|\n")
	for _, c := range s.Columns {
		if c.Right {
			fmt.Fprint(out, style.right)
		} else {
			fmt.Fprint(out, "|---")
		}
	}
	fmt.Fprint(out, "|\n")
	for _, row := range s.Rows {
		for _, c := range row {
			fmt.Fprintf(out, "| %s ", style.text(c))
		}
		fmt.Fprint(out, "|\n")
	}
}

// Code returns a text as a code span that is safe in a table: nothing in it is Markdown. The run of backticks around it
// is longer than any run in it.
func Code(s string) string {
	s = strings.ReplaceAll(escape.Text(s), `\|`, `\¦`) // two backslashes before a bar would end the cell
	s = strings.ReplaceAll(strings.TrimSpace(s), "|", `\|`)
	if s == "" {
		return ""
	}
	longest, run := 0, 0
	for _, c := range s {
		if run++; c != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	mark := strings.Repeat("`", longest+1)
	if s[0] == '`' || s[len(s)-1] == '`' {
		s = " " + s + " "
	}
	return mark + s + mark
}
