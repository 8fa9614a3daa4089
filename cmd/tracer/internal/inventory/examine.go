package inventory

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"ipytracer/internal/host/filecache"
	"ipytracer/internal/host/look"
	"ipytracer/internal/host/process"
	"ipytracer/tracer"
)

// Looks are the looks that this process must support, by name ([look.For]).
var Looks = map[string]look.For{
	kernels: {Examiner: examinerOf(kernels)},
	workers: {Examiner: examinerOf(workers)},
	all:     {Examiner: examinerOf(all)},
}

// question asks a worker about a process.
type question struct {
	PID     int
	Started uint64
	Refused []filecache.FileState // of its user, that are not to be examined
	Silent  []uint64              // file systems of its user, that are not to be asked
	Near    bool                  // nor any other that might not answer
}

// findings are the answer.
type findings struct {
	Row    *foundKernel // nil: of no use
	Hidden bool
	Silent []uint64 // file systems that did not answer; the helper waits for them
	Cut    bool     // it may be of use: its files could not be read
}

// noted is what an examiner is busy with.
type noted struct {
	File   *filecache.FileState
	Helper process.Identity // that opens files, and may wait for one
}

// examiner looks at one process after another, in a process without rights.
type examiner struct {
	fs       process.FS
	what     string
	note     func(any)
	refused  []filecache.FileState
	search   *process.Search
	describe *tracer.Describer
}

// examinerOf returns the maker of an examiner's answers, for kernels alone, for workers of Dask as well, or for all
// Pythons.
func examinerOf(what string) func(fs process.FS, note func(any)) func(json.RawMessage) (any, error) {
	return func(fs process.FS, note func(any)) func(json.RawMessage) (any, error) {
		e := &examiner{fs: fs, what: what, note: note, describe: tracer.NewDescriber(fs)}
		e.search = fs.NewSearch(e.isPython)
		return e.answer
	}
}

// isPython reports whether a file is a Python interpreter. It says first which file it is.
func (e *examiner) isPython(f *process.MappedFile) bool {
	state := filecache.StateOf(&f.Stat)
	if slices.Contains(e.refused, state) {
		return false
	}
	e.note(noted{&state, e.fs.Helper.Process()})
	return tracer.IsPython(f.File)
}

func (e *examiner) answer(text json.RawMessage) (any, error) {
	var q question
	if err := json.Unmarshal(text, &q); err != nil {
		return nil, err
	}
	e.refused = q.Refused
	e.note(noted{Helper: e.fs.Helper.Process()})
	e.fs.Helper.Mute(q.Silent, q.Near)
	found, err := e.look(q)
	for _, key := range e.fs.Helper.Silent() {
		if !slices.Contains(q.Silent, key) {
			found.Silent = append(found.Silent, key)
		}
	}
	return found, err
}

// look looks at a process.
func (e *examiner) look(q question) (findings, error) {
	st, err := e.fs.Proc(q.PID).Stat()
	if err != nil || st.StartTicks != q.Started || st.Ended() || st.KernelThread() {
		return findings{}, nil
	}
	p, hidden, err := e.search.Examine(st)
	if err != nil {
		return findings{Hidden: hidden, Cut: errors.Is(err, process.ErrNoAnswer)}, nil
	}
	seen, _ := e.describe.Describe(p) // unknown facts are empty
	kernel := seen.IPython != "" || p.Kind != process.Script
	if e.what != all && !kernel && (e.what != workers || !p.Worker) {
		return findings{}, nil
	}
	row := Python{
		PID: p.PID, Python: seen.Python, IPython: seen.IPython, Frontend: seen.Frontend, Notebook: seen.Notebook,
		Resident: p.ResidentBytes, GPUs: p.GPUs,
	}
	if row.GPUs == nil {
		row.GPUs = []int{}
	}
	return findings{Row: &foundKernel{
		Row: row, Worker: p.Worker, Kernel: p.Kind != process.Script, Identity: p.Identity, UID: p.UID,
		Cwd: []byte(p.Cwd), Command: []byte(strings.Join(p.Command.Args, " ")),
	}}, nil
}
