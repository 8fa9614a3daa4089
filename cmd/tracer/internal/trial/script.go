package trial

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"
)

// marker matches the line that begins a cell of a script.
var marker = regexp.MustCompile(`^#\s*%%(.*)$`)

// comments matches a text that has only comments and empty lines.
var comments = regexp.MustCompile(`^(\s*(#.*)?\n)*\s*(#.*)?$`)

// readScript finds the cells of a script: each begins behind a line "# %%", and the first at the beginning, unless it
// has only comments. A cell that the line names [markdown] or [raw] has no code.
func (n *Notebook) readScript() error {
	if !utf8.Valid(n.Text) {
		return errors.New("it is not a text in UTF-8")
	}
	n.script = []string{""}
	var source strings.Builder
	code, head := true, true
	end := func() {
		if code && strings.TrimSpace(source.String()) != "" && !(head && comments.MatchString(source.String())) {
			n.Cells = append(n.Cells, Cell{Source: strings.TrimRight(source.String(), "\n")})
			kept := strings.TrimRight(source.String(), "\n")
			n.script = append(n.script, kept, source.String()[len(kept):])
		} else {
			n.script[len(n.script)-1] += source.String()
		}
		source.Reset()
	}
	for line := range strings.SplitAfterSeq(string(n.Text), "\n") {
		found := marker.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if found == nil {
			source.WriteString(line)
			continue
		}
		end()
		head = false
		n.script[len(n.script)-1] += line
		code = !strings.Contains(found[1], "[markdown]") && !strings.Contains(found[1], "[md]") &&
			!strings.Contains(found[1], "[raw]")
	}
	end()
	return nil
}

// scriptWith returns the script's text with other sources in some of its cells.
func (n *Notebook) scriptWith(changed map[int]string) []byte {
	var out strings.Builder
	for i, part := range n.script {
		if source, ok := changed[i/2]; ok && i%2 == 1 {
			part = strings.TrimRight(source, "\n")
		}
		out.WriteString(part)
	}
	return []byte(out.String())
}
