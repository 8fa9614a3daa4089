package escape

import (
	"strings"
)

// maxExcerpt bounds how much of a source is looked at for a one-line excerpt.
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
