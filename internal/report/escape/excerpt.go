package escape

import (
	"strconv"
	"strings"
)

// maxExcerpt is the most bytes of a source that are read for a one-line excerpt.
const maxExcerpt = 4096

// OneLine joins the lines of a text that are not blank by " ⏎ ", escapes the result and cuts it to limit cells.
// truncated says that the text itself was cut: the result then ends in an ellipsis.
func OneLine(text string, truncated bool, limit int) string {
	var parts []string
	size := 0
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(strings.TrimSuffix(line, "\r"), " \t")
		if line == "" {
			continue
		}
		if len(parts) > 0 {
			line = strings.TrimLeft(line, " \t")
		}
		line = strings.ReplaceAll(line, "\t", "    ")
		if size += len(line) + len(" ⏎ "); size > maxExcerpt {
			parts = append(parts, Prefix(line, max(0, len(line)-(size-maxExcerpt))))
			truncated = true
			break
		}
		parts = append(parts, line)
	}
	joined := strings.Join(parts, " ⏎ ")
	if truncated {
		joined += " …"
	}
	return Bounded(joined, limit)
}

// maxFirstLine is the most cells of the first line of a text in [Lines].
const maxFirstLine = 400

// Lines is [OneLine] for whole lines: it joins as many of the first lines as fit into limit cells, at least one, and
// adds the number of the others.
func Lines(text string, truncated bool, limit int) string {
	if len(text) > maxExcerpt {
		text, truncated = Prefix(text, maxExcerpt), true
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return OneLine(text, truncated, maxFirstLine)
	}
	out, shown := OneLine(lines[0], false, maxFirstLine), 1
	for ; shown < len(lines); shown++ {
		next := " ⏎ " + OneLine(strings.TrimLeft(lines[shown], " \t\r"), false, maxFirstLine)
		if Cells(out)+Cells(next) > limit {
			break
		}
		out += next
	}
	switch more := len(lines) - shown; {
	case truncated:
		out += " ⏎ … more lines"
	case more == 1:
		out += " ⏎ … 1 more line"
	case more > 1:
		out += " ⏎ … " + strconv.Itoa(more) + " more lines"
	}
	return out
}
