package syntax

import (
	"regexp"
	"strings"
)

// Prompts that IPython removes, and the prompts that may be in front of the first line.
var (
	classicFirst = regexp.MustCompile(`^>>>( |$)`)
	classic      = regexp.MustCompile(`^(>>>|\.\.\.)( |$)`)
	numbered     = regexp.MustCompile(`^(In \[\d+\]:\s|\s*\.\.\.+:\s)`)
	numberFirst  = regexp.MustCompile(`^In \[\d+\]:\s`)
)

// pythonCells has the magics that run the rest of their cell as Python.
var pythonCells = set("time timeit capture prun memit tracer")

// beginCell skips empty lines, finds out what IPython removes from each line, and cuts a cell magic.
func (l *lexer) beginCell() {
	if l.cell.inner > 0 {
		l.fresh = false
		return
	}
	rest := l.source[l.at:l.end]
	code := len(rest) - len(strings.TrimLeft(rest, " \t\r\n\f\v"))
	l.at += strings.LastIndexAny(rest[:code], "\r\n") + 1
	line := upTo(l.source[l.at:l.end], "\r\n")
	l.cell.indent = line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	switch bare := line[len(l.cell.indent):]; {
	case classicFirst.MatchString(bare):
		l.cell.prompts = classic
	case numberFirst.MatchString(bare):
		l.cell.prompts = numbered
	}
	l.at += l.cell.prefix(l.source[l.at:l.end])
	for strings.HasPrefix(l.source[l.at:l.end], "%%") && l.cellMagic() {
	}
}

// cellMagic cuts a cell magic: its first line if the rest is Python, else the whole cell. It returns false if the line
// is no cell magic.
func (l *lexer) cellMagic() bool {
	start := l.at
	line := upTo(l.source[l.at:l.end], "\r\n")
	name, _, _ := strings.Cut(line[2:], " ")
	if name == "" || strings.HasSuffix(line, "?") {
		return false
	}
	if !pythonCells[strings.TrimSpace(name)] {
		line = l.source[l.at:l.end]
	}
	l.at += len(line)
	l.emit(kindMagic, start, start+len(strings.TrimRight(line, " \t\r\n\f")))
	l.emit(kindNewline, l.at, l.at)
	l.first = len(l.tokens)
	for l.at < l.end && (l.source[l.at] == '\n' || l.source[l.at] == '\r') {
		l.lineEnd()
	}
	return true
}

// magicLine cuts the rest of a line in IPython's syntax, with the lines that backslashes join to it.
func (l *lexer) magicLine(kind kind) {
	start := l.at
	for l.at < l.end {
		l.restOfLine()
		if l.at == l.end || l.source[l.at-1] != '\\' {
			break
		}
		l.lineEnd()
	}
	l.emit(kind, start, start+len(strings.TrimRight(l.source[start:l.at], " \t\f")))
}

// shellValue cuts !command or %magic behind =.
func (l *lexer) shellValue() {
	at := l.at
	for at < l.end && (l.source[at] == ' ' || l.source[at] == '\t') {
		at++
	}
	rest := l.source[at:l.end]
	if len(rest) > 1 && (rest[0] == '!' || rest[0] == '%' && isWord(rest[1])) {
		l.at = at
		l.magicLine(kindShell)
	}
}

// help cuts a logical line that ends with ?. The token replaces the tokens that were cut from the line.
func (l *lexer) help() {
	start := l.at
	if l.first < len(l.tokens) {
		start = int(l.tokens[l.first].start)
		l.tokens = l.tokens[:l.first]
	}
	for l.peek(0) == '?' {
		l.at++
	}
	end := l.at
	l.blanks()
	if c := l.peek(0); c != 0 && c != '\n' && c != '\r' && c != '#' {
		l.fail(end-1, "invalid character")
	}
	l.emit(kindMagic, start, end)
}
