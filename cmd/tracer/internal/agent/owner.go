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

// facts are what this machine knows about a process without Kubernetes. The user comes from Linux, everything else from
// the control group; only claimed comes from the process itself, which may say anything.
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

// account is who is charged for a process, for limits of each user. No process can choose its account.
type account struct {
	group string // a pod, a container, JupyterHub's user of a unit, or a user of this machine
	user  uint32 // in a pod or a container, the user there, whom the container's root may choose; 0 elsewhere
}

// factsOf returns the facts of a process.
func factsOf(fs process.FS, book *telemetry.Accounts, pid int, uid uint32) facts {
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

// accountFacts returns the facts that follow from a process's control group and user, and the user who has logged in.
func accountFacts(book *telemetry.Accounts, group string, uid uint32) (f facts, login uint32) {
	f = podAndContainerOf(group)
	f.uid, login = uid, book.Login(uid, group)
	f.unitUser, _ = telemetry.HubUnit(group)
	f.account = accountOf(group, &f, login)
	return f, login
}

// accountOf returns the account of a process, by its control group and the user who has logged in. In a user's slice,
// names of pods and containers do not count: the user may make groups of any name there.
func accountOf(group string, f *facts, login uint32) account {
	inUserSlice := strings.HasPrefix(path.Clean("/"+group), "/user.slice/")
	switch {
	case f.unitUser != "":
		return account{group: "unit " + f.unitUser}
	case !inUserSlice && f.podUID != "":
		return account{"pod " + f.podUID, f.uid}
	case !inUserSlice && f.containerID != "":
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

// shortContainer is the length of a container's ID in reports, as `docker ps` shows it.
const shortContainer = 12

// podAndContainerOf returns facts with the pod and the container of a control group; Kubernetes' name of the pod is
// still unknown, so its UID stands for it. Of several groups with such names the highest counts, since users may make
// groups of any name below their own. A pod in a user's slice does not count.
func podAndContainerOf(group string) (f facts) {
	inUserSlice := false
	for name := range strings.SplitSeq(path.Clean("/"+group), "/") {
		inUserSlice = inUserSlice || name == "user.slice"
		if m := podGroup.FindStringSubmatch(name); m != nil && f.podUID == "" && !inUserSlice {
			// This forgets a container above the pod: it is the pod's machine (kind).
			f = facts{podUID: strings.ReplaceAll(m[1], "_", "-")}
			f.owner.Pod = f.podUID
		}
		if m := containerGroup.FindStringSubmatch(name); m != nil && f.containerID == "" {
			f.containerID, f.owner.Container = m[1], m[1][:shortContainer]
		}
	}
	return f
}

// notebookOf returns the path of a notebook, as its kernel claims it, with escapes for invisible characters.
func notebookOf(path string) string { return strings.ToValidUTF8(escape.Text(path), "") }

// finder finds pods by UID, such as [pods.Watcher]. name is the container's, "" if only the pod is known.
type finder interface {
	Find(uid, container string) (p pods.Pod, name string, known bool)
}

// finders are asked one after the other.
type finders []finder

// Find returns the answer of the first finder that knows the pod and its container; if there is none, of the first that
// knows the pod.
func (all finders) Find(uid, container string) (p pods.Pod, name string, known bool) {
	for _, finder := range all {
		pod, containerName, ok := finder.Find(uid, container)
		knowsMore := !known || name == "" && containerName != ""
		if ok && knowsMore {
			p, name, known = pod, containerName, true
		}
		isComplete := known && (name != "" || container == "")
		if isComplete {
			break
		}
	}
	return p, name, known
}

// hubOwner is the user of JupyterHub that a kernel belongs to.
type hubOwner struct {
	user, server string
	namespace    string // of the pod; "" if Kubernetes has not named it
	known        bool
}

// fill sets the names of a kernel to those that are known now. settled reports whether that is all.
func (all finders) fill(k *telemetry.Kernel, f *facts, c *Config) (settled bool) {
	k.Owner, k.HubServer, k.OfHub, k.Claimed, k.Place = f.owner, "", false, f.claimed, f.place
	k.Account = f.account.group
	settled = true
	inPod := f.podUID != ""
	hub := hubOwner{user: f.unitUser, known: f.unitUser != ""}
	if inPod && len(all) > 0 {
		hub, settled = all.fillPod(k, f, hub)
	}
	isTrusted := hub.known
	if hub.known && inPod && !c.Hubs.Match(k.Namespace) {
		k.Claimed.HubUser, k.Claimed.HubServer = telemetry.Label(hub.user), telemetry.Label(hub.server)
		isTrusted = false
	}
	if isTrusted {
		k.User, k.HubServer, k.OfHub = telemetry.Label(hub.user), telemetry.Label(hub.server), true
		if inPod && c.Users {
			k.Place = placeOfHub(hub.namespace, hub.user)
			k.Account = k.Place
		}
	}
	if !c.Users {
		withoutUsers(k, f, hub.user)
	}
	return settled
}

// fillPod sets the names of a kernel's pod and container if they are known. It returns the pod's user of JupyterHub, or
// hub if the pod is unknown. settled reports whether no more names will come.
func (all finders) fillPod(k *telemetry.Kernel, f *facts, hub hubOwner) (_ hubOwner, settled bool) {
	p, container, known := all.Find(f.podUID, f.containerID)
	if !known {
		return hub, false
	}
	k.Namespace, k.Pod = telemetry.Label(p.Namespace), telemetry.Label(p.Name)
	k.Container = cmp.Or(telemetry.Label(container), k.Container)
	hub = hubOwner{namespace: p.Namespace}
	hub.user, hub.server, hub.known = telemetry.HubPod(p.Labels, p.Annotations)
	return hub, container != "" || f.containerID == ""
}

// placeOfHub returns the boundary of a user of JupyterHub, whose pods come and go. Users of one name in two namespaces
// are two users: somebody who may create pods in one namespace could name them after anybody. A namespace has no slash.
func placeOfHub(namespace, user string) string { return "hub:" + namespace + "/" + user }

// withoutUsers removes the names of users from a record. It also removes the names of the pod and the namespace, which
// may contain a user's name where JupyterHub has chosen them.
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

// The range of user IDs that systemd assigns to services for as long as they run (DynamicUser=).
const firstDynamic, lastDynamic = 61184, 65519

// isDynamic reports whether another service may have the same user ID later.
func isDynamic(uid uint32) bool { return uid >= firstDynamic && uid <= lastDynamic }

// maxBoundary is the greatest length of a boundary, in bytes. A control group with a longer name is no boundary.
const maxBoundary = 1024

// boundaryOf returns the boundary inside which a user ID stands for one person ([telemetry.Kernel.Place]), by the
// memory control group of a process; "" if that is unknown.
//
// The boundary is the path of the pod's group, or else of the container's. The whole path counts, because a user may
// make groups of any name below an own group, but none beside another user's. Outside of pods and containers, the
// boundary is the machine if the process is in the agent's process ID namespace: there, processes of one user may look
// into each other.
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
		case container == "" && isDynamic(uid) && strings.HasSuffix(name, ".service"):
			container = at
		}
	}
	switch {
	case container != "":
		return container
	case isDynamic(uid) || !sharesIDs():
		return ""
	}
	return deaths.Machine
}

// sharesIDs reports whether a process is in the agent's process ID namespace.
func sharesIDs(pid int) bool {
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	if err != nil {
		return false
	}
	own, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && own == theirs
}
