package console

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// Terminal returns the file behind a writer if it is a terminal.
func Terminal(w any) (*os.File, bool) {
	switch behind := w.(type) {
	case *messages:
		w = behind.to
	case interface{ Behind() io.Writer }: // a document
		w = behind.Behind()
	}
	f, ok := w.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// Colored reports whether output has colours, by https://no-color.org: only on a terminal, and not if NO_COLOR is set
// to anything.
func Colored(w io.Writer) bool {
	_, ok := Terminal(w)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Width returns the number of columns of a line: of the terminal, or COLUMNS in a file or a pipe. It returns -1 for a
// file or a pipe without COLUMNS, whose lines are not cut.
func Width(w io.Writer) int {
	const least, usual, unlimited = 60, 120, -1
	f, isTerminal := Terminal(w)
	if isTerminal {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return max(columns, least)
		}
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return max(columns, least)
	}
	if isTerminal {
		return usual
	}
	return unlimited
}
