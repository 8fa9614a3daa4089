package agent

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

func TestParseName(t *testing.T) {
	for name, want := range map[string][2]string{
		"dask:chunk_sum In[3]":             {"chunk_sum", "In[3]"},
		"dask:chunk_sum In[3] #2":          {"chunk_sum", "In[3]"},
		"dask:fit In[12] of train a.ipynb": {"fit", "In[12] of train a.ipynb"},
		"dask:Counter.add":                 {"Counter.add", ""},
		"dask:(others)":                    {"(others)", ""},
		"dask:a In[x] b":                   {"a In[x] b", ""},
	} {
		if prefix, of, is := parseName(name); !is || prefix != want[0] || of != want[1] {
			t.Errorf("%s: %q, %q, %v", name, prefix, of, is)
		}
	}
	for _, name := range []string{"", "dask:", "mine", "dask:between tasks", "dask:clock@got:1@sent:2",
		"dask:from@got:none", "dask:submit x"} {
		if _, _, is := parseName(name); is {
			t.Errorf("%q is a task", name)
		}
	}
}

const taskContext = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestForgedContexts: what is no traceparent, byte by byte, is no parent.
func TestForgedContexts(t *testing.T) {
	c, ok := parseContext(taskContext)
	if !ok || hex.EncodeToString(c.TraceID[:]) != taskContext[3:35] || hex.EncodeToString(c.SpanID[:]) != taskContext[36:52] {
		t.Errorf("%x, %v", c, ok)
	}
	bad := []string{"", "none", taskContext + "0", taskContext[:54], taskContext + "-", "0" + taskContext, strings.ToUpper(taskContext),
		"00-" + strings.Repeat("0", 32) + taskContext[35:], taskContext[:36] + strings.Repeat("0", 16) + taskContext[52:],
		"01" + taskContext[2:], strings.Repeat("x", 1<<20), strings.Repeat("é", 55)[:55]}
	for i := range taskContext {
		for _, c := range []byte{0, ' ', 'g', 'A', 0xff} {
			if taskContext[i] != c {
				bad = append(bad, taskContext[:i]+string([]byte{c})+taskContext[i+1:])
			}
		}
	}
	for _, text := range bad {
		if c, ok := parseContext(text); ok || c != (telemetry.TraceContext{}) {
			t.Errorf("%.80q: %x", text, c)
		}
	}
}

// TestForgedSubmits: a cell gets the ids that its notebook's key leads to, and no others: who has seen a traceparent
// has not seen the key.
func TestForgedSubmits(t *testing.T) {
	key := strings.Repeat("5e", 16)
	of := func(key, n string) string {
		c := contextOf(key, n)
		return fmt.Sprintf("00-%x-%x-01", c.TraceID, c.SpanID)
	}
	good := "dask:submit " + key + ".7@sent:" + of(key, "7")
	if c, ok := parseSubmit(good); !ok || c != contextOf(key, "7") {
		t.Errorf("%x, %v", c, ok)
	}
	// As python/src/ipytracer/_dask_trace.py computes them (python/tests/test_dask_trace.py).
	if got, want := of(strings.Repeat("ab", 16), "3"), "00-"+pythonsTrace+"-"+pythonsSpan+"-01"; got != want {
		t.Errorf("%s, Python has %s", got, want)
	}
	for _, name := range []string{
		"dask:submit " + key + ".8@sent:" + of(key, "7"),
		"dask:submit " + key + ".7@sent:" + taskContext,
		"dask:submit " + strings.Repeat("5f", 16) + ".7@sent:" + of(key, "7"),
		"dask:submit @sent:" + of(key, "7"),
		"dask:submit " + key + ".7@sent:" + strings.Repeat("x", 55),
		strings.ToUpper(good), good + "0", good[:len(good)-1], "dask:submit " + strings.Repeat("5", 1<<20),
		"dask:submit ",
	} {
		if c, ok := parseSubmit(name); ok || c != (telemetry.TraceContext{}) {
			t.Errorf("%.80q: %x", name, c)
		}
	}
}
