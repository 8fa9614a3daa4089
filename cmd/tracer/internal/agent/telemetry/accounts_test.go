package telemetry

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// knowing returns a book of a text in the place of /etc/subuid, on a machine with some users.
func knowing(text string) *Accounts {
	users := map[string]uint32{"root": 0, "ann": 1000, "bob": 1001}
	return &Accounts{
		Open:   func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
		Number: func(name string) (uint32, bool) { n, is := users[name]; return n, is },
		Known: func(uid uint32) bool {
			for _, n := range users {
				if n == uid {
					return true
				}
			}
			return false
		},
	}
}

// TestSubordinateUsersCountToTheirOwner: all subordinate users of somebody count to that user, whatever the control
// group says. A user with an account counts to itself, and the slice counts only for others.
func TestSubordinateUsersCountToTheirOwner(t *testing.T) {
	const own, roots = "/user.slice/user-1000.slice/session-3.scope", "/user.slice/user-0.slice/session-1.scope"
	b := knowing("ann:100000:65536\n1001:165536:65536\nnobody knows:300000:9\nbob:x:1\n\n:::\nbob:0:10\nann:400000\n")
	for _, c := range []struct {
		uid   uint32
		group string
		want  uint32
	}{
		{1000, own, 1000}, {100000, own, 1000}, {165535, "/", 1000}, {165536, own, 1001}, {231071, "/", 1001},
		{231072, "/", 231072}, {231072, own, 1000}, {231072, roots, 231072}, {1001, own, 1001}, {0, own, 0},
		{300000, "/x/user.slice/user-1000.slice", 300000}, {300000, "/user.slice/user-1000.slice", 1000},
		{300000, "/user.slice/user-ann.slice", 300000}, {300000, "/../user.slice/user-1000.slice/a", 1000},
		{300000, "/user.slice/x/user-1000.slice", 300000}, {400000, "/", 400000},
	} {
		if got := b.Login(c.uid, c.group); got != c.want {
			t.Errorf("user %d in %s counts to %d, not to %d", c.uid, c.group, got, c.want)
		}
	}
	logins := map[uint32]bool{}
	for uid := range uint32(65536) {
		logins[b.Login(100000+uid, own)] = true
	}
	if len(logins) != 1 {
		t.Errorf("a user's subordinate ones are %d users", len(logins))
	}
}

// TestManyOwners: the owner of one range is looked up, and not all that the file has.
func TestManyOwners(t *testing.T) {
	var text strings.Builder
	for n := range maxRange {
		fmt.Fprintf(&text, "user-%d:%d:10\n", n, 100000+10*n)
	}
	b, looked := knowing(text.String()), 0
	b.Number = func(string) (uint32, bool) { looked++; return 1000, true }
	for n := range uint32(50) {
		if owner := b.Login(100000+10*n, ""); owner != 1000 {
			t.Errorf("user %d counts to %d", n, owner)
		}
	}
	if looked != 50 {
		t.Errorf("%d names are looked up for 50 users", looked)
	}
}

// TestBoundedFile: a file without end is read up to a bound.
func TestBoundedFile(t *testing.T) {
	b := knowing(strings.Repeat("ann:200000:1\n", 1<<17))
	if n := len(b.load()); n == 0 || n > maxRange {
		t.Errorf("%d ranges", n)
	}
}
