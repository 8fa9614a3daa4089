package trial

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// nothing does nothing at the steps of a run.
var nothing = steps{kernelStarted: func(int) {}, cellBegins: func(int) {}, cellsOver: func() {}}

func answer(text string) (*Result, error) {
	return readAnswer(strings.NewReader(text), 3, nothing)
}

const begun = `{"event": "begin", "what": "kernel python3", "python": "3.11.2", "pid": 7}` + "\n"

// TestAnswerOfTheRunnerIsRead: an answer of the driver is read into a result.
func TestAnswerOfTheRunnerIsRead(t *testing.T) {
	if _, err := answer(begun + "{\n" + `"event": "end"}` + "\n"); err == nil {
		t.Error("an object in two lines is one")
	}
	r, err := answer(begun + `{"event": "cell", "cell": 1, "ns": 5, "failed": {"name": "KeyError", "value": "x"}}` +
		"\n" +
		`{"event": "values", "values": {"variables": [["a", {"kind": "value", "text": "1"}]], "more": 2}}` + "\n" +
		`{"event": "end", "why": ""}` + "\n")
	if err != nil || r.Why != "" || r.Cells[0].Failed.Name != "KeyError" || r.Values[0].Value.Text != "1" ||
		r.ValuesMore != 2 {
		t.Errorf("%v %+v", err, r)
	}
	if r, err := answer(begun); err != nil || r.Why == "" {
		t.Errorf("a run without an end: %v %+v", err, r)
	}
}

// TestKernelIsNamedBeforeItsCells: the kernel is named once, before its cells.
func TestKernelIsNamedBeforeItsCells(t *testing.T) {
	var all []string
	say := func(format string, a ...any) { all = append(all, fmt.Sprintf(format, a...)) }
	_, err := readAnswer(strings.NewReader(begun+`{"event": "cell begins", "cell": 1}`+"\n"+
		`{"event": "cells over"}`+"\n"+`{"event": "end", "why": ""}`+"\n"), 3, steps{
		kernelStarted: func(pid int) { say("kernel %d", pid) },
		cellBegins:    func(cell int) { say("cell %d", cell) },
		cellsOver:     func() { say("over") },
	})
	if got := strings.Join(all, ", "); err != nil || got != "kernel 7, cell 1, over" {
		t.Errorf("%q %v", got, err)
	}
}

// endless is a reader that never ends.
type endless struct{ part string }

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], e.part)
	}
	return n, nil
}

// TestHostileAnswers: the notebook's code can write anything to the driver's pipe. Malformed and endless answers are
// refused, with bounded memory and time.
func TestHostileAnswers(t *testing.T) {
	many := strings.Repeat("[],", maxParts)
	for name, text := range map[string]string{
		"a second kernel": begun, "no object": "x\n", "a cell that is none": `{"event": "cell", "cell": 9}` + "\n",
		"a cell out of order":    `{"event": "cell", "cell": 2}` + "\n",
		"a cell below the first": `{"event": "cell", "cell": 0}` + "\n",
		"deep":                   strings.Repeat("[", 1000) + "\n",
		"deep digests": `{"event": "values", "values": {"variables": ` +
			strings.Repeat(`[["a", {"items": `, 100) + "[]" +
			strings.Repeat("}]]", 100) + "}}\n",
		"many":     `{"event": "end", "why": [` + many + `[]]}` + "\n",
		"no pair":  `{"event": "values", "values": {"variables": [["a"]]}}` + "\n",
		"a triple": `{"event": "values", "values": {"variables": [["a", {}, 1]]}}` + "\n",
		"a number": `{"event": "cell", "cell": 1e99}` + "\n",
	} {
		if r, err := answer(begun + text); !errors.Is(err, errMalformedAnswer) {
			t.Errorf("%s: %v %+v", name, err, r)
		}
	}
	for _, pid := range []string{"0", "-1", "1e99", `"7"`} {
		if r, err := answer(strings.Replace(begun, "7", pid, 1)); !errors.Is(err, errMalformedAnswer) {
			t.Errorf("process %s: %v %+v", pid, err, r)
		}
	}
	long := endless{strings.Repeat("x", 4096)}
	if _, err := readAnswer(long, 1, nothing); !errors.Is(err, errTooMuch) {
		t.Errorf("a line without an end: %v", err)
	}
	begins := strings.Repeat(`{"event": "cell begins", "cell": 1}`+"\n", 100)
	if _, err := readAnswer(endless{begins}, 1, nothing); err == nil {
		t.Error("lines without an end")
	}
}

// TestFiguresOfCellsWithoutWindow: the cells behind a cell without a window are found. A cell that another cell ran is
// no cell of the notebook.
func TestFiguresOfCellsWithoutWindow(t *testing.T) {
	var all []string
	for i, one := range []struct {
		parent int
		source string
	}{{0, "a"}, {1, "d"}, {0, "c"}, {0, "e"}, {0, "d"}} {
		all = append(all, fmt.Sprintf(`{"id": %d, "parent": %d, "pid": 8, "kind": "cell", "source": %q}`,
			i+1, one.parent, one.source))
	}
	whole := `{"windows": [` + strings.Join(all, ",") + `]}`
	f, err := readFigures(strings.NewReader(whole), []Cell{{Source: "a"}, {Source: "b"}, {Source: "c"}, {Source: "d"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 0, 3, 5} {
		if f.Cells[i].ID != want {
			t.Errorf("cell %d has window %d, want %d", i+1, f.Cells[i].ID, want)
		}
	}
}

// TestFiguresOfTheNotebooksCells: the notebook's cells are found among others. A report that is cut short is an error.
func TestFiguresOfTheNotebooksCells(t *testing.T) {
	cell := func(pid int, kind, source string, silent bool, peak int) string {
		return fmt.Sprintf(`{"id": %d, "pid": %d, "kind": %q, "source": %q, "silent": %v, "status": "ok",
			"allocations": [{"stack": 3}], "meters": {"cpu.resident": {"start": 1, "peak": %d, "exact": true}},
			"tree": {"cpu.resident": {"start": 1, "peak": %d, "exact": true}}}`,
			peak, pid, kind, source, silent, peak, 2*peak)
	}
	whole := `{"schema": "x", "host": {"name": "h"}, "processes": [{"deep": [[]]}], "windows": [` +
		strings.Join([]string{
			cell(7, "session", "", false, 1), cell(8, "cell", "seed", true, 2), cell(8, "cell", "a", true, 3),
			cell(8, "cell", "a\n", false, 10), cell(9, "cell", "b", false, 4), cell(8, "statement", "b", false, 5),
			cell(8, "cell", "c", false, 6), cell(8, "cell", "b", false, 20),
		}, ",") + `], "certificate": {}}`
	f, err := readFigures(strings.NewReader(whole), []Cell{{Source: "a"}, {Source: "b"}, {Source: "never"}})
	if err != nil {
		t.Fatal(err)
	}
	first, _ := f.Cells[0].Together("cpu.resident")
	second, _ := f.Cells[1].Together("cpu.resident")
	if f.PID != 8 || f.Host.Name != "h" || first.Peak != 20 || second.Peak != 40 || f.Cells[2].ID != 0 {
		t.Errorf("%+v", f)
	}
	for _, part := range []int{1, 100, 300, len(whole) - 1} {
		if _, err := readFigures(strings.NewReader(whole[:part]), []Cell{{Source: "a"}}); !errors.Is(err, errNoReport) {
			t.Errorf("%d bytes: %v", part, err)
		}
	}
	if _, err := readFigures(io.MultiReader(strings.NewReader(`{"windows": []}`)), []Cell{{Source: "a"}}); err == nil {
		t.Error("a report without the notebook's cells")
	}
}
