package agent

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"ipytracer/cmd/tracer/internal/agent/deaths"
	"ipytracer/cmd/tracer/internal/agent/pods"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/internal/host/process"
	"ipytracer/internal/report/escape"
)

// facts are what this machine knows of a process by itself. The process can choose only claimed: the user comes from
// Linux, and everything else from the control group.
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

// account is what a process is charged to where each user has a limit. No process can choose it.
type account struct {
	group string // a pod, a container, JupyterHub's user of a unit, or a user of this machine
	user  uint32 // in a pod or a container a user there, which its root may choose; 0 otherwise
}

// about returns the facts of a process.
func about(fs process.FS, book *telemetry.Accounts, pid int, uid uint32) facts {
	group := groupOf(fs, pid)
	f, login := accountFacts(book, group, uid)
	f.place = boundaryOf(group, uid, func() bool { return sharesIDs(pid) })
	f.owner.User = telemetry.Label(process.UserName(uid))
	if name := process.UserName(login); login != uid && name != strconv.Itoa(int(login)) && f.account.user == 0 {
		f.owner.User = telemetry.Label(name) // a subordinate user has no name of its own
	}
	// The environment has tokens, too: only these variables are taken from it.
	variables, _ := fs.Proc(pid).Variables(telemetry.HubVariables...)
	telemetry.HubClaims(variables, &f.claimed)
	command, _ := fs.Proc(pid).Cmdline()
	f.claimed.KernelID = telemetry.KernelID(command.Args)
	return f
}

// accountFacts returns the facts that say whose a process is, and the user who has logged in, by the process's control
// group and user.
func accountFacts(book *telemetry.Accounts, group string, uid uint32) (f facts, login uint32) {
	f = placeOf(group)
	f.uid, login = uid, book.Login(uid, group)
	f.unitUser, _ = telemetry.HubUnit(group)
	f.account = accountOf(group, &f, login)
	return f, login
}

// accountOf returns the account of a process, by its control group and the user who has logged in. A pod or a container
// below a user's own groups does not count as a pod or a container: the user may make groups of any name there.
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

// groupOf returns the name of the group that accounts for a process's memory; "" if it is not known.
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

// placeOf returns the pod's UID and the container of a control group. The pod goes by its UID. The highest group with
// such a name counts, since users may make groups with any name below their own. A pod in a user's slice does not
// count.
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

// finder finds pods. One is [pods.Watcher].
type finder interface {
	Find(uid, container string) (p pods.Pod, name string, known bool)
}

// finders are asked one after the other. Where there are none, nobody is asked.
type finders []finder

// Find returns what the first finder that knows the pod and its container says, or else the first that knows the pod.
func (all finders) Find(uid, container string) (p pods.Pod, name string, known bool) {
	for _, one := range all {
		found, of, is := one.Find(uid, container)
		if is && (!known || name == "" && of != "") {
			p, name, known = found, of, true
		}
		if known && (name != "" || container == "") {
			break
		}
	}
	return p, name, known
}

// fill fills in the names of a kernel. settled reports whether no more names will come.
func (all finders) fill(k *telemetry.Kernel, f *facts, c *Config) (settled bool) {
	k.Owner, k.HubServer, k.OfHub, k.Claimed, k.Place = f.owner, "", false, f.claimed, f.place
	k.Account = f.account.group
	settled = true
	user, server, trusted, namespace := f.unitUser, "", f.unitUser != "", ""
	if f.podUID != "" && len(all) > 0 {
		p, container, known := all.Find(f.podUID, f.containerID)
		settled = known && (container != "" || f.containerID == "")
		if known {
			namespace, k.Namespace, k.Pod = p.Namespace, telemetry.Label(p.Namespace), telemetry.Label(p.Name)
			k.Container = cmp.Or(telemetry.Label(container), k.Container)
			user, server, trusted = telemetry.HubPod(p.Labels, p.Annotations)
		}
	}
	if trusted && f.podUID != "" && !c.Hubs.Match(k.Namespace) {
		k.Claimed.HubUser, k.Claimed.HubServer, trusted = telemetry.Label(user), telemetry.Label(server), false
	}
	if trusted {
		k.User, k.HubServer, k.OfHub = telemetry.Label(user), telemetry.Label(server), true
		if f.podUID != "" && c.Users {
			k.Place = placeOfHub(namespace, user)
			k.Account = k.Place
		}
	}
	if !c.Users {
		withoutUsers(k, f, user)
	}
	return settled
}

// placeOfHub returns the boundary of a user of JupyterHub, whose pods come and go. Users of one name in two namespaces
// are two users: somebody who may create pods in one namespace could name them after anybody. A namespace has no slash.
func placeOfHub(namespace, user string) string { return "hub:" + namespace + "/" + user }

// withoutUsers takes the names of users out of a record. It also takes out the names of pods and namespaces that
// contain a user's name, as JupyterHub may give them.
func withoutUsers(k *telemetry.Kernel, f *facts, user string) {
	k.User, k.HubServer, k.OfHub = "", "", false
	k.Claimed = telemetry.Claims{KernelID: k.Claimed.KernelID}
	if user == "" {
		return
	}
	k.Pod = f.owner.Pod
	if strings.Contains(k.Namespace, strings.ToLower(user)) {
		k.Namespace = ""
	}
}

// The numbers of users that systemd makes up for a service (DynamicUser=). The next service may have the same number.
const firstDynamic, lastDynamic = 61184, 65519

// maxBoundary is the greatest length of a boundary, in bytes. A control group with a longer name is no boundary.
const maxBoundary = 1024

// boundaryOf returns the boundary inside which a user is one person, by the memory control group of a process. It is a
// [telemetry.Kernel.Place]; "" where it is not known.
//
// It is the whole path down to the pod, or else to the container: a user may make groups of any name below a group of
// the user's own, and none beside another user's. Outside of pods and containers, a user is one person if the process
// shares the agent's process ids, since processes of one user there may look into each other.
func boundaryOf(group string, uid uint32, sharesIDs func() bool) string {
	if len(group) > maxBoundary || !utf8.ValidString(group) {
		return ""
	}
	container := ""
	for at := path.Clean("/" + group); at != "/"; at = path.Dir(at) {
		switch name := path.Base(at); {
		case podGroup.MatchString(name):
			return at
		case container == "" && containerGroup.MatchString(name):
			container = at
		case container == "" && uid >= firstDynamic && uid <= lastDynamic && strings.HasSuffix(name, ".service"):
			container = at
		}
	}
	switch {
	case container != "":
		return container
	case uid >= firstDynamic && uid <= lastDynamic || !sharesIDs():
		return ""
	}
	return deaths.Machine
}

// sharesIDs reports whether a process is in the agent's process id namespace.
func sharesIDs(pid int) bool {
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	if err != nil {
		return false
	}
	own, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && own == theirs
}
