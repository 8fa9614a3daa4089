package words

import (
	"strings"
	"unicode"
)

// What stands around the ID of a cell in the file name that marimo gives to its code: DIRECTORY/__marimo__cell_ID_.py
// (marimo 0.24, _ast/compiler.py).
const (
	beforeMarimoID = "__marimo__cell_"
	behindMarimoID = "_.py"
)

// maxMarimoID is the length, in characters, at which an ID is cut. In an editor it is a UUID of 36.
const maxMarimoID = 40

// MarimoCell returns the name for people of a cell of marimo, by the file name of its code: "cell Hbol". It returns ""
// for other code. The process may forge it: characters other than letters, digits and "-" are "_".
func MarimoCell(file string) string {
	before, ok := strings.CutSuffix(file, behindMarimoID)
	i := strings.LastIndex(before, beforeMarimoID)
	if !ok || i < 0 {
		return ""
	}
	id := []rune(before[i+len(beforeMarimoID):])
	if len(id) == 0 {
		return ""
	}
	id = id[:min(len(id), maxMarimoID)]
	for i, c := range id {
		if c != '-' && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			id[i] = '_'
		}
	}
	return "cell " + string(id)
}
