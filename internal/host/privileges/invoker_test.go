package privileges

import (
	"errors"
	"os"
	"os/user"
	"slices"
	"strings"
	"testing"
)

// TestWhoTypedSudo: the environment's word on the user who typed sudo, pkexec or doas is taken if it makes sense, and
// else refused. Only its absence stands for root.
func TestWhoTypedSudo(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("root is never lent to whoever is not root")
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range lentCases(t, nobody) {
		got, err := behindRoot(func(name string) string {
			for variable := range strings.FieldsSeq(c.env) {
				if value, ok := strings.CutPrefix(variable, name+"="); ok {
					return value
				}
			}
			return ""
		})
		var nobody InvokerError
		switch {
		case c.uid == refused && !errors.As(err, &nobody):
			t.Errorf("%s: not refused: %+v %v", c.env, got, err)
		case c.uid == refused:
			if message := err.Error(); strings.Contains(message, "\n") {
				t.Errorf("%s: %q", c.env, message)
			}
		case err != nil || int64(got.UID) != c.uid || int64(got.GID) != c.gid:
			t.Errorf("%s: %+v %v", c.env, got, err)
		case got.UID != 0 && (got.GID == 0 || slices.Contains(got.Groups, 0)):
			t.Errorf("%s: in root's group: %+v", c.env, got)
		}
	}
}

type lentCase struct {
	env      string
	uid, gid int64
}

const refused, root = -1, 0

// lentCases are environments and whom they name.
func lentCases(t *testing.T, nobody *user.User) []lentCase {
	t.Helper()
	return []lentCase{
		{"", root, 0},
		{"SUDO_UID= SUDO_GID=", root, 0},
		{"SUDO_UID=0 SUDO_GID=0 SUDO_USER=root", root, 0},
		{"SUDO_UID=4000000 SUDO_GID=4000001", 4000000, 4000001},
		{"SUDO_UID=4294967294 SUDO_GID=5", 4294967294, 5},
		{"SUDO_UID=" + nobody.Uid + " SUDO_GID=" + nobody.Gid, idOf(t, nobody.Uid), idOf(t, nobody.Gid)},
		{"SUDO_UID=" + nobody.Uid, idOf(t, nobody.Uid), idOf(t, nobody.Gid)},
		{"SUDO_UID=" + nobody.Uid + " SUDO_GID=7", idOf(t, nobody.Uid), 7},
		{"PKEXEC_UID=" + nobody.Uid, idOf(t, nobody.Uid), idOf(t, nobody.Gid)},
		{"DOAS_USER=nobody", idOf(t, nobody.Uid), idOf(t, nobody.Gid)},
		{"DOAS_USER=nobody PKEXEC_UID=" + nobody.Uid, idOf(t, nobody.Uid), idOf(t, nobody.Gid)},
		{"PKEXEC_UID=0", root, 0},
		{"DOAS_USER=root", root, 0},
		{"SUDO_UID=" + nobody.Uid + " SUDO_GID=0", refused, 0},
		{"SUDO_UID=4000000 SUDO_GID=0", refused, 0},
		{"SUDO_UID=4000000", refused, 0},
		{"SUDO_UID=4000000 SUDO_GID=x", refused, 0},
		{"SUDO_UID=4000000 SUDO_GID=-1", refused, 0},
		{"SUDO_UID=4000000 SUDO_GID=4294967296", refused, 0},
		{"SUDO_UID=x SUDO_GID=5", refused, 0},
		{"SUDO_UID=-1 SUDO_GID=5", refused, 0},
		{"SUDO_UID=+5 SUDO_GID=5", refused, 0},
		{"SUDO_UID=0x5 SUDO_GID=5", refused, 0},
		{"SUDO_UID=4294967295 SUDO_GID=5", refused, 0},
		{"SUDO_UID=4294967296 SUDO_GID=5", refused, 0},
		{"SUDO_UID=4294967297 SUDO_GID=5", refused, 0},
		{"SUDO_USER=nobody", refused, 0},
		{"SUDO_GID=5", refused, 0},
		{"PKEXEC_UID=x", refused, 0},
		{"PKEXEC_UID=4000000", refused, 0},
		{"DOAS_USER=no-such-user", refused, 0},
		{"SUDO_UID=0 SUDO_GID=0 PKEXEC_UID=" + nobody.Uid, refused, 0},
		{"SUDO_UID=4000000 SUDO_GID=5 DOAS_USER=nobody", refused, 0},
	}
}

func idOf(t *testing.T, text string) int64 {
	t.Helper()
	id, err := ParseID(text)
	if err != nil {
		t.Fatal(err)
	}
	return int64(id)
}

// TestEnvironmentShowsNoRoot: nothing in a command's environment shows that it was root's.
func TestEnvironmentShowsNoRoot(t *testing.T) {
	was := []string{"HOME=/root", "USER=root", "LOGNAME=root", "USERNAME=root", "SHELL=/bin/zsh", "MAIL=/var/mail/root",
		"XDG_RUNTIME_DIR=/run/user/0", "SUDO_UID=5",
		"SUDO_GID=5", "SUDO_USER=ann", "SUDO_COMMAND=/bin/tracer", "SUDO_HOME=/home/ann", "SUDO_PROMPT=x",
		"PKEXEC_UID=5", "DOAS_USER=ann", "PATH=/bin", "LANG=C", "TERM=dumb"}
	for _, c := range []struct {
		who  Invoker
		want string
	}{
		{Invoker{entry: &user.User{Username: "ann", HomeDir: "/home/ann"}},
			"HOME=/home/ann LANG=C LOGNAME=ann MAIL=/var/mail/ann PATH=/bin SHELL=/bin/sh TERM=dumb USER=ann"},
		{Invoker{}, "HOME=/ LANG=C PATH=/bin SHELL=/bin/sh TERM=dumb"},
	} {
		c.who.User = User{UID: 4000000, GID: 4000000}
		got := c.who.environ(was)
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v\nwant %s", got, c.want)
		}
	}
}
