package privileges

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
)

// Invoker is the user who typed the command. Files are opened and commands are started with this user's rights, even if
// sudo made the program root's.
type Invoker struct {
	User
	entry *user.User // nil if the user has no entry in the database
}

// InvokerError is the reason why the user who typed the command is not known.
type InvokerError string

// InvokerError returns the reason, and what to do.
func (e InvokerError) Error() string {
	return string(e) +
		": so it is not known whose rights files and commands are to have; type 'sudo tracer …' as yourself, " +
		"or unset the variable as root"
}

// FindInvoker finds the user who typed the command. If root runs this program, it is the user whom sudo, pkexec or doas
// names, or else root. If another user runs this program, it is that user.
func FindInvoker() (*Invoker, error) {
	self, err := Self()
	if err != nil {
		return nil, err
	}
	if self.UID == 0 {
		return behindRoot(os.Getenv)
	}
	entry, _ := user.LookupId(strconv.Itoa(int(self.UID)))
	return &Invoker{User: self, entry: entry}, nil
}

// behindRoot finds the user who started this program as root, by the environment variables that sudo(8), pkexec(1) and
// doas(1) set. It returns root if none is set. It refuses variables that make no sense, because they may stand for any
// user.
func behindRoot(getenv func(string) string) (*Invoker, error) {
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
			return nil, InvokerError(fmt.Sprintf("the environment names the users %d and %d", found[0].UID, other.UID))
		}
	}
	if len(found) > 0 && found[0].UID != 0 {
		return found[0], nil
	}
	self, err := Self()
	return &Invoker{User: self}, err
}

// bySudo returns the user whom sudo names, or nil for none.
func bySudo(getenv func(string) string) (*Invoker, error) {
	id := getenv("SUDO_UID")
	if id == "" {
		for _, other := range []string{"SUDO_USER", "SUDO_GID", "SUDO_COMMAND"} {
			if getenv(other) != "" {
				return nil, InvokerError(other + " is set and SUDO_UID is not")
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

// byPkexec returns the user whom pkexec names, or nil for none.
func byPkexec(getenv func(string) string) (*Invoker, error) {
	id := getenv("PKEXEC_UID")
	if id == "" {
		return nil, nil
	}
	i, err := newInvoker("PKEXEC_UID", id)
	if err == nil && i.UID != 0 && i.entry == nil {
		err = InvokerError("PKEXEC_UID=" + id + " has no entry in the user database")
	}
	return i, err
}

// byDoas returns the user whom doas names, or nil for none.
func byDoas(getenv func(string) string) (*Invoker, error) {
	name := getenv("DOAS_USER")
	if name == "" {
		return nil, nil
	}
	entry, err := user.Lookup(name)
	if err != nil {
		return nil, InvokerError(fmt.Sprintf("DOAS_USER=%q has no entry in the user database", name))
	}
	return newInvoker("DOAS_USER", entry.Uid)
}

// newInvoker returns the user with a number, and with the user's groups in the database (initgroups(3)). variable is
// the source of the number, for errors.
func newInvoker(variable, number string) (*Invoker, error) {
	uid, err := ParseID(number)
	if err != nil {
		return nil, InvokerError(fmt.Sprintf("%s=%q is not the number of a user", variable, number))
	}
	i := &Invoker{User: User{UID: uid}}
	if i.entry, err = user.LookupId(number); err != nil {
		return i, nil
	}
	if i.GID, err = ParseID(i.entry.Gid); err != nil {
		return nil, InvokerError(fmt.Sprintf("the group of user %s is %q", i.entry.Username, i.entry.Gid))
	}
	groups, _ := i.entry.GroupIds() // none if they cannot be read, so never more than the user has
	for _, g := range groups {
		if id, err := ParseID(g); err == nil && id != i.GID {
			i.Groups = append(i.Groups, id)
		}
	}
	return i, nil
}

// setGroup sets the group to the one that the user had when sudo was typed. It may differ from the database's
// (newgrp(1)). Root's group is accepted only if the database has it for the user.
func (i *Invoker) setGroup(number string) error {
	if number == "" && i.entry != nil {
		return nil
	}
	gid, err := ParseID(number)
	if err != nil {
		return InvokerError(fmt.Sprintf("SUDO_GID=%q is not the number of a group", number))
	}
	had := append([]uint32{i.GID}, i.Groups...)
	if gid == 0 && (i.entry == nil || !slices.Contains(had, 0)) {
		return InvokerError(fmt.Sprintf("SUDO_GID=0 is root's group, and user %d is not in it", i.UID))
	}
	if i.entry != nil {
		i.Groups = slices.DeleteFunc(had, func(g uint32) bool { return g == gid })
	}
	i.GID = gid
	return nil
}

// ParseID parses the number of a user or a group: 32 bits, without the largest number, which means "do not change" in
// system calls.
func ParseID(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err == nil && (uint32(n) == ^uint32(0) || text[0] == '+') {
		err = strconv.ErrRange
	}
	return uint32(n), err
}

// itself reports whether this program already runs as the invoker.
func (i *Invoker) itself() bool { return int(i.UID) == os.Geteuid() && int(i.UID) == os.Getuid() }

// Heir returns the user that this program must become: the invoker if root runs it for another user, else nil.
func (i *Invoker) Heir() *User {
	if os.Geteuid() == 0 && i.UID != 0 {
		return &i.User
	}
	return nil
}

// Home returns the invoker's home folder, or "" if it is not known.
func (i *Invoker) Home() string {
	if i.entry != nil {
		return i.entry.HomeDir
	}
	if i.itself() {
		return os.Getenv("HOME")
	}
	return ""
}

// Dress makes a command run as the invoker, with an environment of the invoker's. The command inherits standard input,
// output and error, but no other descriptor and no capability. It also inherits the umask, the working directory,
// sudo's PATH, and the terminal: in a session of its own (setsid(2)) it would not get Ctrl-C.
func (i *Invoker) Dress(cmd *exec.Cmd) error {
	if err := errors.Join(sealDescriptors(), WithholdCapabilities()); err != nil {
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

// sealDescriptors makes programs that are started inherit only the first three descriptors. That also concerns
// descriptors that this program has inherited itself, and those that a library has opened.
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

// environ turns an environment of root's into the one that the invoker would have had.
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

// owns reports whether a folder exists and belongs to the invoker.
func (i *Invoker) owns(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == i.UID
}

// shellOf returns a user's shell by passwd(5), or /bin/sh if the user is not there.
func shellOf(name string) string {
	data, err := os.ReadFile("/etc/passwd")
	if err == nil {
		for line := range strings.Lines(string(data)) {
			fields := strings.Split(strings.TrimSpace(line), ":")
			if len(fields) == 7 && fields[0] == name && fields[6] != "" {
				return fields[6]
			}
		}
	}
	return "/bin/sh"
}

// Rights returns the invoker's rights on files. The caller closes them.
func (i *Invoker) Rights() (*Rights, error) {
	return RightsOf(i.User)
}

// FindRights returns the rights on files of the user who typed the command ([FindInvoker]). The caller closes them.
func FindRights() (*Rights, error) {
	who, err := FindInvoker()
	if err != nil {
		return nil, err
	}
	return who.Rights()
}

// NamedInvoker finds a user by name, if root wants a command to run as that user. It fails for root. Callers must check
// that this program is root's.
func NamedInvoker(name string) (*Invoker, error) {
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

// Lend makes i the user whom [FindInvoker] returns, by setting the variables that sudo sets. Only a program of root's
// may call it, and before FindInvoker.
func (i *Invoker) Lend() error {
	err := errors.Join(os.Unsetenv("PKEXEC_UID"), os.Unsetenv("DOAS_USER"), os.Unsetenv("SUDO_COMMAND"))
	for name, value := range map[string]string{
		"SUDO_UID": strconv.Itoa(int(i.UID)), "SUDO_GID": strconv.Itoa(int(i.GID)), "SUDO_USER": i.entry.Username,
	} {
		err = errors.Join(err, os.Setenv(name, value))
	}
	return err
}

// Name returns the invoker's name, or the number of a user without a name.
func (i *Invoker) Name() string {
	if i.entry != nil {
		return i.entry.Username
	}
	return strconv.Itoa(int(i.UID))
}
