package words

import "testing"

func TestAdviceKept(t *testing.T) {
	for _, of := range []struct{ got, want string }{
		{OutputKept(3, 96<<20), "Out[3] holds 96.00 MiB that no name holds: show it with display(), which keeps " +
			"nothing"},
		{OutputGone(3), "the value is shown without its Out[3], and neither _3 nor _ is set"},
	} {
		if of.got != of.want {
			t.Errorf("%q, want %q", of.got, of.want)
		}
	}
}
