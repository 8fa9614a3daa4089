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
	kindText
	kindTextEnd
	kindMagic // a line of IPython's
	kindShell // IPython's part of a line, behind =
)

// token is a part of a source. A source of a mebibyte may have a million.
type token struct {
	kind          kind
	start, end    int32
	line, endLine int32
}

var keywords = set("False None True and as assert async await break class continue def del elif else except finally " +
	"for from global if import in is lambda nonlocal not or pass raise return try while with yield")

func set(words string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		all[word] = true
	}
	return all
}

var operators = [4]map[string]bool{
	1: set("+ - * / % @ & | ^ ~ < > ( ) [ ] { } , : . ; ="),
	2: set("== != <= >= << >> ** // -> := += -= *= /= %= @= &= |= ^="),
	3: set("... **= //= >>= <<="),
}
