// Package users keeps what each user of JupyterHub may see of the own kernels: those that run, the heaviest cells, the
// last deaths. It answers a hub's service, which shows it to that user alone.
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
	// Place is the boundary that the agent itself runs in, as [telemetry.Kernel] has it: names of users outside of it
	// are not those of this machine.
	Place string
	// Users reports whether names of users may leave the agent, and Trusted whether JupyterHub's names in a namespace
	// are trusted, both as of now.
	Users   func() bool
	Trusted func(namespace string) bool
	// KeepDeaths returns how long deaths are kept.
	KeepDeaths func() time.Duration
	// Kernels returns the kernels that run and for which a function returns true, as of now.
	Kernels func(is func(*telemetry.Kernel) bool) []Kernel
}

// Keeper keeps what users have. It is a [telemetry.Sink], and answers HTTP.
type Keeper struct {
	options Options
	tokens  []*token // of the hubs
	agent   string   // at random: a service that reaches one agent by two addresses sees that
	asks    chan struct{}
	prover  prover
	now     func() time.Time

	mu     sync.Mutex
	people map[person]*record
	begun  [2]time.Time // when the present generation of cells began, and the one before
}

// person is to whom a record belongs.
type person struct {
	namespace string // of pods; "" for users of units and of the machine
	user      string
	machine   bool // user is a user of this machine, and perhaps none of JupyterHub
}

// record is what is kept of a person.
type record struct {
	cells  [2][]Cell // of the generations, the heaviest first
	deaths []Death   // the last one first
	last   time.Time // when something was added
}

// Bounds of what is kept, beside those of the configuration.
const (
	maxPeople = 1000
	maxDeaths = 5 // of a person
	maxPath   = 300
)

// New returns a Keeper of nothing. The error is about a file with a token.
func New(o Options) (*Keeper, error) {
	k := &Keeper{
		options: o, agent: telemetry.NewID(), asks: make(chan struct{}, maxAsks), now: time.Now,
		people: map[person]*record{}, prover: newProver(),
	}
	k.begun = [2]time.Time{k.now(), k.now()}
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

// personOf returns whose a kernel is; is reports whether that is known.
func (k *Keeper) personOf(of *telemetry.Kernel) (p person, is bool) {
	switch {
	case of.User == "":
	case of.OfHub:
		return person{namespace: of.Namespace, user: of.User}, true
	case of.Place != "" && of.Place == k.options.Place && of.PodUID == "" && of.User != strconv.Itoa(int(of.UID)):
		machine := func(h Hub) bool { return h.MachineUsers }
		return person{user: of.User, machine: true}, slices.ContainsFunc(k.options.Config.Hubs, machine)
	}
	return person{}, false
}

// Cell implements [telemetry.Sink].
func (k *Keeper) Cell(c *telemetry.Cell) {
	p, is := k.personOf(c.Kernel)
	if !is {
		return
	}
	one := cellOf(c)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.turn()
	r := k.recordOf(p)
	cells := r.cells[0]
	at, _ := slices.BinarySearchFunc(cells, one, func(a, b Cell) int { return cmp.Or(cmp.Compare(b.Need, a.Need), -1) })
	if most := k.options.Config.cells(); at < most {
		r.cells[0] = slices.Insert(cells[:min(len(cells), most-1)], at, one)
	}
}

// Task implements [telemetry.Sink]: the page has cells.
func (k *Keeper) Task(*telemetry.Task) {}

// Death implements [telemetry.Sink]. A worker of Dask is no kernel.
func (k *Keeper) Death(d *telemetry.Death) {
	p, is := k.personOf(d.Kernel)
	report := deaths.ReportOf(d)
	if !is || report == nil || d.Kernel.Worker {
		return
	}
	one := deathOf(report)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.turn()
	r := k.recordOf(p)
	r.deaths = append([]Death{one}, r.deaths[:min(len(r.deaths), maxDeaths-1)]...)
}

// recordOf returns the record of a person, who has something new. Where there are too many people, the one without
// anything new for the longest time is forgotten. The caller holds mu.
func (k *Keeper) recordOf(p person) *record {
	r := k.people[p]
	if r == nil {
		if len(k.people) >= maxPeople {
			var oldest person
			for one, r := range k.people {
				if o := k.people[oldest]; o == nil || r.last.Before(o.last) {
					oldest = one
				}
			}
			delete(k.people, oldest)
		}
		r = &record{}
		k.people[p] = r
	}
	r.last = k.now()
	return r
}

// turn begins another generation of cells if the present one is old, and forgets deaths that are too old, and people of
// whom there is nothing. The caller holds mu.
func (k *Keeper) turn() {
	now, keep := k.now(), k.options.Config.keep()
	if now.Sub(k.begun[0]) < keep {
		return
	}
	long := now.Sub(k.begun[0]) >= 2*keep
	k.begun = [2]time.Time{now, k.begun[0]}
	if long {
		k.begun[1] = now
	}
	old := now.Add(-k.options.KeepDeaths())
	for p, r := range k.people {
		r.cells = [2][]Cell{nil, r.cells[0]}
		if long {
			r.cells[1] = nil
		}
		r.deaths = slices.DeleteFunc(r.deaths, func(d Death) bool { return d.At.Before(old) })
		if len(r.cells[1]) == 0 && len(r.deaths) == 0 {
			delete(k.people, p)
		}
	}
}

// cellOf returns what is kept of a cell. It has no source, and shares no memory with the record.
func cellOf(c *telemetry.Cell) Cell {
	w := c.Window
	f, _ := w.Together(telemetry.Resident)
	one := Cell{
		Name: strings.Clone(words.CellOf(w)), Notebook: path(c.Kernel.Claimed.Notebook), PID: c.Kernel.PID,
		Began: c.Began.UTC(), DurationNS: w.DurationNS, Outcome: strings.Clone(w.Status),
		Start: f.Start, Peak: f.Peak, Need: telemetry.Need(w), Exact: f.Exact,
	}
	if f.Bound != nil {
		bound := *f.Bound
		one.Bound = &bound
	}
	return one
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

// path returns the path of a notebook as it is kept: the end of one that is too long.
func path(text string) string {
	text = text[max(0, len(text)-2*maxPath):]
	text = strings.ToValidUTF8(escape.Text(text), "?")
	if len(text) > maxPath {
		text = strings.ToValidUTF8("…"+text[len(text)-maxPath:], "")
	}
	return strings.Clone(text)
}
