package tracer

import "strings"

func clean(name string) string { return strings.ToValidUTF8(name, "?") }

// nativeText returns a module's name, bounded and as valid UTF-8.
func nativeText(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "?")
}

func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return clean(text[:most]) + "…"
}
