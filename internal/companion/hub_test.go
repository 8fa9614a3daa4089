package companion

import (
	"fmt"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

func TestGreetingOfANotebook(t *testing.T) {
	h := newHub(book{})
	h.Note(&event.Limits{PID: 7, Limits: []event.Limit{{Kind: "container", Bytes: 1 << 30},
		{Kind: "machine", Bytes: 2 << 30}}})
	a := connect(t, h, 7).packet()
	if a.Hello != Protocol || a.PID != 7 || a.Limit == nil || *a.Limit != 1<<30 || a.LimitOf != "container" {
		t.Errorf("hello: %+v", a)
	}
	if a := connect(t, h, 8).packet(); a.Limit != nil || a.PID != 8 {
		t.Errorf("hello where no limit is known: %+v", a)
	}
}

func TestCellsOfTheAskingProcess(t *testing.T) {
	b := book{1: cell(1, 7), 2: cell(2, 8), 3: cell(3, 7)}
	h := newHub(b)
	n := connect(t, h, 7)
	n.packet()
	h.Finished([]model.Window{b[1], b[2], b[3]})
	a := n.ask(`{"id": 5, "ask": "cell"}`)
	if a.ID != 5 || len(a.Windows) != 2 || a.Windows[0]["id"] != 1.0 || a.Windows[1]["id"] != 3.0 || a.More ||
		a.Lost != 0 {
		t.Fatalf("the cells that have closed: %+v", a)
	}
	resident := a.Windows[0]["meters"].(map[string]any)["cpu.resident"].(map[string]any)
	if resident["peak"] != 12288.0 || resident["consumed"] != 4096.0 || resident["exact"] != true {
		t.Errorf("its figures: %v", resident)
	}
	if a := n.ask(`{"id": 6, "ask": "cell"}`); a.ID != 6 || len(a.Windows) != 0 {
		t.Errorf("told twice: %+v", a)
	}
	if a := n.ask(`{"id": 7, "ask": "cells", "after": 1}`); len(a.Windows) != 1 || a.Windows[0]["id"] != 3.0 {
		t.Errorf("cells behind 1: %+v", a)
	}
}

// TestSlower: an answer has the causes that slow the notebook down, bounded.
func TestSlower(t *testing.T) {
	var slower []string
	h := New(Options{Version: "test", Slower: func() []string { return slower }}, book{})
	n := connect(t, h, 7)
	n.packet()
	for _, c := range []struct {
		says []string
		want string
	}{{nil, ""}, {[]string{"each array is traced", "and more"}, "each array is traced; and more"},
		{[]string{strings.Repeat("x", 1<<20)}, strings.Repeat("x", maxText)}} {
		slower = c.says
		if a := n.ask(`{"id": 1, "ask": "cell"}`); a.Slower != c.want {
			t.Errorf("%.80q, want %.80q", a.Slower, c.want)
		}
	}
}

func TestPendingCellsAreBounded(t *testing.T) {
	b := book{}
	for id := 1; id <= maxPending+3; id++ {
		b[id] = cell(id, 7)
	}
	h := newHub(b)
	n := connect(t, h, 7)
	n.packet()
	for id := 1; id <= maxPending+3; id++ {
		h.Finished([]model.Window{b[id]})
	}
	a := n.ask(`{"id": 1, "ask": "cell"}`)
	if len(a.Windows) != maxPending || a.Windows[0]["id"] != 4.0 || a.Lost != 3 {
		t.Errorf("%d windows, %d lost", len(a.Windows), a.Lost)
	}
}

func TestLongAnswers(t *testing.T) {
	b := book{}
	for id := 1; id <= 100; id++ {
		w := cell(id, 7)
		w.Source = strings.Repeat("é", 1<<14)
		b[id] = w
	}
	crowd := cell(101, 7)
	crowd.Children = make([]model.Child, 10_000)
	b[101] = crowd
	n := connect(t, newHub(b), 7)
	n.packet()
	var all []map[string]any
	packets := 0
	for a := n.ask(`{"id": 1, "ask": "cells"}`); ; {
		packets++
		all = append(all, a.Windows...)
		switch {
		case a.More:
			a = n.packet()
			continue
		case a.Cut && packets == maxPackets:
			packets = 0
			a = n.ask(fmt.Sprintf(`{"id": 1, "ask": "cells", "after": %v}`, all[len(all)-1]["id"]))
			continue
		case packets > maxPackets:
			t.Fatalf("%d packets in an answer", packets)
		}
		break
	}
	if len(all) != 101 {
		t.Fatalf("%d windows came, want 101", len(all))
	}
	if source := all[0]["source"].(string); len(source) > maxSource || strings.Trim(source, "é") != "" ||
		all[0]["source_truncated"] != true {
		t.Errorf("a source of %d bytes, truncated: %v", len(source), all[0]["source_truncated"])
	}
	if all[100]["children_unlisted"] != 10_000.0 {
		t.Errorf("children that have no room: %v", all[100]["children_unlisted"])
	}
}

func TestRunningAndExperiments(t *testing.T) {
	running, experiment := cell(2, 7), cell(1, 7)
	running.Status = model.Incomplete
	experiment.Kind, experiment.Name = "experiment", "fit"
	n := connect(t, newHub(book{1: experiment, 2: running}), 7)
	n.packet()
	if a := n.ask(`{"id": 1, "ask": "running"}`); len(a.Windows) != 1 || a.Windows[0]["id"] != 2.0 {
		t.Errorf("running: %+v", a)
	}
	if a := n.ask(`{"id": 2, "ask": "experiment", "name": "fit"}`); len(a.Windows) != 1 ||
		a.Windows[0]["name"] != "fit" {
		t.Errorf("experiment: %+v", a)
	}
	if a := n.ask(`{"id": 3, "ask": "experiment", "name": "other"}`); len(a.Windows) != 0 || a.Error != "" {
		t.Errorf("an experiment that was not: %+v", a)
	}
	if a := n.ask(`{"id": 4, "ask": "experiments"}`); len(a.Windows) != 1 || a.Windows[0]["name"] != "fit" {
		t.Errorf("all experiments: %+v", a)
	}
	if a := n.ask(`{"id": 5, "ask": "experiments", "after": 1}`); len(a.Windows) != 0 || a.Error != "" {
		t.Errorf("experiments after the last: %+v", a)
	}
}

func TestLinesOfAllocations(t *testing.T) {
	w := cell(1, 7)
	frame := model.Frame{Function: strings.Repeat("f", 4096), File: "x.py", Line: 3}
	inCell := model.Frame{Function: "<module>", Line: 2, Execution: 1}
	w.Allocations = []model.Allocation{
		{Meter: "cpu.numpy", AtPeak: 900, Stack: []model.Frame{frame}}, // made before
		{Meter: "cpu.numpy", AtPeak: 500, Allocated: 600, Stack: []model.Frame{frame, inCell}},
		{Meter: "cpu.numpy", AtPeak: 100, Allocated: 100},
	}
	for range maxLinesOf {
		w.Allocations = append(w.Allocations, model.Allocation{Meter: "cpu.torch", AtPeak: 1, Allocated: 1},
			model.Allocation{Meter: "cpu.heap", AtPeak: 1})
	}
	h := newHub(book{1: w, 2: cell(2, 8)})
	n := connect(t, h, 7)
	n.packet()
	a := n.ask(`{"id": 1, "ask": "lines", "window": 1}`)
	if len(a.Lines) != 3+2*maxLinesOf || a.Lines[0]["at_peak"] != 900.0 || a.Lines[0]["where"] != "1 frames" {
		t.Fatalf("%d lines: %v", len(a.Lines), a.Lines[0])
	}
	if function := a.Lines[0]["stack"].([]any)[0].(map[string]any)["function"].(string); len(function) != maxText {
		t.Errorf("a name of %d bytes", len(function))
	}
	if a := n.ask(`{"id": 2, "ask": "lines", "window": 2}`); a.Error == "" {
		t.Error("another process's window was told")
	}
	h.Finished([]model.Window{w})
	a = n.ask(`{"id": 3, "ask": "cell"}`)
	top := a.Windows[0]["top"].(map[string]any)["cpu.numpy"].(map[string]any)
	if top["at_peak"] != 500.0 || top["line"] != 2.0 || top["execution"] != 1.0 {
		t.Errorf("the line at the peak: %v", top)
	}
	if _, ok := a.Windows[0]["allocations"]; ok {
		t.Error("a window is told with its allocations")
	}
}

func TestNoSource(t *testing.T) {
	b := book{1: cell(1, 7)}
	h := New(Options{NoSource: true, Who: func([]model.Frame) string { return "" }}, b)
	n := connect(t, h, 7)
	n.packet()
	if a := n.ask(`{"id": 1, "ask": "cells"}`); a.Windows[0]["source"] != "" {
		t.Errorf("source: %v", a.Windows[0]["source"])
	}
}

// TestLimitOfKernels: a kernel that a server starts has the server's limit, also after it has executed its Python. A
// process from nowhere has none.
func TestLimitOfKernels(t *testing.T) {
	h := newHub(book{})
	h.Note(&event.Limits{PID: 7, Limits: []event.Limit{{Kind: "container", Bytes: 1 << 30}}})
	h.Note(&event.Boundary{Kind: event.ProcessStart, PID: 8, Parent: 7})
	h.Note(&event.Boundary{Kind: event.ProcessExec, PID: 8})
	h.Note(&event.Boundary{Kind: event.ProcessStart, PID: 9, Parent: 8})
	h.Note(&event.Boundary{Kind: event.ProcessStart, PID: 10, Parent: 6})
	h.Note(&event.Boundary{Kind: event.ProcessExec, PID: 11, Parent: 7}) // by vfork
	for pid, want := range map[int]int64{8: 1 << 30, 9: 1 << 30, 10: 0, 11: 1 << 30} {
		var got int64
		if l := connect(t, h, pid).packet().Limit; l != nil {
			got = *l
		}
		if got != want {
			t.Errorf("the limit of %d: %d, want %d", pid, got, want)
		}
	}
	h.Note(&event.Boundary{Kind: event.ProcessExit, PID: 8})
	if l := connect(t, h, 8).packet().Limit; l != nil {
		t.Errorf("another process of that number has %d", *l)
	}
}
