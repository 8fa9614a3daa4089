package tracer

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestParseOffer: what a process says of a line's end may be anything.
func TestParseOffer(t *testing.T) {
	for text, want := range map[string]offer{
		"5": {number: 5}, "5 live": {5, true, 0}, "5 77": {5, false, 77}, "1048575 live 18446744073709551615": {1048575, true, 18446744073709551615},
	} {
		if got, ok := parseOffer(text); !ok || got != want {
			t.Errorf("%q: %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "x", "-1", "1048576", "5 ", " 5", "5  live", "5 live live", "5 77 live", "5 0", "5 77 78", "5 x", "99999999999", "5 18446744073709551616"} {
		if got, ok := parseOffer(text); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// TestRefusals: who offers what is no line is not heard any more, but for what has only become old.
func TestRefusals(t *testing.T) {
	l := &lines{}
	for range 10 {
		if !l.begins(7) {
			t.Fatal("not heard although its offers were only old")
		}
		l.ends(7, errStale)
	}
	for range maxRefusals {
		if !l.begins(7) {
			t.Fatal("not heard too early")
		}
		l.ends(7, unix.EPERM)
	}
	if l.begins(7) || !l.begins(8) {
		t.Error("it is still heard, or another one is not")
	}
}
