// Package telemetry has the records that an agent hands to the engines it serves, and the owner of each kernel. The
// records are of kernels, of cells that have closed, and of kernels that have ended. A kernel's owner is known by
// JupyterHub's names, which its spawners leave on pods, on units of systemd and in the environment of servers, and by
// accounts, which a process cannot choose.
package telemetry

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/internal/report/escape"
	"ipytracer/model"
)

// DefaultListen is the address of an agent's /metrics, if its configuration names no other.
const DefaultListen = "127.0.0.1:9464"

// Owner has the labels that say whose a kernel is. The kernel cannot choose them. An unknown label is empty. Each has
// at most [MaxLabel] bytes.
type Owner struct {
	Namespace, Pod, Container, User string
}

// MaxLabel is the greatest length of a label's value, in bytes.
const MaxLabel = 100

// Kernel is the record of a traced kernel. It does not change once a [Sink] has it. If a name becomes known later, such
// as the pod's, the kernel's next cells have a new record with the same PID, Slot, Began and Joined.
type Kernel struct {
	Owner
	// HubServer is the server of a user of JupyterHub; "" for the default one. The kernel cannot choose it.
	HubServer string
	// OfHub says that User is a user of JupyterHub; otherwise User is a user of Linux.
	OfHub  bool
	PID    int
	UID    uint32
	Worker bool // the process runs workers of Dask, and is no kernel
	// Place is the boundary inside which a user is one person: "hub:NAMESPACE/USER" if Kubernetes has named
	// JupyterHub's user of the pod; else the control group of the kernel's pod or container, "/" outside of any; "" if
	// unknown. The kernel cannot choose it.
	Place string
	// Account is who the kernel counts for in limits of each user: a pod, a container, or the user who has logged in;
	// "" if unknown. The kernel cannot choose it.
	Account  string
	Slot     uint32    // 0 to 63; another kernel may get it once this one has ended
	Began    time.Time // when the process started
	Joined   time.Time // when tracing began
	Python   string
	IPython  string
	Frontend string // as in [event.ProcessInfo], or [Worker]
	// Sources has the quality of each meter's figures.
	Sources []event.MeterSource
	PodUID  string
	// ContainerID is the whole ID, as the control group has it.
	ContainerID string
	// Claimed has the names that the kernel's own user can forge.
	Claimed Claims
}

// Worker is the front end of a process that runs Dask's workers.
const Worker = "dask worker"

// Claims are names that a kernel's own user can forge.
type Claims struct {
	HubUser, HubServer string // JupyterHub's
	Notebook           string // a path
	KernelID           string // Jupyter's, from the name of the connection file
}

// SpanID is the ID of a span in OpenTelemetry. The zero value stands for no span.
type SpanID [8]byte

// NewSpanID returns a random ID that is not zero.
func NewSpanID() (id SpanID) {
	for id == (SpanID{}) {
		_, _ = rand.Read(id[:]) // never fails
	}
	return id
}

// NewID returns 16 random hexadecimal digits.
func NewID() string {
	id := NewSpanID()
	return hex.EncodeToString(id[:])
}

// TraceID is the ID of a trace in OpenTelemetry. The zero value stands for no trace.
type TraceID [16]byte

// TraceContext identifies a span, for use as the parent of other spans. The zero value stands for no span.
type TraceContext struct {
	TraceID TraceID
	SpanID  SpanID
}

// Cell is a cell that has closed.
type Cell struct {
	Kernel *Kernel
	Window *model.Window
	Began  time.Time
	Ended  time.Time
	// SpanID is the random ID of the cell's span.
	SpanID SpanID
	// TraceID is the random trace that the notebook has chosen for the cell and its tasks elsewhere; zero for none.
	TraceID TraceID
	// Ending is how the kernel ended within the cell; nil if the kernel goes on.
	Ending *model.Ending
}

// Task is a task of a worker of Dask that has ended. The worker's user can forge all of it but Kernel, Window's figures
// and the times.
type Task struct {
	Kernel *Kernel // of the process that was attached to: the worker, or the process that has started it
	Window *model.Window
	Began  time.Time
	Ended  time.Time
	Prefix string // of the task's key
	Cell   string // the cell that submitted the task; "" if unknown
	// Parent is the span of the cell that submitted the task; zero if unknown.
	Parent TraceContext
}

// Death is the end of a kernel.
type Death struct {
	Kernel *Kernel
	Ending *model.Ending // nil if it is not known
	At     time.Time
	// Open has the cells that ran at the end. The sink gets each as a [Cell], too.
	Open []*model.Window
	// Statement is the statement that ran; nil for none.
	Statement *model.Window
	// Notebook is the path of the notebook at the end, which the user can forge; "" if it is not known.
	Notebook string
}

// Sink takes in records. Its methods must not wait, because the goroutine that calls them also reads the kernels'
// events.
type Sink interface {
	// Cell takes in a cell. It may keep the record, and must not change it.
	Cell(*Cell)
	// Task takes in a task. It may keep the record, and must not change it.
	Task(*Task)
	// Death takes in the end of a kernel, after its cells and tasks.
	Death(*Death)
}

// Resident is the meter of [Need].
const Resident = "cpu.resident"

// Outcomes are the values of [Outcome].
var Outcomes = []string{model.OK, model.Error, model.Interrupted, model.Incomplete}

// Outcome returns the status of a cell or a task. An unknown status counts as incomplete.
func Outcome(w *model.Window) string {
	if slices.Contains(Outcomes, w.Status) {
		return w.Status
	}
	return model.Incomplete
}

// Need returns the need of resident memory of a cell or a task with its children, in bytes.
func Need(w *model.Window) int64 {
	f, _ := w.Together(Resident)
	return max(0, f.Need())
}

// InRange returns an error unless a value of a configuration is from the lowest to the highest.
func InRange[T cmp.Ordered](value, lowest, highest T) error {
	if value < lowest || value > highest {
		return fmt.Errorf("%v is not from %v to %v", value, lowest, highest)
	}
	return nil
}

// hashedLabel matches the end that [Label] gives a changed name.
var hashedLabel = regexp.MustCompile(`~[0-9a-f]{16}$`)

// Label returns a name as the value of a label, which has [MaxLabel] bytes at most and no invisible characters. The
// label of any other name ends in a part of the name's hash, so that two names do not get the same label.
func Label(name string) string {
	text := escape.Text(name)
	if text == name && len(text) <= MaxLabel && !hashedLabel.MatchString(text) {
		return text
	}
	sum := sha256.Sum256([]byte(name))
	end := "~" + hex.EncodeToString(sum[:8])
	return strings.ToValidUTF8(text[:min(len(text), MaxLabel-len(end))], "") + end
}
