// Package users keeps what each user of JupyterHub may see of the own kernels. That is those that run, the heaviest
// cells, and the last deaths. The package answers a hub's service, which shows it to that user alone.
//
// Everything here depends on the owner of a kernel: a name that the kernel's user cannot choose (docs/agent-names.md).
// It is JupyterHub's, or the machine's where the configuration says that both are the same.
package users

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ipytracer/cmd/tracer/internal/agent/deaths"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
)

// Options are what a [Keeper] needs.
type Options struct {
	Config Config
	Node   string // the name of this machine
	Log    *slog.Logger
	// Open opens the files of tokens.
	Open func(name string) (*os.File, error)
	// Place is the boundary that the agent itself runs in, as [telemetry.Kernel] has it. Only in this boundary are
	// names of users the machine's.
	Place string
	// Users reports whether names of users may leave the agent at present.
	Users func() bool
	// Trusted reports whether JupyterHub's names in a namespace are trusted at present.
	Trusted func(namespace string) bool
	// KeepDeaths returns how long deaths are kept.
	KeepDeaths func() time.Duration
	// Kernels returns the kernels that run now and for which wanted returns true.
	Kernels func(wanted func(*telemetry.Kernel) bool) []Kernel
}

// Keeper keeps the cells and deaths of users. It is a [telemetry.Sink], and answers HTTP.
type Keeper struct {
	options   Options
	tokens    []*token      // of the hubs
	agent     string        // a random ID, by which a service sees that two addresses have one agent
	answering chan struct{} // has an element for each answer that is being made
	prover    prover
	now       func() time.Time

	mu               sync.Mutex
	people           map[person]*record
	generationsBegan [2]time.Time // of the present generation of cells, and of the one before
}

// person is the owner of a kernel.
type person struct {
	namespace string // of pods; "" for users of units and of the machine
	user      string
	machine   bool // user is a user of this machine, and maybe not of JupyterHub
}

// record is what is kept of a person.
type record struct {
	cells   [2][]Cell // of the present generation, and of the one before; the heaviest first
	deaths  []Death   // the last one first
	updated time.Time // when something was added
}

// Bounds on what is kept. The configuration has others.
const (
	maxPeople = 1000
	maxDeaths = 5   // of a person
	maxPath   = 300 // bytes
)

// New returns a Keeper. It fails if it cannot read a hub's token.
func New(o Options) (*Keeper, error) {
	k := &Keeper{
		options: o, agent: telemetry.NewID(), answering: make(chan struct{}, maxAsks), now: time.Now,
		people: map[person]*record{}, prover: newProver(),
	}
	k.generationsBegan = [2]time.Time{k.now(), k.now()}
	for _, h := range o.Config.Hubs {
		t, err := newToken(h.TokenFile, o.Open)
		if err != nil {
			return nil, err
		}
		for _, other := range k.tokens {
			if other.sum == t.sum {
				return nil, fmt.Errorf("token_file: %s: another hub has this token", h.TokenFile)
			}
		}
		k.tokens = append(k.tokens, t)
	}
	return k, nil
}

// CheckFiles reads the files that a configuration names, and returns the first mistake.
func (c *Config) CheckFiles(open func(string) (*os.File, error)) error {
	_, err := New(Options{Config: *c, Open: open})
	return err
}

// personOf returns the owner of a kernel. ok is false if no hub may see the kernel.
func (k *Keeper) personOf(kernel *telemetry.Kernel) (p person, ok bool) {
	switch {
	case kernel.User == "":
		return person{}, false
	case kernel.OfHub:
		return person{namespace: kernel.Namespace, user: kernel.User}, true
	}
	isHere := kernel.Place != "" && kernel.Place == k.options.Place && kernel.PodUID == ""
	hasName := kernel.User != strconv.Itoa(int(kernel.UID))
	if !isHere || !hasName {
		return person{}, false
	}
	showsMachine := func(h Hub) bool { return h.MachineUsers }
	return person{user: kernel.User, machine: true}, slices.ContainsFunc(k.options.Config.Hubs, showsMachine)
}

// Cell implements [telemetry.Sink].
func (k *Keeper) Cell(c *telemetry.Cell) {
	p, ok := k.personOf(c.Kernel)
	if !ok {
		return
	}
	cell := cellOf(c)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rotate()
	r := k.recordOf(p)
	cells := r.cells[0]
	heavierFirst := func(a, b Cell) int { return cmp.Or(cmp.Compare(b.Need, a.Need), -1) } // behind equal cells
	at, _ := slices.BinarySearchFunc(cells, cell, heavierFirst)
	if most := k.options.Config.cells(); at < most {
		r.cells[0] = slices.Insert(cells[:min(len(cells), most-1)], at, cell)
	}
}

// Task implements [telemetry.Sink]. It does nothing, because the page shows no tasks.
func (k *Keeper) Task(*telemetry.Task) {}

// Death implements [telemetry.Sink]. A worker of Dask is no kernel.
func (k *Keeper) Death(d *telemetry.Death) {
	p, ok := k.personOf(d.Kernel)
	report := deaths.ReportOf(d)
	if !ok || report == nil || d.Kernel.Worker {
		return
	}
	death := deathOf(report)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rotate()
	r := k.recordOf(p)
	r.deaths = append([]Death{death}, r.deaths[:min(len(r.deaths), maxDeaths-1)]...)
}

// recordOf returns the record of a person who has something new. If there are too many people, it forgets the person
// who has had nothing new for longest. The caller holds mu.
func (k *Keeper) recordOf(p person) *record {
	r := k.people[p]
	if r == nil {
		if len(k.people) >= maxPeople {
			k.forgetOldest()
		}
		r = &record{}
		k.people[p] = r
	}
	r.updated = k.now()
	return r
}

func (k *Keeper) forgetOldest() {
	var oldest person
	for p, r := range k.people {
		if o := k.people[oldest]; o == nil || r.updated.Before(o.updated) {
			oldest = p
		}
	}
	delete(k.people, oldest)
}

// rotate begins a new generation of cells if the present one is old. Then it also forgets old deaths, and people
// without cells and deaths. The caller holds mu.
func (k *Keeper) rotate() {
	now, keep := k.now(), k.options.Config.keep()
	if now.Sub(k.generationsBegan[0]) < keep {
		return
	}
	bothOld := now.Sub(k.generationsBegan[0]) >= 2*keep
	k.generationsBegan = [2]time.Time{now, k.generationsBegan[0]}
	if bothOld {
		k.generationsBegan[1] = now
	}
	old := now.Add(-k.options.KeepDeaths())
	for p, r := range k.people {
		r.cells = [2][]Cell{nil, r.cells[0]}
		if bothOld {
			r.cells[1] = nil
		}
		r.deaths = slices.DeleteFunc(r.deaths, func(d Death) bool { return d.At.Before(old) })
		if len(r.cells[1]) == 0 && len(r.deaths) == 0 {
			delete(k.people, p)
		}
	}
}

// cellOf returns what is kept of a cell, without its source. It shares no memory with the window, which is large.
func cellOf(c *telemetry.Cell) Cell {
	w := c.Window
	f, _ := w.Together(telemetry.Resident)
	out := Cell{
		Name: strings.Clone(words.CellOf(w)), Notebook: path(c.Kernel.Claimed.Notebook), PID: c.Kernel.PID,
		Began: c.Began.UTC(), DurationNS: w.DurationNS, Outcome: strings.Clone(w.Status),
		Start: f.Start, Peak: f.Peak, Need: telemetry.Need(w), Exact: f.Exact,
	}
	if f.Bound != nil {
		bound := *f.Bound
		out.Bound = &bound
	}
	return out
}

// deathOf returns what is kept of a death.
func deathOf(r *deaths.Report) Death {
	d := Death{
		At: r.At, PID: r.PID, Cause: strings.Clone(r.Cause), Says: r.Says("the kernel"), Notebook: path(r.Notebook),
		Cell: r.Cell, Statement: r.Statement,
	}
	if l := r.Ending.Limit; l != nil {
		d.Limit = &Limit{l.Kind, l.Bytes}
		d.Used = max(l.Used, l.Highest)
	}
	return d
}

// path escapes the path of a notebook, and returns the last maxPath bytes of it.
func path(text string) string {
	text = text[max(0, len(text)-2*maxPath):]
	text = strings.ToValidUTF8(escape.Text(text), "?")
	if len(text) > maxPath {
		text = strings.ToValidUTF8("…"+text[len(text)-maxPath:], "")
	}
	return strings.Clone(text)
}
