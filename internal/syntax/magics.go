package syntax

import (
	"regexp"
	"strings"
)

var (
	classicFirst = regexp.MustCompile(`^>>>( |$)`)
	classic      = regexp.MustCompile(`^(>>>|\.\.\.)( |$)`)
	numbered     = regexp.MustCompile(`^(In \[\d+\]:\s|\s*\.\.\.+:\s)`)
	numberFirst  = regexp.MustCompile(`^In \[\d+\]:\s`)
)

// pythonCells are the magics that run the rest of their cell as Python.
var pythonCells = set("time timeit capture prun memit tracer")

// begin skips empty lines, finds out what IPython removes from each line, and cuts a cell magic.
func (l *lexer) begin() {
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

// cellMagic cuts a cell magic: its first line, where the rest is Python, and else the whole cell. It reports whether
// another magic may follow.
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

// escape cuts a line of IPython's, with those that it goes on in behind a backslash.
func (l *lexer) escape(kind kind) {
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

// assigned cuts what IPython assigns: !command or %magic behind =.
func (l *lexer) assigned() {
	at := l.at
	for at < l.end && (l.source[at] == ' ' || l.source[at] == '\t') {
		at++
	}
	rest := l.source[at:l.end]
	if len(rest) > 1 && (rest[0] == '!' || rest[0] == '%' && isWord(rest[1])) {
		l.at = at
		l.escape(kindShell)
	}
}

// help cuts a logical line that ends with ?. What was cut of it is part of it.
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
