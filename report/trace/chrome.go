package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"ipytracer/model"
	"ipytracer/report/escape"
)

// chrome writes events of Chrome's JSON. Threads are the lanes of cells.
type chrome struct {
	checked
	events int
	gaps   int
}

// Chrome writes the JSON that chrome://tracing, speedscope and Perfetto's viewer open. It is older than Perfetto's own
// and has less: times are microseconds with three decimals, experiments and gaps are asynchronous events, and counters
// belong to processes.
func Chrome(w io.Writer, r *model.Report) error {
	out := bufio.NewWriterSize(w, 64<<10)
	c := &chrome{checked: checked{to: out}}
	c.write([]byte(`{"displayTimeUnit":"ms","otherData":`))
	c.value(map[string]any{
		"exporter": "ipytracer " + escape.Text(r.Host.Tracer), "started": escape.Text(r.Host.Started),
		"complete": r.Certificate.Complete,
	})
	c.write([]byte(`,"traceEvents":[`))
	print(c, r)
	c.write([]byte("\n]}\n"))
	if c.err != nil {
		return c.err
	}
	return out.Flush()
}

func (c *chrome) value(v any) {
	b, err := json.Marshal(v)
	if err != nil && c.err == nil {
		c.err = err
	}
	c.write(b)
}

// event is an event of Chrome's.
type event struct {
	Phase    string         `json:"ph"`
	PID      int            `json:"pid"`
	Thread   *int           `json:"tid,omitempty"`
	Category string         `json:"cat,omitempty"`
	ID       *localID       `json:"id2,omitempty"`
	Name     string         `json:"name"`
	At       json.Number    `json:"ts,omitempty"`
	Length   json.Number    `json:"dur,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
}

// localID distinguishes the asynchronous events of one process. Perfetto would take a plain id for one of all
// processes.
type localID struct {
	Local string `json:"local"`
}

func (c *chrome) event(e *event) {
	if c.events++; c.events > 1 {
		c.write([]byte(","))
	}
	c.write([]byte("\n"))
	c.value(e)
}

// micro returns a time in microseconds, with all its nanoseconds.
func micro(ns int64) json.Number { return json.Number(fmt.Sprintf("%d.%03d", ns/1000, ns%1000)) }

func (c *chrome) process(pid int, name string) {
	c.event(&event{Phase: "M", PID: pid, Name: "process_name", Args: map[string]any{"name": name}})
}

func (c *chrome) lane(pid int, kind string, number int) {
	if kind == laneCells {
		thread := number + 1
		c.event(&event{Phase: "M", PID: pid, Thread: &thread, Name: "thread_name", Args: map[string]any{"name": kind}})
	}
}

func (c *chrome) slice(s *slice) {
	args := map[string]any{}
	for _, n := range s.numbers {
		args[n.name] = n.value
	}
	for _, t := range s.texts {
		args[t.name] = t.text
	}
	if s.experiment > 0 { // those overlap, which slices of a thread may not
		c.async(s.pid, "experiment", s.name, fmt.Sprint(s.experiment), s.from, s.to, args)
		return
	}
	thread := s.lane + 1
	c.event(&event{
		Phase: "X", PID: s.pid, Thread: &thread, Category: s.category, Name: s.name, At: micro(s.from),
		Length: micro(s.to - s.from), Args: args,
	})
}

func (c *chrome) async(pid int, category, name, id string, from, to int64, args map[string]any) {
	thread := 0
	c.event(&event{
		Phase: "b", PID: pid, Thread: &thread, Category: category, ID: &localID{id}, Name: name, At: micro(from),
		Args: args,
	})
	c.event(&event{
		Phase: "e", PID: pid, Thread: &thread, Category: category, ID: &localID{id}, Name: name, At: micro(to),
	})
}

func (c *chrome) counter(pid int, meter string, at, bytes int64) {
	c.event(&event{Phase: "C", PID: pid, Name: meter, At: micro(at), Args: map[string]any{"bytes": bytes}})
}

func (c *chrome) gap(pid int, counter string, from, to int64, why string) {
	c.gaps++
	c.async(pid, "gap", counter+" not known: "+why, fmt.Sprintf("gap%d", c.gaps), from, to, nil)
}
