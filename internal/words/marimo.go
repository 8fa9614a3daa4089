package words

import (
	"strings"

	"ipytracer/model"
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
// for other code. The process may forge it: characters other than ASCII letters, digits and "-" are "_".
func MarimoCell(file string) string {
	before, ok := strings.CutSuffix(file, behindMarimoID)
	i := strings.LastIndex(before, beforeMarimoID)
	if !ok || i < 0 || i+len(beforeMarimoID) == len(before) {
		return ""
	}
	id := []rune(before[i+len(beforeMarimoID):])
	id = id[:min(len(id), maxMarimoID)]
	for i, c := range id {
		if !isOfID(c) {
			id[i] = '_'
		}
	}
	return beforeID + string(id)
}

// beforeID begins the names of cells of marimo.
const beforeID = "cell "

func isOfID(c rune) bool {
	return c == '-' || c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// NameOf returns the name that marimo gives to a cell, as [MarimoCell] returns it; "" for other windows.
func NameOf(w *model.Window) string {
	id, ok := strings.CutPrefix(w.Name, beforeID)
	isOther := func(c rune) bool { return !isOfID(c) }
	if !ok || w.Kind != model.Cell || id == "" || len(id) > maxMarimoID || strings.ContainsFunc(id, isOther) {
		return ""
	}
	return w.Name
}
