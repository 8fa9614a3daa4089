package names

import "strings"

// quoted scans a string with a prefix that starts at begin; of an f-string also the names in its expressions.
func (s *scanner) quoted(begin int) {
	prefix := strings.ToLower(s.text[begin:s.at])
	quote := s.text[s.at : s.at+1]
	if s.next(quote + quote + quote) {
		quote += quote + quote
	}
	s.at += len(quote)
	formats := strings.ContainsAny(prefix, "ft") && s.fields < maxFields
	s.token(literal, quote)
	if i := len(s.tokens) - 1; s.count <= maxTokens {
		defer func() { s.tokens[i].text = s.text[begin:s.at] }()
	}
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case s.next(quote):
			s.at += len(quote)
			return
		case c == '\\' && s.at+1 < len(s.text): // in a raw string, too, a quote after it does not end the string
			if s.text[s.at+1] == '\n' {
				s.line++
			}
			s.at += 2
		case c == '\n':
			if len(quote) == 1 { // it was not closed
				return
			}
			s.line++
			s.at++
		case c == '{' && formats && s.next("{{"):
			s.at += 2
		case c == '{' && formats:
			s.at++
			s.field(quote)
		default:
			s.at++
		}
	}
}

// field scans an expression of an f-string with its format, up to its end: a brace, or the end of the string where it
// is not closed.
func (s *scanner) field(quote string) {
	depth := s.depth
	s.depth++
	inner := s.depth
	s.fields++
	defer func() { s.depth = depth; s.fields-- }()
	for s.at < len(s.text) && s.count < maxTokens {
		switch c := s.text[s.at]; {
		case c == '}' && s.depth <= inner:
			s.at++
			return
		case c == '\n' && len(quote) == 1:
			return
		case c == '\n':
			s.newline()
		case c == ':' && s.depth == inner && !s.next(":="):
			s.at++
			s.format(quote)
			return
		case c == '!' && s.depth == inner && !s.next("!="): // a conversion
			s.at++
			if s.at < len(s.text) && s.text[s.at] != '}' && s.text[s.at] != '\n' {
				s.at++
			}
		case c == '#' && s.depth == inner:
			s.toLineEnd()
		default:
			s.one()
		}
	}
}

// format scans the part after the colon in an f-string, with the expressions in it.
func (s *scanner) format(quote string) {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '}':
			s.at++
			return
		case s.next(quote) || c == '\n' && len(quote) == 1:
			return
		case c == '\n':
			s.newline()
		case c == '{' && s.fields < maxFields:
			s.at++
			s.field(quote)
		default:
			s.at++
		}
	}
}
