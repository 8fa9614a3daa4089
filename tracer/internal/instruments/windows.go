package instruments

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/tracee"
)

// WindowInstrument is the instrument for windows. It probes the interpreter where cells, their statements and their
// results begin and end, and where code objects are freed, by which stacks are recognized.
type WindowInstrument struct {
	tracee.Inert
	*Host
	Target *tracee.Target
	groups map[ledger.Group]io.Closer // the probes in place
}

// Place attaches all groups except GroupCode, which is attached before or not at all: see [examiner.probe].
func (i *WindowInstrument) Place() error {
	for g := range ledger.Group(ledger.PythonGroups) {
		if g == ledger.GroupNumPy || i.IsPaused(i.Target.Root, g) {
			continue
		}
		if g == ledger.GroupCode {
			if i.groups[g] == nil { // only stacks take longer without it
				continue
			}
		} else if err := i.Resume(g); err != nil {
			return err
		}
		noteInPython(i.Host, i.Target, g)
	}
	i.noteUnseen()
	return nil
}

// noteUnseen reports a Python with cells that cannot be seen.
func (i *WindowInstrument) noteUnseen() {
	sites := i.Target.Python.Sites
	inlined := sites.CompileInlined && !compiledByAudit(sites)
	if inlined || len(OfPython(ledger.GroupCell, sites)) == 0 {
		i.CountUnseen()
	}
	if inlined {
		i.Problem("pid %d: this Python (%s) compiles without calling Py_CompileStringObject: its cells and "+
			"experiments cannot be seen", i.Target.PID, i.Target.Python.Version())
	}
}

func (i *WindowInstrument) Resume(g ledger.Group) error {
	if g == ledger.GroupNumPy || i.groups[g] != nil {
		return nil
	}
	c, err := placeInPython(i.Host, i.Target, g)
	if c != nil {
		if i.groups == nil {
			i.groups = map[ledger.Group]io.Closer{}
		}
		i.groups[g] = c
		i.Target.Python.CodeFrees = i.Target.Python.CodeFrees || g == ledger.GroupCode
	}
	return err
}

func (i *WindowInstrument) Pause(g ledger.Group) {
	if c := i.groups[g]; c != nil {
		_ = c.Close()
		delete(i.groups, g)
	}
}

// Close detaches all groups at the same time: the kernel lets a while pass for each.
func (i *WindowInstrument) Close() {
	var closing sync.WaitGroup
	for _, c := range i.groups {
		closing.Go(func() { _ = c.Close() })
	}
	closing.Wait()
	i.groups = nil
}

// placed returns the programs that serve a group on a build, unless this is a build for tests that breaks probes
// (broken.go).
var placed = OfPython

// placeInPython attaches a group's probes to a target's interpreter. It returns nil if the interpreter has no place for
// them.
func placeInPython(h *Host, t *tracee.Target, g ledger.Group) (io.Closer, error) {
	p := placed(g, t.Python.Sites)
	if len(p) == 0 {
		return nil, nil
	}
	c, err := h.ProbeFile(t, t.Python.File, p)
	if err != nil {
		return nil, fmt.Errorf("pid %d: %w", t.PID, err)
	}
	if err := tookEffect(t.Python, p); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("pid %d: %w", t.PID, err)
	}
	return c, nil
}

// ErrNoEffect means that the kernel accepts probes on a file and does not insert them. That happens where a FUSE server
// passes its files on to another file system (FUSE_PASSTHROUGH, Linux 6.9): then the mapped file is the other one.
var ErrNoEffect = fmt.Errorf("%w: it does not put the probes into this process's interpreter, as on a FUSE file "+
	"system that passes reads on", ledger.ErrNotSupported)

// tookEffect compares the first probed instruction in memory with that in the file.
func tookEffect(p *tracee.Python, placements []ledger.Placement) error {
	m := p.File.Mapping
	for _, placement := range placements {
		for _, at := range placement.Offsets {
			if at >= m.Offset && at-m.Offset < m.End-m.Start {
				return Inserted(p.File.File, int64(at), p.Memory, int64(m.Start+at-m.Offset))
			}
		}
	}
	return nil
}

// Inserted fails if the code at an address of memory equals the code at an offset of the file: then there is no
// breakpoint. It does not fail if either cannot be read. It compares four bytes, because a breakpoint may share some
// with the instruction.
func Inserted(file io.ReaderAt, offset int64, memory io.ReaderAt, address int64) error {
	var now, before [4]byte
	n, _ := file.ReadAt(before[:], offset)
	if n == 0 {
		return nil
	}
	if _, err := memory.ReadAt(now[:n], address); err != nil || now != before {
		return nil
	}
	return ErrNoEffect
}

// noteInPython records for the certificate where a group's probes are in a target's interpreter, and the effect of a
// missing one.
func noteInPython(h *Host, t *tracee.Target, g ledger.Group) {
	sites := t.Python.Sites
	if len(OfPython(g, sites)) == 0 {
		h.Problem("pid %d: this Python (%s) has no place for the probes on %v", t.PID, t.Python.Version(), g)
		return
	}
	if names := Doubted(g, sites); len(names) > 0 && (g != ledger.GroupCell || !sites.CompileInlined) {
		h.CountUnseen()
		h.Problem("pid %d: in this Python (%s) nothing calls %s: the probes on %v may not see what they are for", t.PID,
			t.Python.Version(), strings.Join(names, ", "), g)
	}
	h.NoteUse(g, Describe(Sites(g, sites)))
}
