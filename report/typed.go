package report

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// IPython rewrites what people type before it compiles a cell: %timeit f() becomes
// get_ipython().run_line_magic('timeit', 'f()'), and so on (IPython.core.inputtransformer2). These functions turn
// the rewritten form back, so that a report shows what stands in the notebook. They do so only where the call is
// exactly what the rewriting writes, and leave everything else alone.

// call is how every rewritten line continues after its indentation and target.
const call = "get_ipython()."

var target = regexp.MustCompile(`^[\pL_][\pL\pN_., *]*=\s*$`)

// typed returns a cell as it was typed, as far as that is certain.
func typed(source string, truncated bool) string {
	if !strings.Contains(source, call) {
		return source
	}
	if cell, ok := cellMagic(source); ok {
		return cell
	}
	if cell, ok := cutCellMagic(source); ok && truncated {
		return cell
	}
	lines := strings.Split(source, "\n")
	for i, line := range lines {
		if t, ok := typedLine(line); ok {
			lines[i] = t
		} else if strings.Contains(line, `"""`) || strings.Contains(line, `'''`) || strings.HasSuffix(line, `\`) {
			return source // a line that looks rewritten may be text within a string
		}
	}
	return strings.Join(lines, "\n")
}

// cellMagic turns get_ipython().run_cell_magic('name', 'line', 'body') back into %%name line and body.
func cellMagic(source string) (string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimRight(source, "\n"), call+"run_cell_magic(")
	if !ok {
		return "", false
	}
	args, ok := literals(rest, 3)
	if !ok || strings.ContainsAny(args[0], " \n") || strings.Contains(args[1], "\n") {
		return "", false
	}
	return strings.TrimRight("%%"+args[0]+" "+args[1], " ") + "\n" + args[2], true
}

// cutCellMagic is cellMagic for a source whose end is missing, perhaps in the middle of an escape sequence.
func cutCellMagic(source string) (string, bool) {
	const longest = len(`\U0001f60`)
	if !strings.HasPrefix(source, call+"run_cell_magic(") {
		return "", false
	}
	for k := range min(longest, len(source)) {
		for _, end := range [...]string{"')", "\")"} {
			if cell, ok := cellMagic(source[:len(source)-k] + end); ok {
				return cell, true
			}
		}
	}
	return "", false
}

// typedLine turns one rewritten line back. A name on the left is kept: a = !ls.
func typedLine(line string) (string, bool) {
	before, after, found := strings.Cut(line, call)
	if !found {
		return "", false
	}
	left := strings.TrimLeft(before, " \t")
	if left != "" && !target.MatchString(left) {
		return "", false
	}
	method, rest, _ := strings.Cut(after, "(")
	switch method {
	case "run_line_magic":
		args, ok := literals(rest, 2)
		if !ok || strings.ContainsAny(args[0], " \n") || strings.Contains(args[1], "\n") {
			return "", false
		}
		return before + lineMagic(args[0], args[1], left == ""), true
	case "system", "getoutput":
		args, ok := literals(rest, 1)
		if !ok || strings.Contains(args[0], "\n") || left != "" && method == "system" {
			return "", false
		}
		if method == "getoutput" && left == "" {
			return before + "!!" + args[0], true
		}
		return before + "!" + args[0], true
	}
	return "", false
}

func lineMagic(name, rest string, alone bool) string {
	help := map[string]string{"pinfo": "?", "pinfo2": "??", "psearch": "?"}[name]
	if help != "" && alone && rest != "" && !strings.ContainsAny(rest, " -") {
		return rest + help
	}
	return strings.TrimRight("%"+name+" "+rest, " ")
}

// literals reads n Python string literals, separated by ", ", up to a closing parenthesis that ends the text.
func literals(s string, n int) ([]string, bool) {
	args := make([]string, 0, n)
	for i := range n {
		if i > 0 {
			var ok bool
			if s, ok = strings.CutPrefix(s, ", "); !ok {
				return nil, false
			}
		}
		arg, rest, ok := literal(s)
		if !ok {
			return nil, false
		}
		args, s = append(args, arg), rest
	}
	return args, s == ")"
}

// literal reads one string as Python's repr writes it and returns what follows it.
func literal(s string) (value, rest string, ok bool) {
	if s == "" || s[0] != '\'' && s[0] != '"' {
		return "", "", false
	}
	quote := s[0]
	var b strings.Builder
	for i := 1; i < len(s); {
		switch c := s[i]; c {
		case quote:
			return b.String(), s[i+1:], true
		case '\n':
			return "", "", false
		case '\\':
			text, size := escapeSequence(s[i+1:])
			if size == 0 {
				return "", "", false
			}
			b.WriteString(text)
			i += 1 + size
		default:
			b.WriteByte(c)
			i++
		}
	}
	return "", "", false
}

// escapeSequence decodes what follows a backslash; size 0 means that repr does not write such a sequence.
func escapeSequence(s string) (text string, size int) {
	if s == "" {
		return "", 0
	}
	switch s[0] {
	case '\\', '\'', '"':
		return s[:1], 1
	case 'n':
		return "\n", 1
	case 'r':
		return "\r", 1
	case 't':
		return "\t", 1
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[0]]
	if digits == 0 || len(s) < 1+digits {
		return "", 0
	}
	n, err := strconv.ParseUint(s[1:1+digits], 16, 32)
	if err != nil || !utf8.ValidRune(rune(n)) {
		return "", 0
	}
	return string(rune(n)), 1 + digits
}

// maxExcerpt bounds how much of a source is looked at for a one-line excerpt.
const maxExcerpt = 4096

// excerpt is a cell in one line: as typed, cut to limit cells (no limit below 1).
func excerpt(source string, truncated bool, limit int) string {
	return oneLine(typed(source, truncated), truncated, limit)
}

// oneLine joins the lines of a text that are not blank by a return sign, escapes the result and cuts it to limit cells.
func oneLine(text string, truncated bool, limit int) string {
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
			parts = append(parts, prefix(line, max(0, len(line)-(size-maxExcerpt))))
			truncated = true
			break
		}
		parts = append(parts, line)
	}
	joined := strings.Join(parts, " ⏎ ")
	if truncated {
		joined += " …"
	}
	return bounded(joined, limit)
}
