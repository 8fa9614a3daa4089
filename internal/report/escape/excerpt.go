package escape

import (
	"strconv"
	"strings"
)

// maxExcerpt bounds the part of a source that is read for a one-line excerpt.
const maxExcerpt = 4096

// OneLine joins the lines of a text that are not blank by a return sign, escapes the result and cuts it to limit cells.
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

// Lines is [OneLine] of whole lines. It returns as many of the first lines as fit into limit cells, one at least, and
// the number of the others.
func Lines(text string, truncated bool, limit int) string {
	if len(text) > maxExcerpt {
		text, truncated = Prefix(text, maxExcerpt), true
	}
	var all []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) != "" {
			all = append(all, line)
		}
	}
	if len(all) == 0 {
		return OneLine(text, truncated, maxFirstLine)
	}
	out, taken := OneLine(all[0], false, maxFirstLine), 1
	for ; taken < len(all); taken++ {
		next := " ⏎ " + OneLine(strings.TrimLeft(all[taken], " \t\r"), false, maxFirstLine)
		if Cells(out)+Cells(next) > limit {
			break
		}
		out += next
	}
	switch more := len(all) - taken; {
	case truncated:
		out += " ⏎ … more lines"
	case more == 1:
		out += " ⏎ … 1 more line"
	case more > 1:
		out += " ⏎ … " + strconv.Itoa(more) + " more lines"
	}
	return out
}
