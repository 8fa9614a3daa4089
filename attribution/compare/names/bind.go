package names

import "slices"

// binder collects the uses of names in a statement.
type binder struct {
	read, assigned, changed, deleted, global []string
}

// imports parses "a.b as c, d".
func (b *binder) imports(tokens []token) {
	for len(tokens) > 0 {
		var one []token
		one, tokens = cut(tokens, ",")
		if n := len(one); n >= 2 && one[n-2].text == "as" {
			b.assigned = append(b.assigned, one[n-1].text)
		} else if n > 0 && one[0].kind == name {
			b.assigned = append(b.assigned, one[0].text)
		}
	}
}

// importsFrom parses "x import (a as b, c)".
func (b *binder) importsFrom(tokens []token) {
	at := slices.IndexFunc(tokens, func(t token) bool { return t.kind == name && t.text == "import" })
	if at < 0 {
		return
	}
	before := ""
	for _, t := range tokens[at+1:] {
		switch {
		case t.kind != name:
			before = ""
		case t.text == "as": // the name in front of it is not bound
			if n := len(b.assigned); n > 0 && before != "" {
				b.assigned = b.assigned[:n-1]
			}
			before = ""
		default:
			b.assigned = append(b.assigned, t.text)
			before = t.text
		}
	}
}

// deletes parses "a, b[0]".
func (b *binder) deletes(tokens []token) {
	t := &binder{}
	t.targets(tokens)
	b.deleted, b.changed, b.read = append(b.deleted, t.assigned...), append(b.changed, t.changed...), append(b.read,
		t.read...)
}

// forIn parses "for x, y in z", and statements after async.
func (b *binder) forIn(tokens []token) {
	if wordOf(tokens) == "async" {
		tokens = tokens[1:]
	}
	if wordOf(tokens) == "with" {
		b.with(tokens[1:])
		return
	}
	if len(tokens) == 0 {
		return
	}
	at := slices.IndexFunc(tokens, func(t token) bool { return t.kind == name && t.text == "in" && t.depth == 0 })
	if at < 0 {
		b.reads(tokens)
		return
	}
	b.targets(tokens[1:at])
	b.reads(tokens[at+1:])
}

// with parses "a as b, c as (d, e)", in brackets or not; it also parses except.
func (b *binder) with(tokens []token) {
	begin := 0
	for i := 0; i < len(tokens); i++ {
		if tokens[i].kind != name || tokens[i].text != "as" {
			continue
		}
		b.reads(tokens[begin:i])
		end := i + 1
		for end < len(tokens) && !(tokens[end].text == "," && tokens[end].depth <= tokens[i].depth) {
			end++
		}
		b.targets(tokens[i+1 : end])
		begin, i = end, end
	}
	if begin < len(tokens) {
		b.reads(tokens[begin:])
	}
}

// augmented are operators that read a name and assign it.
var augmented = []string{"+=", "-=", "*=", "/=", "//=", "%=", "**=", ">>=", "<<=", "&=", "|=", "^=", "@="}

// assignment parses "a = b = c", "a: int = b", "a += b", or an expression.
func (b *binder) assignment(tokens []token) {
	begin := 0
	for i, t := range tokens {
		if t.text == "lambda" && t.kind == name && t.depth == 0 { // an = after it is a default
			break
		}
		if t.kind != sign || t.depth != 0 {
			continue
		}
		switch {
		case t.text == "=":
			target, annotation := atColon(tokens[begin:i])
			b.targets(target)
			b.reads(annotation)
			begin = i + 1
		case slices.Contains(augmented, t.text):
			b.targets(tokens[begin:i])
			b.reads(tokens[begin:i])
			begin = i + 1
		}
	}
	b.reads(tokens[begin:])
	if begin == 0 {
		b.called(tokens)
	}
}

// called parses x.append(1), which may change x: a statement that only calls an attribute of a name.
func (b *binder) called(tokens []token) {
	if n := len(tokens); n >= 4 && tokens[0].kind == name && tokens[1].text == "." && tokens[n-1].text == ")" &&
		tokens[n-1].depth == 0 {
		b.changed = append(b.changed, tokens[0].text)
	}
}

// targets parses the targets of an assignment: "a, (b, *c), d[0], e.f".
func (b *binder) targets(tokens []token) {
	for i := 0; i < len(tokens); {
		t := tokens[i]
		if t.kind != name || keywords[t.text] {
			i++
			continue
		}
		end := trailer(tokens, i+1)
		if end == i+1 {
			b.assigned = append(b.assigned, t.text)
		} else {
			b.changed, b.read = append(b.changed, t.text), append(b.read, t.text)
			b.reads(tokens[i+1 : end])
		}
		i = end
	}
}

// trailer returns the end of the trailer after a name: .x, [0], (y).
func trailer(tokens []token, i int) int {
	for i < len(tokens) && tokens[i].kind == sign {
		switch tokens[i].text {
		case ".":
			i = min(i+2, len(tokens))
		case "[", "(":
			depth := tokens[i].depth
			for i++; i < len(tokens) && tokens[i].depth > depth; i++ {
			}
			i = min(i+1, len(tokens))
		default:
			return i
		}
	}
	return i
}

// parameters parses the head of a definition after its name, and returns the names of its arguments. The bases of a
// class are reads.
func (b *binder) parameters(tokens []token, class bool) (all []string) {
	if class {
		b.reads(tokens)
		return nil
	}
	for i, t := range tokens {
		if t.kind != name || keywords[t.text] {
			continue
		}
		before := ""
		if i > 0 {
			before = tokens[i-1].text
		}
		if t.depth == 1 && (before == "(" || before == "," || before == "*" || before == "**") {
			all = append(all, t.text)
			continue
		}
		if before != "." {
			b.read = append(b.read, t.text)
		}
	}
	return all
}

// body parses a line of a function's or a class's body: names that it assigns are its own.
func (b *binder) body(tokens []token) {
	for len(tokens) > 0 {
		var one []token
		one, tokens = cut(tokens, ";")
		word := wordOf(one)
		if word == "async" {
			one = one[1:]
			word = wordOf(one)
		}
		switch {
		case word == "def" && len(one) > 1:
			head, rest := atColon(one[1:])
			b.assigned = append(b.assigned, head[0].text)
			b.assigned = append(b.assigned, b.parameters(head[1:], false)...)
			b.body(rest)
		case word == "class" && len(one) > 1:
			head, rest := atColon(one[1:])
			b.assigned = append(b.assigned, head[0].text)
			b.reads(head[1:])
			b.body(rest)
		case word == "global" || word == "nonlocal":
			for _, t := range one[1:] {
				if t.kind == name {
					b.global = append(b.global, t.text)
				}
			}
		default:
			head, rest := one, []token(nil)
			if slices.Contains(compound, word) && !isName(one) {
				head, rest = atColon(one)
			}
			p := &parser{}
			p.statement(logical{}, head)
			for _, s := range p.out {
				b.read, b.assigned = append(b.read, s.Reads...), append(b.assigned, s.Assigns...)
			}
			b.body(rest)
		}
	}
}
