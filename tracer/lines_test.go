package tracer

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// TestParseOffer: an offer of a line's end may be any text.
func TestParseOffer(t *testing.T) {
	for text, want := range map[string]offer{
		"5": {number: 5}, "5 live": {number: 5, live: true}, "5 77": {number: 5, inode: 77},
		"1048575 live 18446744073709551615": {number: 1048575, live: true, inode: 1<<64 - 1},
		"5 last 77":                         {number: 5, last: true, inode: 77},
	} {
		if got, ok := parseOffer(text); !ok || got != want {
			t.Errorf("%q: %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "x", "-1", "1048576", "5 ", " 5", "5  live",
		"5 live live", "5 live last", "5 last live",
		"5 77 live", "5 0",
		"5 77 78", "5 x", "99999999999", "5 18446744073709551616"} {
		if got, ok := parseOffer(text); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// TestOffersThatAreNoLinks: a process with offers that are no lines is ignored after a while, but not for offers that
// are merely old.
func TestOffersThatAreNoLinks(t *testing.T) {
	l := &lineMaker{}
	for i := range 10 {
		if !l.reserve(7, offer{}) {
			t.Fatal("not heard although its offers were only old")
		}
		l.finish(7, offer{}, []error{errStale, errors.Join(errLater, unix.EBUSY)}[i%2])
	}
	for range maxRefusals {
		if !l.reserve(7, offer{}) {
			t.Fatal("not heard too early")
		}
		l.finish(7, offer{}, unix.EPERM)
	}
	if l.reserve(7, offer{}) || !l.reserve(8, offer{}) {
		t.Error("it is still heard, or another one is not")
	}
}

// TestOneLineOfAPair: over one pair one line is made, however often it is offered, and another one only if the first
// failed.
func TestOneLineOfAPair(t *testing.T) {
	l := &lineMaker{}
	first, live, second := offer{number: 5, inode: 77}, offer{number: 6, inode: 78, live: true},
		offer{number: 5, inode: 79}
	for _, c := range []struct {
		o   offer
		ok  bool
		err error
	}{{first, true, errStale}, {first, true, nil}, {first, false, nil}, {live, true, nil}, {first, false, nil},
		{second, true, nil}, {second, false, nil}} {
		if ok := l.reserve(7, c.o); ok != c.ok {
			t.Errorf("%+v: %v", c.o, ok)
		} else if ok {
			l.finish(7, c.o, c.err)
		}
	}
	if !l.reserve(8, second) {
		t.Error("another process's pair")
	}
}
