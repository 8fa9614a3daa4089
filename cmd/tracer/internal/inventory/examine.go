package inventory

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"ipytracer/internal/host/commandline"
	"ipytracer/internal/host/filecache"
	"ipytracer/internal/host/process"
	"ipytracer/tracer"
)

// Looks are the kinds of looks, by name, that a process started for looks must know.
var Looks = map[string]LookFor{
	lookKernels: {Examiner: examinerOf(lookKernels)},
	lookWorkers: {Examiner: examinerOf(lookWorkers)},
	lookAll:     {Examiner: examinerOf(lookAll)},
}

// question asks a worker about a process.
type question struct {
	PID     int
	Started uint64
	Refused []filecache.FileState // files that must not be examined
	Silent  []uint64              // file systems that must not be asked
	Near    bool                  // ask only file systems that are sure to answer
}

// findings are the answer to a question.
type findings struct {
	Row    *foundKernel // nil: the process is not of the wanted kind
	Hidden bool         // as in [Finding]
	Silent []uint64     // file systems that did not answer; the helper waits for them
	Cut    bool         // the process's files could not be read, so its kind is unknown
}

// activity is what an examiner is busy with, for the case that the look must be ended.
type activity struct {
	File   *filecache.FileState
	Helper process.Identity // the process that opens files, and may be waiting for one
}

// examiner looks at one process after another, in a process without rights.
type examiner struct {
	fs       process.FS
	kind     string
	note     func(any)
	refused  []filecache.FileState
	search   *process.Search
	describe *tracer.Describer
}

// examinerOf returns a function that makes an examiner for a kind of looks, and returns the examiner's method answer.
func examinerOf(kind string) func(fs process.FS, note func(any)) func(json.RawMessage) (any, error) {
	return func(fs process.FS, note func(any)) func(json.RawMessage) (any, error) {
		e := &examiner{fs: fs, kind: kind, note: note, describe: tracer.NewDescriber(fs)}
		e.search = fs.NewSearch(e.isPython)
		return e.answer
	}
}

// isPython reports whether a file is a Python interpreter. Before it examines the file, it notes which one it is.
func (e *examiner) isPython(f *process.MappedFile) bool {
	state := filecache.StateOf(&f.Stat)
	if slices.Contains(e.refused, state) {
		return false
	}
	e.note(activity{&state, e.fs.Helper.Process()})
	return tracer.IsPython(f.File)
}

func (e *examiner) answer(text json.RawMessage) (any, error) {
	var q question
	if err := json.Unmarshal(text, &q); err != nil {
		return nil, err
	}
	e.refused = q.Refused
	e.note(activity{Helper: e.fs.Helper.Process()})
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
	isKernel := seen.IPython != "" || p.Kind != commandline.Script
	isWanted := e.kind == lookAll || isKernel || e.kind == lookWorkers && p.Worker
	if !isWanted {
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
		Row: row, Worker: p.Worker, Kernel: p.Kind != commandline.Script, Identity: p.Identity, UID: p.UID,
		Cwd: []byte(p.Cwd), Command: []byte(strings.Join(p.Command.Args, " ")),
	}}, nil
}
