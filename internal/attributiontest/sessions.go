package attributiontest

import (
	"fmt"

	"ipytracer/event"
)

// Notebook emits a notebook of many cells, each with its own text and statements. Every statement moves pages. Every
// second one allocates two arrays, each with a stack of its own, and frees one or both. A worker moves pages beside
// some cells, and a shell command runs beside others.
func Notebook(emit func(event.Event), cells, statements int) {
	s := New(emit, 1)
	const worker, command = Kernel + 1, Kernel + 2
	s.Fork(Kernel, worker)
	s.Exec(worker, "python3 -m joblib.externals.loky.backend.popen_loky_posix --process-name LokyProcess-1")
	for cell := range uint64(cells) {
		file := fmt.Sprintf("/tmp/ipykernel_%d/%d.py", Kernel, 1_000_000_007*(cell+1)%4_000_000_000)
		source := ""
		for line := range statements {
			source += fmt.Sprintf("x%d = np.ones((%d, 1000)).sum(axis=%d)\n", line, cell, line%2)
		}
		s.OpenCell(cell+1, 0, file, source)
		for line := range statements {
			s.Of(event.StatementOpen, cell+1, int32(line+1), 0)
			s.statement(file, cell, line)
			s.Of(event.StatementClose, cell+1, 0, event.OutcomeOK)
		}
		if cell%20 == 0 {
			s.Fork(Kernel, command)
			s.Exec(command, "/bin/sh -c ls")
			s.Exit(command)
		}
		if cell%10 == 0 {
			s.To(worker, event.Resident, event.Bytes(s.Random.IntN(1<<15))<<12)
		}
		s.Of(event.CellResult, cell+1, 0, event.OutcomeOK)
		s.CloseCell(cell+1, event.OutcomeOK)
	}
	s.End()
}

// statement emits the changes of one statement.
func (s *Session) statement(file string, cell uint64, line int) {
	pages := event.Bytes(s.Random.IntN(1<<14)) << 12
	before := s.Value(Kernel, event.ResidentAnon)
	s.To(Kernel, event.ResidentAnon, before+pages)
	s.To(Kernel, event.Resident, s.Value(Kernel, event.Resident)+pages)
	if line%2 == 0 {
		var stacks [2]uint64
		for i := range stacks {
			stacks[i] = s.Stack(Kernel,
				event.Frame{Function: "ones", File: "/usr/lib/python3/dist-packages/numpy/core/numeric.py",
					Line: int32(200 + i)},
				event.Frame{Function: "_call", File: "/usr/lib/python3/dist-packages/numpy/core/fromnumeric.py",
					Line: int32(line)},
				event.Frame{Function: "<module>", File: file, Line: int32(line + 1)})
			s.Make(Kernel, event.NumPy, event.Bytes(1000*8*(1+cell%5000)), stacks[i])
		}
		s.Free(Kernel, true)
		if s.Random.IntN(20) != 0 { // in one of twenty statements, the other array stays
			s.Free(Kernel, true)
		}
	}
	kept := pages / 16 & 4095 // a part of the pages that the statement does not give back
	s.To(Kernel, event.ResidentAnon, before+kept)
	s.To(Kernel, event.Resident, s.Value(Kernel, event.Resident)-pages+kept)
}

// LeftOpen emits a session with experiments that never end, and with children that begin and end one after another.
func LeftOpen(emit func(event.Event), experiments, forks int) {
	s := New(emit, 2)
	for i := range experiments {
		s.Mark(event.ExperimentBegin, fmt.Sprintf("experiment %d", i))
	}
	for i := range int32(forks) {
		s.Fork(Kernel, Kernel+1+i)
		s.To(Kernel+1+i, event.Resident, 200<<20+event.Bytes(i)<<12)
		s.Exit(Kernel + 1 + i)
	}
	s.End()
}

// Flood emits a target that begins experiments as fast as it can. With pairs it also ends each of them.
func Flood(emit func(event.Event), markers int, pairs bool) {
	s := New(emit, 3)
	s.OpenCell(1, 0, "/tmp/ipykernel_1/1.py", "while True: mark()")
	for i := range markers {
		name := fmt.Sprintf("m%d", i%50_000)
		s.To(Kernel, event.Resident, 100<<20+event.Bytes(s.Random.IntN(1<<20))<<12)
		s.Mark(event.ExperimentBegin, name)
		if pairs {
			s.Mark(event.ExperimentEnd, name)
		}
	}
	s.CloseCell(1, event.OutcomeOK)
	s.End()
}

// Crowd emits a target with many processes at the same time that move pages beside cells.
func Crowd(emit func(event.Event), processes, cells int) {
	s := New(emit, 4)
	for i := range int32(processes) {
		s.Fork(Kernel, Kernel+1+i)
		s.Exec(Kernel+1+i, fmt.Sprintf("worker %d", i))
	}
	for cell := range uint64(cells) {
		s.OpenCell(cell+1, 0, "/tmp/ipykernel_1/1.py", "work()")
		for i := range int32(processes) {
			s.To(Kernel+1+i, event.Resident, event.Bytes(s.Random.IntN(1<<16))<<12)
		}
		s.CloseCell(cell+1, event.OutcomeOK)
	}
	s.End()
}
