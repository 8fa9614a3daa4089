package deaths

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Format is the version of a report. A version may get new fields; the others keep their meaning.
const Format = "ipytracer/death/v1"

// Report is what is kept of a kernel that was killed. It has no source. Sizes are in bytes.
type Report struct {
	Format string    `json:"format"`
	ID     string    `json:"id"` // 16 hexadecimal digits, at random
	At     time.Time `json:"at"`
	Cause  string    `json:"cause"` // [OutOfMemory], or a signal: "SIGKILL"

	UID   uint32 `json:"uid"`
	Place string `json:"place"` // as in [telemetry.Kernel]
	// Account is who the report counts for in [Config.PerUser], as in [telemetry.Kernel].
	Account string `json:"account,omitempty"`
	User    string `json:"user,omitempty"`
	Pod     string `json:"pod,omitempty"`
	// Container is the beginning of the container's ID.
	Container string `json:"container,omitempty"`
	PID       int    `json:"pid"`
	Python    string `json:"python,omitempty"`
	IPython   string `json:"ipython,omitempty"`
	Frontend  string `json:"frontend,omitempty"`
	// Notebook and KernelID are names that the kernel's own user can forge.
	Notebook string `json:"notebook,omitempty"`
	KernelID string `json:"kernel_id,omitempty"`

	Ending *model.Ending `json:"ending"`
	// Cell is the innermost cell that ran, and Statement its statement; null for none.
	Cell      *Window `json:"cell"`
	Statement *Window `json:"statement"`
	// Shown is true once a companion was sent this report, or a later kernel of the notebook was not killed.
	Shown bool `json:"shown"`
}

// Window has the resident memory of a cell or statement, with its children.
type Window struct {
	Name  string `json:"name"`           // In[7]
	Line  int    `json:"line,omitempty"` // of a statement
	Start int64  `json:"start"`
	Peak  int64  `json:"peak"`
	Need  int64  `json:"need"` // the peak, less what there was at the start
	Exact bool   `json:"exact"`
	Bound *int64 `json:"bound"` // how far the peak may be off; null: not known
}

// OutOfMemory is the cause of a kernel that the OOM killer has ended.
const OutOfMemory = "out-of-memory"

// reportedSignals are the signals whose deaths are reported. Other signals usually end a kernel that nobody needs any
// more.
var reportedSignals = map[string]bool{"SIGKILL": true, "SIGSEGV": true, "SIGBUS": true, "SIGABRT": true}

// causeOf returns the cause of an end, "" for an end that is not reported.
func causeOf(e *model.Ending) string {
	switch {
	case e == nil:
		return ""
	case e.OutOfMemory:
		return OutOfMemory
	case reportedSignals[e.Signal]:
		return e.Signal
	}
	return ""
}

// Bounds of a report and its texts, in bytes. JSON has up to six bytes for a byte of a text.
const (
	maxPath   = 1024
	maxReport = 6*4*maxPath + 6*10*telemetry.MaxLabel + 4<<10
)

// ReportOf returns the report of a death, without an ID; nil if the kernel was not killed.
func ReportOf(d *telemetry.Death) *Report {
	if causeOf(d.Ending) == "" {
		return nil
	}
	return newReport("", d)
}

// newReport returns the report of a death.
func newReport(id string, d *telemetry.Death) *Report {
	k := d.Kernel
	r := &Report{
		Format: Format, ID: id, At: d.At.UTC().Round(time.Millisecond), Cause: causeOf(d.Ending),
		UID: k.UID, Place: k.Place, Account: path(k.Account),
		User: name(k.User), Pod: name(k.Pod), Container: name(k.Container), PID: k.PID,
		Python: name(k.Python), IPython: name(k.IPython), Frontend: name(k.Frontend),
		Notebook: path(d.Notebook), KernelID: name(k.Claimed.KernelID),
	}
	ending := *d.Ending
	if l := ending.Limit; l != nil {
		limit := *l
		limit.Path = path(l.Path)
		ending.Limit = &limit
	}
	r.Ending = &ending
	if cell := innermost(d); cell != nil {
		r.Cell = windowOf(cell, cell)
		if d.Statement != nil {
			r.Statement = windowOf(cell, d.Statement)
		}
	}
	return r
}

// innermost returns the innermost cell that ran at the death; nil for none.
func innermost(d *telemetry.Death) *model.Window {
	id := d.Ending.Window
	if d.Statement != nil {
		id = d.Statement.Parent
	}
	for _, w := range d.Open {
		if w.ID == id {
			return w
		}
	}
	return nil
}

// windowOf returns the report's record of w, which is the cell or a statement of it.
func windowOf(cell, w *model.Window) *Window {
	f, _ := w.Together(telemetry.Resident)
	return &Window{
		Name: words.CellOf(cell), Line: w.Line, Start: f.Start, Peak: f.Peak, Need: telemetry.Need(w),
		Exact: f.Exact, Bound: f.Bound,
	}
}

// name bounds a name for a report.
func name(text string) string { return bounded(text, telemetry.MaxLabel) }

// path bounds a path for a report.
func path(text string) string { return bounded(text, maxPath) }

// bounded returns a prefix of at most maxBytes, in valid UTF-8.
func bounded(text string, maxBytes int) string {
	if len(text) > maxBytes {
		text = escape.Prefix(text, maxBytes)
	}
	return strings.ToValidUTF8(text, "?")
}

// readReport reads a report in JSON, and checks that it is one.
func readReport(from io.Reader) (*Report, error) {
	raw, err := io.ReadAll(io.LimitReader(from, maxReport+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxReport {
		return nil, errors.New("it is too large")
	}
	r := &Report{}
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, err
	}
	if r.Format != Format || r.Ending == nil || r.Place == "" || causeOf(r.Ending) != r.Cause {
		return nil, fmt.Errorf("it is no %s", Format)
	}
	return r, nil
}

// Says returns the report as a sentence whose subject is kernel, such as "the last kernel of this notebook".
func (r *Report) Says(kernel string) string {
	var b strings.Builder
	b.WriteString(kernel)
	e, cause := r.Ending, ""
	switch {
	case !e.OutOfMemory:
		fmt.Fprintf(&b, " was ended by %s", r.Cause)
	case e.Limit == nil:
		fmt.Fprintf(&b, " was killed at %s", words.Bytes(e.Resident))
		cause = "out of memory, "
	default:
		fmt.Fprintf(&b, " was killed at %s of %s", words.Bytes(highestUse(e.Limit)), words.Bytes(e.Limit.Bytes))
		cause = "out of memory, "
		if e.Likely {
			cause = "out of memory, most likely of this limit, "
		}
	}
	switch {
	case r.Cell == nil:
		b.WriteString(", when no cell ran")
	case r.Statement != nil:
		fmt.Fprintf(&b, ", in %s, line %d%s", r.Statement.Name, r.Statement.Line, r.Statement.describeNeed())
	default:
		fmt.Fprintf(&b, ", in %s%s", r.Cell.Name, r.Cell.describeNeed())
	}
	fmt.Fprintf(&b, " (%s%s)", cause, r.At.UTC().Format("2006-01-02 15:04 UTC"))
	return escape.Text(b.String())
}

// highestUse returns the highest known use of a limit, in bytes. Linux' present figure may already be lower.
func highestUse(l *model.Limit) int64 { return max(l.Used, l.Highest) }

// describeNeed returns the need of a window as the end of a sentence, "" if it needed nothing.
func (w *Window) describeNeed() string {
	switch {
	case w.Need == 0:
		return ""
	case w.Exact:
		return ", which took " + words.Bytes(w.Need)
	case w.Bound != nil:
		return fmt.Sprintf(", which took %s, give or take %s", words.Bytes(w.Need), words.Bytes(*w.Bound))
	}
	return ", which took some " + words.Bytes(w.Need)
}
