package console

import (
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/report/formats"
)

// retiredFormats are formats of earlier versions: each with the ending that chose it, "" for none, and the format to
// use instead.
var retiredFormats = []struct{ name, ending, instead, why string }{
	{"speedscope", ".speedscope.json", "pprof", "which speedscope opens"},
	{"collapsed", ".collapsed", "pprof", "which 'go tool pprof -http=:' draws as a flame graph"},
	{"chrome", "", "perfetto", "which ui.perfetto.dev opens"},
	{"parquet", ".parquet", "csv", "which has the same rows"},
}

// FormatNames returns the names of all formats.
func FormatNames() (names []string) {
	for _, f := range formats.All {
		names = append(names, f.Name)
	}
	return names
}

// FormatFor returns the format that a file's ending chooses, else text. For the ending of a retired format it returns
// that format, so that [CheckFormat] says what to use instead.
func FormatFor(file string) string {
	for _, f := range retiredFormats {
		if f.ending != "" && strings.HasSuffix(file, f.ending) {
			return f.name
		}
	}
	for _, f := range formats.All {
		if f.OwnsEnding && strings.HasSuffix(file, f.Ending) {
			return f.Name
		}
	}
	return "text"
}

func formatHelp() string {
	names := FormatNames()
	last := len(names) - 1
	return fmt.Sprintf("the `FORMAT` of the report: %s or %s (default text, or what the ending of -o stands for)",
		strings.Join(names[:last], ", "), names[last])
}

// CheckFormat returns an error for a format that is not one of known.
func CheckFormat(format string, known ...string) error {
	if slices.Contains(known, format) {
		return nil
	}
	last := len(known) - 1
	if slices.Contains(NotebookFormats, format) {
		return Usagef("--format %s: %s", format, IntoNotebook)
	}
	for _, f := range retiredFormats {
		if f.name == format && slices.Contains(known, f.instead) {
			return Usagef("format %s is not written any more: use --format %s, %s", f.name, f.instead,
				f.why)
		}
	}
	return Usagef("--format %q: must be %s or %s", format, strings.Join(known[:last], ", "), known[last])
}
