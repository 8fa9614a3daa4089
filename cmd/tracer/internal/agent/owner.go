package agent

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/internal/host/process"
	"ipytracer/internal/report/escape"
)

// facts are what this machine knows of a process by itself. Of these, only claimed can be chosen by the process: the
// user is the process's, the rest is that of its control group.
type facts struct {
	owner       telemetry.Owner // the pod by its UID, the container by its id
	podUID      string
	containerID string
	unitUser    string // JupyterHub's user of a unit of systemd
	claimed     telemetry.Claims
	uid         uint32
	place       string // as [telemetry.Kernel.Place]
	account     account
}

// account is to whom a process counts where there is a bound for each user. No process can choose it.
type account struct {
	group string // a pod, a container, JupyterHub's user of a unit, or a user of this machine
	user  uint32 // in a pod or a container a user there, which its root may choose; 0 otherwise
}

// about returns the facts of a process.
func about(fs process.FS, book *telemetry.Accounts, pid int, uid uint32) facts {
	name := groupOf(fs, pid)
	f := placeOf(name)
	f.uid, f.place = uid, boundaryOf(name, uid, func() bool { return sharesIDs(pid) })
	f.unitUser, _ = telemetry.HubUnit(name)
	login := book.Login(uid, name)
	f.account = accountOf(name, &f, login)
	f.owner.User = telemetry.Label(process.UserName(uid))
	if name := process.UserName(login); login != uid && name != strconv.Itoa(int(login)) && f.account.user == 0 {
		f.owner.User = telemetry.Label(name) // a subordinate user has no name of its own
	}
	// The environment has tokens, too: these variables are all that is taken out of it.
	variables, _ := fs.Proc(pid).Variables(telemetry.HubVariables...)
	telemetry.HubClaims(variables, &f.claimed)
	command, _ := fs.Proc(pid).Cmdline()
	f.claimed.KernelID = telemetry.KernelID(command.Args)
	return f
}

// accountOf returns to whom a process counts, by its control group and the user who has logged in. A pod or a container
// below a user's own groups is none: the user may make groups of any name there.
func accountOf(group string, f *facts, login uint32) account {
	users := strings.HasPrefix(path.Clean("/"+group), "/user.slice/")
	switch {
	case f.unitUser != "":
		return account{group: "unit " + f.unitUser}
	case !users && f.podUID != "":
		return account{"pod " + f.podUID, f.uid}
	case !users && f.containerID != "":
		return account{"container " + f.containerID, f.uid}
	}
	return account{group: "user " + strconv.Itoa(int(login))}
}

// groupOf returns the name of the group that accounts for a process's memory, "" if it is not known.
func groupOf(fs process.FS, pid int) string {
	group, _ := fs.Proc(pid).MemoryGroup()
	_, name, _ := strings.Cut(group, ":")
	return name
}

// Names of control groups: a pod's is pod<UID>, or …-pod<UID>.slice with _ in the UID; a container's is its id of 64
// digits, or <runtime>-<id>.scope (kubelet's cgroup manager, containerd, CRI-O, Docker, Podman).
var (
	podGroup       = regexp.MustCompile(`^(?:.*-)?pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})(?:\.slice)?$`)
	containerGroup = regexp.MustCompile(`^(?:[a-z-]+-)?([0-9a-f]{64})(?:\.scope)?$`)
)

// shortContainer is how much of a container's id is shown, as by `docker ps`.
const shortContainer = 12

// placeOf returns the pod's UID and the container of a control group. The pod goes by its UID. The highest group
// counts, and of pods none of a user's own: below what was made for them, users may make groups with any name.
func placeOf(group string) (f facts) {
	users := false
	for name := range strings.SplitSeq(path.Clean("/"+group), "/") {
		users = users || name == "user.slice"
		if m := podGroup.FindStringSubmatch(name); m != nil && f.podUID == "" && !users {
			f = facts{podUID: strings.ReplaceAll(m[1], "_", "-")} // a container above it is a machine to it
			f.owner.Pod = f.podUID
		}
		if m := containerGroup.FindStringSubmatch(name); m != nil && f.containerID == "" {
			f.containerID, f.owner.Container = m[1], m[1][:shortContainer]
		}
	}
	return f
}

// notebookOf returns the path of a notebook, as its kernel claims it, with characters that can be seen.
func notebookOf(path string) string { return strings.ToValidUTF8(escape.Text(path), "") }
