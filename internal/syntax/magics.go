package syntax

import (
	"regexp"
	"strings"
)

// cell is what the lexer knows of a cell of IPython's.
type cell struct {
	indent  string         // removed from each line
	prompts *regexp.Regexp // removed from each line; nil for none
	inner   int            // how many magics this Python stands in
}

var (
	classicFirst = regexp.MustCompile(`^>>>( |$)`)
	classic      = regexp.MustCompile(`^(>>>|\.\.\.)( |$)`)
	numbered     = regexp.MustCompile(`^(In \[\d+\]:\s|\s*\.\.\.+:\s)`)
	numberFirst  = regexp.MustCompile(`^In \[\d+\]:\s`)
)

// pythonCells are the magics that run the rest of their cell as Python.
var pythonCells = set("time timeit capture prun memit tracer")

// pythonLines are the magics that run the rest of their line as Python.
var pythonLines = set("time timeit prun memit mprun lprun")

// prefix returns how many bytes at the beginning of a line IPython removes: an indentation, and then a prompt.
func (c *cell) prefix(line string) int {
	size := 0
	if strings.HasPrefix(line, c.indent) {
		size = len(c.indent)
	}
	if c.prompts == nil {
		return size
	}
	line = line[size:]
	if end := strings.IndexAny(line, "\r\n"); end >= 0 {
		line = line[:end]
	}
	return size + len(c.prompts.FindString(line))
}

// begin skips empty lines, finds out what IPython removes from each line, and cuts a cell magic.
func (l *lexer) begin() {
	if l.cell.inner > 0 {
		l.fresh = false
		return
	}
	rest := l.source[l.at:l.end]
	code := len(rest) - len(strings.TrimLeft(rest, " \t\r\n\f\v"))
	l.at += strings.LastIndexAny(rest[:code], "\r\n") + 1
	line := l.source[l.at:l.end]
	if end := strings.IndexAny(line, "\r\n"); end >= 0 {
		line = line[:end]
	}
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
	line := l.source[l.at:l.end]
	if end := strings.IndexAny(line, "\r\n"); end >= 0 {
		line = line[:end]
	}
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

func (p *reader) shell() Expr {
	start := p.start()
	text := p.textOf(p.next())
	return &Shell{Span: p.from(start), Text: text}
}

func (p *parser) magic() Stmt {
	start := p.start()
	t := p.next()
	m := &Magic{Span: p.from(start), Text: p.textOf(t)}
	if at, ok := codeBehind(m.Text); ok {
		m.Body = p.inner(int(t.start)+at, int(t.end), int(t.line))
	}
	return m
}

// maxMagics is how many magics may stand in each other in one line.
const maxMagics = 4

// inner reads the Python of a line; nil where it is none.
func (p *parser) inner(start, end, line int) (body []Stmt) {
	in := cell{inner: 1}
	if p.cell != nil {
		in.inner += p.cell.inner
	}
	if in.inner > maxMagics {
		return nil
	}
	var err error
	func() {
		defer caught(&err)
		part := newParser(p.source, p.lines, p.depth)
		part.cut(start, end, line, &in)
		body = part.file()
	}()
	if err != nil {
		return nil
	}
	return body
}

// options are those of the magics that run Python, as getopt has them: a colon is behind one with a value.
var options = map[string]string{"time": "", "timeit": "n:r:tcp:qov", "prun": "D:l:rs:T:q", "memit": "r:t:i:coh",
	"mprun": "rf:T:c", "lprun": "rsf:m:D:T:u:z"}

// codeBehind returns where the Python in the text of a magic begins, and whether there is any.
func codeBehind(text string) (at int, ok bool) {
	name := strings.TrimLeft(text, "%")
	at = len(text) - len(name)
	if at != 1 && at != 2 {
		return 0, false
	}
	end := strings.IndexAny(name, " \t\r\n")
	if end < 0 || !pythonLines[name[:end]] {
		return 0, false
	}
	at += end
	known := options[name[:end]]
	for {
		at += len(text[at:]) - len(strings.TrimLeft(text[at:], " \t"))
		word := text[at:]
		if end := strings.IndexAny(word, " \t\r\n"); end >= 0 {
			word = word[:end]
		}
		if len(word) < 2 || word[0] != '-' {
			return at, word != ""
		}
		i := strings.IndexByte(known, word[1])
		switch {
		case word[1] == '-':
		case i < 0 || word[1] == ':':
			return at, true
		case len(word) == 2 && strings.HasPrefix(known[i+1:], ":"):
			at += 2
			at += len(text[at:]) - len(strings.TrimLeft(text[at:], " \t"))
			word = text[at:]
			if end := strings.IndexAny(word, " \t\r\n"); end >= 0 {
				word = word[:end]
			}
		}
		at += len(word)
	}
}
