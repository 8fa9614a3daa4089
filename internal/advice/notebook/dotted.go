package notebook

import (
	"ipytracer/internal/syntax"
	"strings"
)

func firstPart(name string) string {
	first, _, _ := strings.Cut(name, ".")
	return first
}

func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

func lastWord(name string) string { return name[strings.LastIndexByte(name, '_')+1:] }

// dotted returns the name of a function as it is written, with the dots; "" if it is no such name.
func dotted(e syntax.Expr) string {
	name := ""
	for {
		switch x := e.(type) {
		case *syntax.Name:
			return x.ID + name
		case *syntax.Attribute:
			name, e = "."+x.Attr+name, x.Value
		default:
			return "?" + name
		}
	}
}
