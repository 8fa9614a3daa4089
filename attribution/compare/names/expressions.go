package names

import "slices"

// reads parses an expression: it collects the names that the expression reads, and those that it assigns with :=. Names
// bound by a comprehension or a lambda are known within it only.
func (b *binder) reads(tokens []token) {
	var within []scope
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		for len(within) > 0 && within[len(within)-1].ends(t, i) {
			within = within[:len(within)-1]
		}
		switch {
		case t.kind == sign && opens(t):
			within = append(within, scope{depth: t.depth, own: comprehended(tokens[i:]), brackets: true, begin: i})
		case t.kind == name && t.text == "lambda":
			own, colon := lambda(tokens[i:])
			b.defaults(tokens[i : i+colon])
			within = append(within, scope{depth: t.depth, own: own, begin: i + colon})
			i += colon
		case t.kind == name && !keywords[t.text] && !b.isLabel(tokens, i):
			if !slices.ContainsFunc(within, func(s scope) bool { return slices.Contains(s.own, t.text) }) {
				b.read = append(b.read, t.text)
			}
		}
	}
}

// scope is a part of an expression with names of its own: in brackets, or after a lambda.
type scope struct {
	depth    int16
	begin    int
	own      []string
	brackets bool
}

// ends reports whether a token is behind a scope.
func (s scope) ends(t token, at int) bool {
	if s.brackets {
		return t.depth <= s.depth && at > s.begin
	}
	return t.depth < s.depth || t.depth == s.depth && t.kind == sign &&
		(t.text == "," || t.text == ")" || t.text == "]" || t.text == "}" || t.text == ":")
}

func opens(t token) bool { return t.text == "(" || t.text == "[" || t.text == "{" }

// isLabel reports whether a name is not read: an attribute, an argument's name, or a target of :=, which is added to
// assigned.
func (b *binder) isLabel(tokens []token, i int) bool {
	t := tokens[i]
	if i > 0 && tokens[i-1].kind == sign && tokens[i-1].text == "." {
		return true
	}
	if i+1 >= len(tokens) || tokens[i+1].kind != sign || tokens[i+1].depth != t.depth {
		return false
	}
	switch tokens[i+1].text {
	case ":=":
		b.assigned = append(b.assigned, t.text)
		return true
	case "=":
		return t.depth > 0 && !t.field
	}
	return false
}

// comprehended returns the names that a comprehension in brackets binds.
func comprehended(tokens []token) (own []string) {
	depth := tokens[0].depth + 1
	for i := 1; i < len(tokens) && tokens[i].depth >= depth; i++ {
		if t := tokens[i]; t.depth != depth || t.kind != name || t.text != "for" {
			continue
		}
		for i++; i < len(tokens) && tokens[i].depth >= depth &&
			!(tokens[i].text == "in" && tokens[i].depth == depth); i++ {
			if tokens[i].kind == name && !keywords[tokens[i].text] {
				own = append(own, tokens[i].text)
			}
		}
	}
	return own
}

// lambda returns the argument names of a lambda, and the index of its colon.
func lambda(tokens []token) (own []string, colon int) {
	depth := tokens[0].depth
	for i := 1; i < len(tokens) && tokens[i].depth >= depth; i++ {
		t := tokens[i]
		if t.depth != depth {
			continue
		}
		if t.kind == sign && t.text == ":" {
			return own, i
		}
		if before := tokens[i-1].text; t.kind == name &&
			(before == "lambda" || before == "," || before == "*" || before == "**") {
			own = append(own, t.text)
		}
	}
	return own, 0
}

// defaults parses the default values of a lambda's arguments.
func (b *binder) defaults(tokens []token) {
	for i := 1; i < len(tokens); i++ {
		if t := tokens[i]; t.kind == name && !keywords[t.text] && tokens[i-1].kind == sign && tokens[i-1].text != "," &&
			tokens[i-1].text != "." && tokens[i-1].text != "*" && tokens[i-1].text != "**" {
			b.read = append(b.read, t.text)
		}
	}
}
