package running

import "strings"

// lineIn looks a line up in a result of [TypedLines].
func LineIn(lines []int32, line int32) int32 {
	switch {
	case lines == nil || line <= 0:
		return line
	case int(line) > len(lines):
		return 0
	}
	return lines[line-1]
}

// TypedLines returns, for each line of the text that IPython compiles, its line in the typed text, from 1; 0 where that
// is not known. It returns nil where both have the same lines. IPython rewrites line for line (%magic, !command,
// help?), but it removes leading blank lines, and makes one line of a magic continued with a backslash and of a whole
// cell that begins with %%.
func TypedLines(compiled, typed string) []int32 {
	c, t := SplitLines(compiled), SplitLines(typed)
	if len(c) == len(t) {
		return nil
	}
	out := make([]int32, len(c))
	from := 0
	for from < len(t)-1 && t[from] == "" && c[0] != "" {
		from++
	}
	if !rewritten(out, c, t, from) {
		aligned(out, c, t, from)
	}
	return out
}

func SplitLines(text string) []string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i]) // common indentation is removed
	}
	return lines
}

// rewritten follows the lines as IPython rewrites them. It returns false if the numbers of lines do not match.
func rewritten(out []int32, c, t []string, from int) bool {
	at := from
	for i := range c {
		if at >= len(t) {
			return false
		}
		out[i] = int32(at + 1)
		same := c[i] == t[at]
		for at++; !same && at < len(t) && strings.HasSuffix(t[at-1], `\`); at++ {
		}
	}
	return at == len(t)
}

// aligned matches equal lines: from the beginning, from the end, then in order. A single compiled line left between
// matches stands for the typed lines there.
func aligned(out []int32, c, t []string, from int) {
	clear(out)
	to, end := len(t), len(c)
	begin := 0
	for ; begin < end && from < to && c[begin] == t[from]; begin, from = begin+1, from+1 {
		out[begin] = int32(from + 1)
	}
	for ; end > begin && to > from && c[end-1] == t[to-1]; end, to = end-1, to-1 {
		out[end-1] = int32(to)
	}
	if end == begin+1 && to > from {
		out[begin] = int32(from + 1)
		return
	}
	for ; begin < end; begin++ {
		for k := from; k < min(to, from+maxSkipped); k++ {
			if c[begin] == t[k] {
				out[begin], from = int32(k+1), k+1
				break
			}
		}
	}
}

// maxSkipped is the number of typed lines searched for a match.
const maxSkipped = 200
