package reporttest

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// CheckSafe fails on invisible characters, and on any that a terminal could act on, except those in allowed.
func CheckSafe(t testing.TB, s, allowed string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("not UTF-8: %q", s)
	}
	for _, r := range s {
		if strings.ContainsRune(allowed, r) {
			continue
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
			t.Errorf("%U in %q", r, s)
			return
		}
	}
}
