package console

import (
	"strings"
	"testing"
)

// TestRetyped: the message has the typed command behind sudo, if the command needs no quotes.
func TestRetyped(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"attach", "4242"}, "type 'sudo tracer attach 4242'"},
		{[]string{"top"}, "type 'sudo tracer top'"},
		{[]string{"attach", "--record", "my file"}, "type " + AsRoot},
		{[]string{"attach", "-o", "$(reboot)"}, "type " + AsRoot},
		{[]string{"attach", "\x1b[2J"}, "type " + AsRoot},
		{[]string{"attach", strings.Repeat("4", 100)}, "type " + AsRoot},
	} {
		if got := Retyped("type "+AsRoot, c.args); got != c.want {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}
