// Package invoker finds the user who typed the command, also behind sudo, pkexec or doas, and starts commands as that
// user. It opens and creates files with that user's rights; the callers decide which files.
package invoker

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/confine"
)

// Invoker is the user who typed the command. Files are opened and commands are started with that user's rights, never
// with those of a root that somebody was lent.
type Invoker struct {
	User
	entry *user.User // nil where the user has none
}

// Error is the reason why the user who typed the command is not known.
type Error string

func (e Error) Error() string {
	return string(e) +
		": so it is not known whose rights files and commands are to have; type 'sudo tracer …' as yourself, " +
		"or unset the variable as root"
}

// Find finds the user who typed the command: the user who runs it, if that is not root; the user whom sudo, pkexec or
// doas names; or root.
func Find() (*Invoker, error) {
	self, err := Self()
	if err != nil {
		return nil, err
	}
	if self.UID == 0 {
		return lent(os.Getenv)
	}
	entry, _ := user.LookupId(strconv.Itoa(int(self.UID)))
	return &Invoker{User: self, entry: entry}, nil
}

// lent finds the user to whom a program that runs as root was lent. The lending program names the user in the
// environment, which it sets itself: sudo(8), pkexec(1), doas(1). A variable that makes no sense is refused: it may
// stand for anybody.
func lent(getenv func(string) string) (*Invoker, error) {
	var found []*Invoker
	for _, by := range []func(func(string) string) (*Invoker, error){bySudo, byPkexec, byDoas} {
		i, err := by(getenv)
		if err != nil {
			return nil, err
		}
		if i != nil {
			found = append(found, i)
		}
	}
	for _, other := range found[min(1, len(found)):] {
		if other.UID != found[0].UID {
			return nil, Error(fmt.Sprintf("the environment names the users %d and %d", found[0].UID, other.UID))
		}
	}
	if len(found) > 0 && found[0].UID != 0 {
		return found[0], nil
	}
	self, err := Self()
	return &Invoker{User: self}, err
}

func bySudo(getenv func(string) string) (*Invoker, error) {
	id := getenv("SUDO_UID")
	if id == "" {
		for _, other := range []string{"SUDO_USER", "SUDO_GID", "SUDO_COMMAND"} {
			if getenv(other) != "" {
				return nil, Error(other + " is set and SUDO_UID is not")
			}
		}
		return nil, nil
	}
	i, err := newInvoker("SUDO_UID", id)
	if err != nil || i.UID == 0 {
		return i, err
	}
	return i, i.setGroup(getenv("SUDO_GID"))
}

func byPkexec(getenv func(string) string) (*Invoker, error) {
	id := getenv("PKEXEC_UID")
	if id == "" {
		return nil, nil
	}
	i, err := newInvoker("PKEXEC_UID", id)
	if err == nil && i.UID != 0 && i.entry == nil {
		err = Error("PKEXEC_UID=" + id + " has no entry in the user database")
	}
	return i, err
}

func byDoas(getenv func(string) string) (*Invoker, error) {
	name := getenv("DOAS_USER")
	if name == "" {
		return nil, nil
	}
	entry, err := user.Lookup(name)
	if err != nil {
		return nil, Error(fmt.Sprintf("DOAS_USER=%q has no entry in the user database", name))
	}
	return newInvoker("DOAS_USER", entry.Uid)
}

// newInvoker returns the user of a number, with the groups that the database has (initgroups(3)).
func newInvoker(variable, number string) (*Invoker, error) {
	uid, err := ParseID(number)
	if err != nil {
		return nil, Error(fmt.Sprintf("%s=%q is not the number of a user", variable, number))
	}
	i := &Invoker{User: User{UID: uid}}
	if i.entry, err = user.LookupId(number); err != nil {
		return i, nil
	}
	if i.GID, err = ParseID(i.entry.Gid); err != nil {
		return nil, Error(fmt.Sprintf("the group of user %s is %q", i.entry.Username, i.entry.Gid))
	}
	groups, _ := i.entry.GroupIds() // none, if they cannot be read: never more than the user has
	for _, g := range groups {
		if id, err := ParseID(g); err == nil && id != i.GID {
			i.Groups = append(i.Groups, id)
		}
	}
	return i, nil
}

// setGroup takes the group that the user had when sudo was typed, which can be another than the database's (newgrp(1)).
// Root's own is taken from the database only.
func (i *Invoker) setGroup(number string) error {
	if number == "" && i.entry != nil {
		return nil
	}
	gid, err := ParseID(number)
	if err != nil {
		return Error(fmt.Sprintf("SUDO_GID=%q is not the number of a group", number))
	}
	had := append([]uint32{i.GID}, i.Groups...)
	if gid == 0 && (i.entry == nil || !slices.Contains(had, 0)) {
		return Error(fmt.Sprintf("SUDO_GID=0 is root's group, and user %d is not in it", i.UID))
	}
	if i.entry != nil {
		i.Groups = slices.DeleteFunc(had, func(g uint32) bool { return g == gid })
	}
	i.GID = gid
	return nil
}

// ParseID reads a number of a user or a group as the kernel has them: 32 bits, without the one that means "leave as it
// is".
func ParseID(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err == nil && (uint32(n) == ^uint32(0) || text[0] == '+') {
		err = strconv.ErrRange
	}
	return uint32(n), err
}

// itself reports whether the invoker runs this program anyway.
func (i *Invoker) itself() bool { return int(i.UID) == os.Geteuid() && int(i.UID) == os.Getuid() }

// Heir returns the user that a program of root's is to become, nil where the program stays root's.
func (i *Invoker) Heir() *User {
	if os.Geteuid() == 0 && i.UID != 0 {
		return &i.User
	}
	return nil
}

// Home is the invoker's home folder, "" where none is known.
func (i *Invoker) Home() string {
	if i.entry != nil {
		return i.entry.HomeDir
	}
	if i.itself() {
		return os.Getenv("HOME")
	}
	return ""
}

// Dress makes a command run as the invoker, in the invoker's surroundings. The command has standard input, output and
// error, and of this program no other descriptor and no capability. It keeps the umask, the working directory, PATH as
// sudo has left it, and the terminal. A session of its own (setsid(2)) would take Ctrl-C from it.
func (i *Invoker) Dress(cmd *exec.Cmd) error {
	if err := errors.Join(sealDescriptors(), confine.WithholdCapabilities()); err != nil {
		return err
	}
	cmd.Env = os.Environ()
	if i.itself() {
		return nil
	}
	cmd.Env = i.environ(cmd.Env)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: i.UID, Gid: i.GID, Groups: i.Groups}
	return nil
}

// sealDescriptors closes every descriptor but the first three to programs that are started. That includes descriptors
// with which this program was started, and those that a library has opened.
func sealDescriptors() error {
	const first = 3
	if unix.CloseRange(first, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	entries, err := os.ReadDir("/proc/self/fd") // before Linux 5.11
	if err != nil {
		return fmt.Errorf("list the descriptors: %w", err)
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// environ is an environment as the invoker would have it, had it not been root's.
func (i *Invoker) environ(env []string) []string {
	set := map[string]string{"HOME": "/", "USER": "", "LOGNAME": "", "USERNAME": "", "MAIL": "", "SHELL": "/bin/sh",
		"XDG_RUNTIME_DIR": ""}
	if i.entry != nil {
		set["HOME"], set["USER"], set["LOGNAME"] = i.entry.HomeDir, i.entry.Username, i.entry.Username
		set["MAIL"] = "/var/mail/" + i.entry.Username
		set["SHELL"] = shellOf(i.entry.Username)
	}
	if dir := fmt.Sprintf("/run/user/%d", i.UID); i.owns(dir) {
		set["XDG_RUNTIME_DIR"] = dir
	}
	out := slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		_, replaced := set[name]
		return replaced || strings.HasPrefix(name, "SUDO_") || name == "PKEXEC_UID" || name == "DOAS_USER"
	})
	for name, value := range set {
		if value != "" {
			out = append(out, name+"="+value)
		}
	}
	return out
}

func (i *Invoker) owns(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == i.UID
}

// shellOf reads a user's shell from passwd(5); where the user is not in it the shell is the system's.
func shellOf(name string) string {
	data, err := os.ReadFile("/etc/passwd")
	if err == nil {
		for line := range strings.Lines(string(data)) {
			if fields := strings.Split(strings.TrimSpace(line), ":"); len(fields) == 7 && fields[0] == name &&
				fields[6] != "" {
				return fields[6]
			}
		}
	}
	return "/bin/sh"
}

// Rights opens files as the invoker. The caller closes it.
func (i *Invoker) Rights() (*Rights, error) {
	return Of(i.User)
}

// Named finds a user by name, for a root who names whom to be: nobody else may. The user is not root.
func Named(name string) (*Invoker, error) {
	entry, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("there is no user %q", name)
	}
	i, err := newInvoker("the number of "+name, entry.Uid)
	if err == nil && i.UID == 0 {
		err = fmt.Errorf("%s is root: name another user", name)
	}
	return i, err
}

// Lend makes this program take a user for the one who typed it: it sets the variables that sudo sets. Only root may
// call it, before the program has found out who typed it.
func (i *Invoker) Lend() error {
	err := errors.Join(os.Unsetenv("PKEXEC_UID"), os.Unsetenv("DOAS_USER"), os.Unsetenv("SUDO_COMMAND"))
	for name, value := range map[string]string{
		"SUDO_UID": strconv.Itoa(int(i.UID)), "SUDO_GID": strconv.Itoa(int(i.GID)), "SUDO_USER": i.entry.Username,
	} {
		err = errors.Join(err, os.Setenv(name, value))
	}
	return err
}

// Name is the invoker's name, or the number of a user without one.
func (i *Invoker) Name() string {
	if i.entry != nil {
		return i.entry.Username
	}
	return strconv.Itoa(int(i.UID))
}
