package users

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ipytracer/cmd/tracer/internal/agent/deaths"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

// Path is where a hub's service asks. The parameter name is the user's name; the hub's token is a bearer token.
const Path = "/hub/user"

// Format is the version of an answer. A version may get new fields; the others keep their meaning.
const Format = "ipytracer/user/v1"

// Answer is what an agent knows about a user, without sources of cells. Sizes are in bytes.
type Answer struct {
	Format string `json:"format"`
	Agent  string `json:"agent"` // 16 random hexadecimal digits
	Node   string `json:"node"`
	User   string `json:"user"` // as in the request
	// Since is the time since which cells are kept.
	Since   time.Time `json:"since"`
	Kernels []Kernel  `json:"kernels"`
	Cells   []Cell    `json:"cells"`  // the heaviest first
	Deaths  []Death   `json:"deaths"` // the last one first
}

// Kernel is a kernel that runs. Its notebook is claimed.
type Kernel struct {
	PID      int       `json:"pid"`
	Server   string    `json:"server"` // the user's server in JupyterHub; "" for the default one, or if unknown
	Notebook string    `json:"notebook"`
	Frontend string    `json:"frontend"`
	Python   string    `json:"python"`
	Joined   time.Time `json:"joined"`   // when tracing began
	Resident int64     `json:"resident"` // now
	Highest  int64     `json:"highest"`  // the highest need of any cell
	Limit    *Limit    `json:"limit"`    // the nearest; null if unknown
	GPUs     []GPU     `json:"gpus"`
}

// Limit is a limit of a kernel's memory.
type Limit struct {
	Kind  string `json:"kind"` // as in [model.Limit]
	Bytes int64  `json:"bytes"`
}

// GPU is the memory of a GPU that a kernel holds through the CUDA driver.
type GPU struct {
	Number int   `json:"number"`
	Bytes  int64 `json:"bytes"`
}

// Cell is a cell that has closed, with the resident memory of its kernel and the kernel's children. The notebook is
// claimed.
type Cell struct {
	Name       string    `json:"name"` // In[7]
	Notebook   string    `json:"notebook"`
	PID        int       `json:"pid"`
	Began      time.Time `json:"began"`
	DurationNS int64     `json:"duration_ns"`
	Outcome    string    `json:"outcome"` // as the status in [model.Window]
	Start      int64     `json:"start"`
	Peak       int64     `json:"peak"`
	Need       int64     `json:"need"` // the peak, less what there was at the start
	Exact      bool      `json:"exact"`
	Bound      *int64    `json:"bound"` // how far the peak may be off; null: not known
}

// Death is the end of a kernel, as [deaths.Report] has it. Its notebook is claimed.
type Death struct {
	At        time.Time      `json:"at"`
	PID       int            `json:"pid"`
	Cause     string         `json:"cause"`
	Says      string         `json:"says"` // in a sentence
	Notebook  string         `json:"notebook"`
	Limit     *Limit         `json:"limit"`
	Used      int64          `json:"used"` // the highest known use of the limit
	Cell      *deaths.Window `json:"cell"`
	Statement *deaths.Window `json:"statement"`
}

// Bounds on asking.
const (
	maxAsks = 4    // answers that are made at a time; a further request gets status 503
	maxName = 1024 // bytes of a user's name
	// MaxAnswer is the greatest size of an answer, in bytes.
	MaxAnswer = 256 << 10
)

// ServeHTTP answers a hub at the agent's Unix socket that asks, with its token, about one of its users. A client
// without a token learns nothing. A client with a token cannot find out which names exist: the answer for a user
// without kernels is the same as for a user who does not exist.
func (k *Keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.serve(w, r, func(string) *provenAsker {
		if hub := k.hubOf(r); hub != nil {
			return &provenAsker{hub: hub}
		}
		return nil
	})
}

// ServeNetwork answers a hub that does not send its token, but proves that it has it ([Keeper.Prove]).
func (k *Keeper) ServeNetwork(w http.ResponseWriter, r *http.Request) {
	k.serve(w, r, func(name string) *provenAsker { return k.provenHub(r, name) })
}

// serve answers a request about the user with a name. identify returns the hub that asks, nil for a stranger.
func (k *Keeper) serve(w http.ResponseWriter, r *http.Request, identify func(name string) *provenAsker) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	query, err := url.ParseQuery(r.URL.RawQuery)
	names := query["name"]
	asker := identify(query.Get("name"))
	if asker == nil {
		http.Error(w, "no hub with a token", http.StatusForbidden)
		return
	}
	if err != nil || len(query) != 1 || len(names) != 1 || names[0] == "" || len(names[0]) > maxName {
		http.Error(w, "one name is asked for", http.StatusBadRequest)
		return
	}
	if !k.options.Users() {
		http.Error(w, "the agent keeps no names of users (users: false)", http.StatusNotFound)
		return
	}
	select {
	case k.answering <- struct{}{}:
	default:
		http.Error(w, "others are asking", http.StatusServiceUnavailable)
		return
	}
	text, err := k.answer(asker.hub, names[0])
	<-k.answering // before the answer is written, since the client may be slow
	if err != nil || len(text) > MaxAnswer {
		http.Error(w, "the answer is too large", http.StatusInternalServerError)
		return
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	if asker.token != nil {
		asker.signAnswer(h, text)
	}
	_, _ = w.Write(text)
}

// hubOf returns the hub whose token a request has, nil if there is none. It compares all tokens, so that its time does
// not tell which one matches.
func (k *Keeper) hubOf(r *http.Request) (hub *Hub) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return nil
	}
	text, isBearer := strings.CutPrefix(values[0], "Bearer ")
	for i, t := range k.tokens {
		k.renew(t)
		if t.equals(text) && isBearer {
			hub = &k.options.Config.Hubs[i]
		}
	}
	return hub
}

// renew reads a hub's token again, if it is old.
func (k *Keeper) renew(t *token) {
	if err := t.renew(k.now()); err != nil {
		k.options.Log.Warn("a hub gets no answers", "error", err)
	}
}

// answer returns the answer to a hub about one of its users, in JSON.
func (k *Keeper) answer(h *Hub, name string) ([]byte, error) {
	user := telemetry.Label(name)
	several := len(k.options.Config.Hubs) > 1
	shows := func(p person) bool {
		return p.user == user && h.maySee(p, several) && (p.namespace == "" || k.options.Trusted(p.namespace))
	}
	kernels := k.options.Kernels(func(kernel *telemetry.Kernel) bool {
		p, known := k.personOf(kernel)
		return known && shows(p)
	})
	for i := range kernels {
		kernels[i].Notebook = path(kernels[i].Notebook)
	}
	slices.SortFunc(kernels, func(a, b Kernel) int { return a.Joined.Compare(b.Joined) })
	a := Answer{
		Format: Format, Agent: k.agent, Node: k.options.Node, User: name,
		Kernels: append([]Kernel{}, kernels...), Cells: []Cell{}, Deaths: []Death{},
	}
	k.addRecords(&a, shows)
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(&a)
	return out.Bytes(), err
}

// addRecords adds the cells and deaths of the people for whom shows returns true.
func (k *Keeper) addRecords(a *Answer, shows func(person) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rotate()
	a.Since = k.generationsBegan[1].UTC()
	old := k.now().Add(-k.options.KeepDeaths())
	for p, r := range k.people {
		if !shows(p) {
			continue
		}
		a.Cells = append(append(a.Cells, r.cells[0]...), r.cells[1]...)
		for _, d := range r.deaths {
			if !d.At.Before(old) {
				a.Deaths = append(a.Deaths, d)
			}
		}
	}
	slices.SortStableFunc(a.Cells, func(x, y Cell) int {
		return cmp.Or(cmp.Compare(y.Need, x.Need), x.Began.Compare(y.Began))
	})
	slices.SortStableFunc(a.Deaths, func(x, y Death) int { return y.At.Compare(x.At) })
	a.Cells = a.Cells[:min(len(a.Cells), k.options.Config.cells())]
	a.Deaths = a.Deaths[:min(len(a.Deaths), maxDeaths)]
}
