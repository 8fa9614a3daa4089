package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/model"
)

// within returns a program that moves itself into a control group, and then runs the tracer.
func within(t *testing.T, group string) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "tracer")
	text := fmt.Sprintf("#!/bin/sh\necho $$ > '%s/cgroup.procs' && exec '%s' \"$@\"\n", group, binary)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return script
}

// killedIn returns the number of processes that the OOM killer has ended in a control group.
func killedIn(t *testing.T, group string) string {
	t.Helper()
	for _, name := range []string{"memory.events", "memory.oom_control"} {
		data, err := os.ReadFile(filepath.Join(group, name))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			if n, ok := strings.CutPrefix(line, "oom_kill "); ok {
				return strings.TrimSpace(n)
			}
		}
	}
	t.Fatalf("%s does not count what the OOM killer ends", group)
	return ""
}

// manyLines returns a cell that makes 120,000 arrays of 1,024 to 1,151 bytes at 4,000 lines, and 400,000 other objects,
// and the bytes of the arrays.
func manyLines() (cell string, bytes int64) {
	const functions, lines, rounds = 200, 20, 30
	cell = fmt.Sprintf(`import numpy as np
kept, text = [], []
for i in range(%d):
    text.append("def f%%d():\n" %% i + "".join(
        "    kept.append(np.ones(%%d, 'u1'))\n" %% (1024 + (i + j) %% 128) for j in range(%d)))
exec("\n".join(text))
for r in range(%d):
    for i in range(%d):
        globals()["f%%d" %% i]()
objects = [[i] for i in range(400_000)]`, functions, lines, rounds, functions)
	for i := range functions {
		for j := range lines {
			bytes += rounds * int64(1024+(i+j)%128)
		}
	}
	return cell, bytes
}

// TestSmallControlGroup: a tracer in a control group of 70 MiB ends with a report whatever is allocated: it gives up
// the stacks, and the figures are right. No process is killed.
func TestSmallControlGroup(t *testing.T) {
	together(t)
	const limit = 70 << 20
	group := memoryCgroup(t, limit)
	cell, arrays := manyLines()
	pid, run := startCell(t, cell)
	tr := tracedBy(t, within(t, group), nil, pid, "attach", "--budget", "off")
	if err := run(); err != nil {
		t.Fatal(err)
	}
	r, _ := tr.wait(0)
	if n := killedIn(t, group); n != "0" {
		t.Errorf("the OOM killer has ended %s processes", n)
	}
	cells := topCells(r, pid)
	if len(cells) != 1 || cells[0].Status != model.OK {
		t.Fatalf("cells: %+v", cells)
	}
	if f := cells[0].Meters["cpu.numpy"]; f.Consumed != arrays || f.Peak < f.Start+arrays || !f.Exact {
		t.Errorf("arrays: %+v, want %d more in the end", f, arrays)
	}
	if f := cells[0].Meters["cpu.resident"]; !f.Exact || f.Consumed < arrays {
		t.Errorf("resident: %+v", f)
	}
	c := &r.Certificate
	said := strings.Join(c.Attribution.Incomplete, "\n")
	if c.Attribution.Complete || !strings.Contains(said, "limit on its own memory") ||
		!strings.Contains(said, "70.00 MiB") {
		t.Errorf("of who allocated the certificate says %q", said)
	}
	if strings.Contains(strings.Join(c.Incomplete, "\n"), "memory (") || len(cells[0].Allocations) > 0 {
		t.Errorf("figures: %q, %d allocations", c.Incomplete, len(cells[0].Allocations))
	}
}

// TestTooSmallControlGroup: where not even figures fit, the attach is refused in a sentence that names the limit, and
// the kernel goes on.
func TestTooSmallControlGroup(t *testing.T) {
	together(t)
	group := memoryCgroup(t, 48<<20)
	pid, run := startCell(t, "x = 1")
	cmd := exec.Command(within(t, group), "attach", fmt.Sprint(pid))
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	status := exitStatus(t, cmd.Run())
	if status != 3 || out.Len() > 0 || strings.Count(said.String(), "\n") != 1 ||
		!strings.Contains(said.String(), filepath.Base(group)) || !strings.Contains(said.String(), "is 48.00 MiB") {
		t.Errorf("status %d: %q %q", status, said.String(), out.String())
	}
	if n := killedIn(t, group); n != "0" {
		t.Errorf("the OOM killer has ended %s processes", n)
	}
	if err := run(); err != nil {
		t.Error(err)
	}
}

// TestTopShowsItself checks that the screen has a line for the tracer's own memory and its limit.
func TestTopShowsItself(t *testing.T) {
	together(t)
	const limit = 1 << 30
	group := memoryCgroup(t, limit)
	pid, _ := startCell(t, "x = 1")
	tracer := within(t, group)
	out, err := exec.Command(tracer, "top", "--once", "--format", "json", fmt.Sprint(pid)).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said(err))
	}
	var g model.Glance
	if err := json.Unmarshal(out, &g); err != nil {
		t.Fatal(err)
	}
	if o := g.Own; o == nil || o.Resident < 8<<20 || o.Kernel < 8<<20 || o.Limit != limit || o.Left <= 0 ||
		o.Left >= limit || !strings.Contains(o.LimitBy, filepath.Base(group)) {
		t.Errorf("its own memory: %+v", g.Own)
	}
	out, err = exec.Command(tracer, "top", "--once", fmt.Sprint(pid)).Output()
	if err != nil || !bytes.Contains(out, []byte("tracer    ")) || !bytes.Contains(out, []byte("left of 1.00 GiB")) {
		t.Errorf("%v: %s", err, out)
	}
}
