package tracee

import "strings"

func Clean(name string) string { return strings.ToValidUTF8(name, "?") }

// NativeText returns a module's name, bounded and as valid UTF-8.
func NativeText(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "?")
}

func Shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return Clean(text[:most]) + "…"
}
