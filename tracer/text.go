package tracer

import "strings"

func clean(name string) string { return strings.ToValidUTF8(name, "?") }

// nativeText bounds a module's name and makes it valid.
func nativeText(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "?")
}

func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return clean(text[:most]) + "…"
}
