package doc

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"

	"ipytracer/internal/report/escape"
)

// Markdown writes the blocks as GitHub and GitLab show Markdown. Every text that may come from a notebook is a code
// span, in which nothing is a link, a mention or HTML.
func (d *Document) Markdown(w io.Writer) error {
	p, out := d.page(markdownItems), bufio.NewWriter(w)
	fmt.Fprintf(out, "### %s, by ipytracer\n\n", p.Title)
	for _, f := range p.Facts {
		fmt.Fprintf(out, "- %s: %s\n", inline(f.Name), inline(f.Text))
	}
	for i := range p.Sections {
		s := &p.Sections[i]
		fmt.Fprintf(out, "\n#### %s\n\n", s.Title)
		if s.Note != "" {
			fmt.Fprintf(out, "%s\n\n", s.Note)
		}
		if s.Pre != "" {
			for line := range strings.Lines(s.Pre) { // indented, so that nothing ends it
				fmt.Fprintf(out, "    %s\n", escape.Text(strings.TrimSuffix(line, "\n")))
			}
		}
		if len(s.Rows) > 0 {
			s.table(out)
		} else if s.Pre == "" {
			fmt.Fprint(out, "None.\n")
		}
		if s.More != "" {
			fmt.Fprintf(out, "\n… %s\n", s.More)
		}
	}
	return out.Flush()
}

var (
	harmless = regexp.MustCompile(`^[\pL\pN .,+−–→%≥≈·;()\[\]=-]*$`)
	domain   = regexp.MustCompile(`\pL\.\pL`) // GitHub turns it into a link
)

// inline returns a text as it is if none of its characters has a meaning in Markdown, else a code span.
func inline(text string) string {
	if harmless.MatchString(text) && !domain.MatchString(text) {
		return text
	}
	return Code(text)
}

func (s *section) table(out *bufio.Writer) {
	for _, c := range s.Columns {
		fmt.Fprintf(out, "| %s ", c.Title)
	}
	fmt.Fprint(out, "|\n")
	for _, c := range s.Columns {
		if c.Right {
			fmt.Fprint(out, "|---:")
		} else {
			fmt.Fprint(out, "|---")
		}
	}
	fmt.Fprint(out, "|\n")
	for _, row := range s.Rows {
		for _, c := range row {
			fmt.Fprintf(out, "| %s ", inline(c.Text))
		}
		fmt.Fprint(out, "|\n")
	}
}

// Code returns a text as a code span within a table: nothing in it is Markdown. The marks around it are longer than any
// in it.
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
