package syntax

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// piece is a part of a string: a text, or a field of an f-string.
type piece struct {
	Span
	text  string
	field Expr // nil for a text
}

// stringLiterals reads strings that follow each other, and joins them.
func (p *expressions) stringLiterals() Expr {
	start := p.start()
	var pieces []piece
	kinds := map[string]bool{}
	for {
		switch t := p.tok(); t.kind {
		case kindString:
			pieces = append(pieces, p.plainString(kinds))
			continue
		case kindTextStart:
			if strings.ContainsAny(p.textOf(t), "tT") {
				kinds["t"] = true
			} else {
				kinds["f"] = true
			}
			p.next()
			pieces = p.textPieces(pieces, strings.ContainsAny(p.textOf(t), "rR"), kindTextEnd)
			p.expectKind(kindTextEnd, "the end of an f-string")
			continue
		}
		break
	}
	if kinds["bytes"] && len(kinds) > 1 {
		p.failAt(start, "cannot mix bytes and nonbytes literals")
	}
	if kinds["t"] && len(kinds) > 1 {
		p.failAt(start, "cannot mix t-string literals with string or bytes literals")
	}
	if kinds["f"] || kinds["t"] {
		return &JoinedStr{Span: p.from(start), Values: pieceNodes(pieces)}
	}
	kind := "str"
	if kinds["bytes"] {
		kind = "bytes"
	}
	return &Constant{Span: p.from(start), Kind: kind, Value: joinTexts(pieces)}
}

// plainString reads a string that is no f-string, and adds its kind to kinds.
func (p *reader) plainString(kinds map[string]bool) piece {
	start := p.start()
	text := p.textOf(p.next())
	n := strings.IndexAny(text, `'"`)
	prefix := strings.ToLower(text[:n])
	quote := quoteOf(text[n:])
	body := text[n+len(quote) : len(text)-len(quote)]
	bytes := strings.Contains(prefix, "b")
	if bytes {
		kinds["bytes"] = true
		for i := range len(body) {
			if body[i] >= utf8.RuneSelf {
				p.failAt(start, "bytes can only contain ASCII literal characters")
			}
		}
	} else {
		kinds["str"] = true
	}
	value, ok := unescape(body, strings.Contains(prefix, "r"), bytes)
	if !ok {
		p.failAt(start, "invalid escape in a string")
	}
	return piece{Span: p.from(start), text: value}
}

// textPieces reads the text and the fields of an f-string, or of the format in a field, whose end is kindOp. It appends
// them to pieces.
func (p *expressions) textPieces(pieces []piece, raw bool, end kind) []piece {
	for {
		start := p.start()
		switch t := p.tok(); {
		case t.kind == kindText:
			p.next()
			text := p.textOf(t)
			if end == kindTextEnd {
				text = strings.ReplaceAll(strings.ReplaceAll(text, "{{", "{"), "}}", "}")
			}
			value, ok := unescape(text, raw, false)
			if !ok {
				p.failAt(start, "invalid escape in a string")
			}
			pieces = append(pieces, piece{Span: p.from(start), text: value})
		case p.is("{"):
			pieces = p.fieldPieces(pieces, raw)
		default:
			return pieces
		}
	}
}

// fieldPieces reads a field: {expression}, with = for its own source, !r, and a format behind a colon. It appends the
// field, and the source in front of =, to pieces.
func (p *expressions) fieldPieces(pieces []piece, raw bool) []piece {
	p.enter()
	defer p.leave()
	start := p.start()
	p.expect("{")
	inner, first := p.from(start).End, p.at
	f := &FormattedValue{Value: p.yieldOrExpressions()}
	if p.accept("=") {
		span := Span{Start: inner, End: p.start()}
		pieces = append(pieces, piece{Span: span, text: newlines(p.sourceOf(inner.Offset, first))})
	}
	if p.accept("!") {
		conversion := p.name()
		if conversion != "r" && conversion != "s" && conversion != "a" {
			p.fail("f-string: expected 's', 'r', or 'a'")
		}
	}
	if p.is(":") {
		begin := p.start()
		p.next()
		format := p.textPieces(nil, raw, kindOp)
		f.Format = &JoinedStr{Span: p.from(begin), Values: pieceNodes(format)}
	}
	p.expect("}")
	f.Span = p.from(start)
	return append(pieces, piece{Span: f.Span, field: f})
}

// sourceOf returns the source from an offset up to the current token, without comments. first is the first token behind
// the offset.
func (p *reader) sourceOf(offset, first int) string {
	end := int(p.tok().start)
	if strings.IndexByte(p.source[offset:end], '#') < 0 {
		return p.source[offset:end]
	}
	var text strings.Builder
	for i := first; i <= p.at; i++ {
		gap := p.source[offset:p.tokens[i].start]
		for gap != "" {
			code, comment, _ := strings.Cut(gap, "#")
			text.WriteString(code)
			gap = strings.TrimLeftFunc(comment, func(r rune) bool { return r != '\n' && r != '\r' })
		}
		if i < p.at {
			text.WriteString(p.textOf(&p.tokens[i]))
			offset = int(p.tokens[i].end)
		}
	}
	return text.String()
}

// pieceNodes returns pieces as nodes. Texts that follow each other become one constant.
func pieceNodes(pieces []piece) []Expr {
	var values []Expr
	for i := 0; i < len(pieces); {
		if pieces[i].field != nil {
			values = append(values, pieces[i].field)
			i++
			continue
		}
		j := i + 1
		for j < len(pieces) && pieces[j].field == nil {
			j++
		}
		if text := joinTexts(pieces[i:j]); text != "" {
			span := Span{Start: pieces[i].Start, End: pieces[j-1].End}
			values = append(values, &Constant{Span: span, Kind: "str", Value: text})
		}
		i = j
	}
	return values
}

// joinTexts joins the texts of pieces.
func joinTexts(pieces []piece) string {
	if len(pieces) == 1 {
		return pieces[0].text
	}
	var text strings.Builder
	for _, piece := range pieces {
		text.WriteString(piece.text)
	}
	return text.String()
}

// newlines returns a text with \n for each line end.
func newlines(text string) string {
	if strings.IndexByte(text, '\r') < 0 {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

var escapes = map[byte]byte{'\\': '\\', '\'': '\'', '"': '"', 'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r',
	't': '\t', 'v': '\v'}

// unescape returns the value of a string's body. Characters by name, \N{…}, stay as they are. ok is false if an escape
// is cut short.
func unescape(body string, raw, bytes bool) (value string, ok bool) {
	body = newlines(body)
	if raw || strings.IndexByte(body, '\\') < 0 {
		return body, true
	}
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); {
		c := body[i]
		if c != '\\' || i+1 == len(body) {
			out = append(out, c)
			i++
			continue
		}
		c = body[i+1]
		if plain, ok := escapes[c]; ok {
			out = append(out, plain)
			i += 2
			continue
		}
		char, size, ok := numericEscape(body[i+1:], bytes)
		switch {
		case !ok:
			return "", false
		case c == '\n':
			i += 2
		case size == 0:
			out = append(out, '\\')
			i++
		default:
			out = appendChar(out, char, bytes)
			i += 1 + size
		}
	}
	return string(out), true
}

// numericEscape reads an escape that is a number, such as x41, without its backslash. size is the escape's length in
// bytes, 0 if the text begins with no number. ok is false if digits are missing.
func numericEscape(text string, bytes bool) (char rune, size int, ok bool) {
	switch c := text[0]; {
	case c >= '0' && c <= '7':
		for size < 3 && size < len(text) && text[size] >= '0' && text[size] <= '7' {
			size++
		}
		value, _ := strconv.ParseUint(text[:size], 8, 32)
		return rune(value), size, true
	case c == 'x':
		size = 3
	case c == 'u' && !bytes:
		size = 5
	case c == 'U' && !bytes:
		size = 9
	default:
		return 0, 0, true
	}
	if len(text) < size {
		return 0, 0, false
	}
	value, err := strconv.ParseUint(text[1:size], 16, 32)
	return rune(value), size, err == nil && value <= utf8.MaxRune
}

func appendChar(out []byte, char rune, bytes bool) []byte {
	if bytes {
		return append(out, byte(char))
	}
	return utf8.AppendRune(out, char)
}
