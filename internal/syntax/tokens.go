package syntax

import "strings"

type kind uint8

const (
	kindEnd kind = iota
	kindNewline
	kindIndent
	kindDedent
	kindName
	kindOp // also keywords
	kindNumber
	kindString
	kindTextStart // the prefix and the quotes of an f-string
	kindText      // text of an f-string between fields
	kindTextEnd   // the closing quotes of an f-string
	kindMagic     // a line or a cell of IPython's
	kindShell     // IPython's part of a line, behind =
)

// token is a part of a source. A source of a mebibyte may have a million.
type token struct {
	kind          kind
	start, end    int32
	line, endLine int32
}

var keywords = set("False None True and as assert async await break class continue def del elif else except finally " +
	"for from global if import in is lambda nonlocal not or pass raise return try while with yield")

// set returns the set of the words of a text.
func set(words string) map[string]bool {
	s := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		s[word] = true
	}
	return s
}

// operators has the operators by their length.
var operators = [4]map[string]bool{
	1: set("+ - * / % @ & | ^ ~ < > ( ) [ ] { } , : . ; ="),
	2: set("== != <= >= << >> ** // -> := += -= *= /= %= @= &= |= ^="),
	3: set("... **= //= >>= <<="),
}
