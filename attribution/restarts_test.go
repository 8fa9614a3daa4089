package attribution

import (
	"testing"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

func TestConnectionFile(t *testing.T) {
	for command, want := range map[string]string{
		"/usr/bin/python3 -m ipykernel_launcher -f /run/kernel-1.json":             "/run/kernel-1.json",
		"python -m ipykernel_launcher --f=/run/kernel-2.json --debug":              "/run/kernel-2.json",
		"python -m ipykernel --IPKernelApp.connection_file=/tmp/kernel-3.json -Xa": "/tmp/kernel-3.json",
		"tar -f x.tar":            "",
		"python train.py -f":      "",
		"python -f a.json b.json": "a.json",
		"":                        "",
	} {
		if got := windows.ConnectionFile(command); got != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}

// TestRestartByTheConnectionFile checks that a kernel with the connection file of one that ended is its successor, and
// that one beside it is not.
func TestRestartByTheConnectionFile(t *testing.T) {
	s := newScript()
	kernel := func(pid int32, file string) {
		s.born(pid, 10)
		s.boundary(event.ProcessStart, pid, func(b *event.Boundary) { b.Parent = main })
		s.boundary(event.ProcessExec, pid, func(b *event.Boundary) {
			b.Parent, b.Command = main,
				"python3 -m ipykernel_launcher -f /run/"+file
		})
	}
	end := func(pid int32) {
		s.to(pid, 0)
		s.boundary(event.ProcessExit, pid)
	}
	kernel(200, "kernel-a.json")
	kernel(300, "kernel-b.json")
	end(200)
	kernel(400, "kernel-a.json")
	end(400)
	kernel(500, "kernel-a.json")
	s.boundary(event.Detached, main)
	got := map[int]int{}
	for _, p := range s.run(t).Processes {
		got[p.PID] = p.RestartOf
	}
	expect(t, "restarts", got, map[int]int{int(main): 0, 200: 0, 300: 0, 400: 200, 500: 400})
}

// TestKernelsOfAServer checks that the cells of a kernel that was started by the attached process end with the session,
// and have the figures up to then.
func TestKernelsOfAServer(t *testing.T) {
	s := newScript()
	s.born(200, 10)
	s.boundary(event.ProcessStart, 200, func(b *event.Boundary) { b.Parent = main })
	s.boundary(event.ProcessExec, 200, func(b *event.Boundary) {
		b.Parent, b.Command = main, "python3 -m ipykernel_launcher -f /run/kernel-a.json"
	})
	s.events = append(s.events, &event.Process{ProcessInfo: event.ProcessInfo{PID: 200, Python: "3.11.2",
		IPython: "8.5.0"}})
	s.boundary(event.CellOpen, 200, func(b *event.Boundary) {
		b.Cell = 1
		b.Unknown[event.UnknownNumPy], b.Slack[event.UnknownNumPy] = 1, 1000
		b.Unknown[event.UnknownTorch], b.Slack[event.UnknownTorch] = 2, 2000
	})
	freed := func(b *event.Boundary) {
		b.Unknown[event.UnknownNumPy], b.Slack[event.UnknownNumPy] = 3, 4000
		b.Unknown[event.UnknownTorch], b.Slack[event.UnknownTorch] = 2, 2000
	}
	s.boundary(event.Detached, main, freed)
	r := s.run(t)
	w := nth(t, r, model.Cell, 0)
	if w.PID != 200 || w.Status != model.Incomplete || w.Note != words.StillRuns.String() {
		t.Errorf("the kernel's cell: %+v", w)
	}
	if f := w.Meters["cpu.numpy"]; f.Exact || f.Bound == nil || *f.Bound != 3000 {
		t.Errorf("its arrays: %+v", f)
	}
}
