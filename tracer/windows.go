package tracer

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/places"
)

// windowInstrument is the instrument for windows. It probes the interpreter where cells, their statements and their
// results begin and end, and where code objects are freed, by which stacks are recognized.
type windowInstrument struct {
	inert
	*host
	target *target
	groups map[ledger.Group]io.Closer // those that are in place
}

// place attaches all groups except that for code objects, which is attached first or not at all: see [examiner.probe].
func (i *windowInstrument) place() error {
	for g := range ledger.Group(ledger.PythonGroups) {
		if g == ledger.GroupNumPy || i.isShed(i.target.root, g) {
			continue
		}
		if g == ledger.GroupCode {
			if i.groups[g] == nil { // only stacks take longer without it
				continue
			}
		} else if err := i.stepUp(g); err != nil {
			return err
		}
		noteInPython(i.host, i.target, g)
	}
	i.noteBlind()
	return nil
}

// noteBlind reports a Python with cells that cannot be seen.
func (i *windowInstrument) noteBlind() {
	sites := i.target.python.sites
	inlined := sites.CompileInlined && !places.CompiledByAudit(sites)
	if inlined || len(places.OfPython(ledger.GroupCell, sites)) == 0 {
		i.countUnseen()
	}
	if inlined {
		i.problem("pid %d: this Python (%s) compiles without calling Py_CompileStringObject: its cells and "+
			"experiments cannot be seen", i.target.pid, i.target.python.version())
	}
}

func (i *windowInstrument) stepUp(g ledger.Group) error {
	if g == ledger.GroupNumPy || i.groups[g] != nil {
		return nil
	}
	c, err := placeInPython(i.host, i.target, g)
	if c != nil {
		if i.groups == nil {
			i.groups = map[ledger.Group]io.Closer{}
		}
		i.groups[g] = c
		i.target.python.codeFrees = i.target.python.codeFrees || g == ledger.GroupCode
	}
	return err
}

func (i *windowInstrument) stepDown(g ledger.Group) {
	if c := i.groups[g]; c != nil {
		_ = c.Close()
		delete(i.groups, g)
	}
}

// close detaches all groups at the same time: the kernel lets a while pass for each.
func (i *windowInstrument) close() {
	var closing sync.WaitGroup
	for _, c := range i.groups {
		closing.Go(func() { _ = c.Close() })
	}
	closing.Wait()
	i.groups = nil
}

// placed returns the programs that serve a group on a build, unless this is a build for tests that breaks probes
// (broken.go).
var placed = places.OfPython

// placeInPython attaches a group's probes to a target's interpreter. It returns nil if the interpreter has no place for
// them.
func placeInPython(h *host, t *target, g ledger.Group) (io.Closer, error) {
	p := placed(g, t.python.sites)
	if len(p) == 0 {
		return nil, nil
	}
	c, err := h.probeFile(t, t.python.file, p)
	if err != nil {
		return nil, fmt.Errorf("pid %d: %w", t.pid, err)
	}
	if err := t.python.tookEffect(p); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("pid %d: %w", t.pid, err)
	}
	return c, nil
}

// errNoEffect means that the kernel accepts probes on a file and does not insert them. That happens where a FUSE server
// passes its files on to another file system (FUSE_PASSTHROUGH, Linux 6.9): then the mapped file is the other one.
var errNoEffect = fmt.Errorf("%w: it does not put the probes into this process's interpreter, as on a FUSE file "+
	"system that passes reads on", ledger.ErrNotSupported)

// tookEffect compares the first probed instruction in memory with that in the file.
func (p *python) tookEffect(placements []ledger.Placement) error {
	m := p.file.Mapping
	for _, one := range placements {
		for _, at := range one.Offsets {
			if at >= m.Offset && at-m.Offset < m.End-m.Start {
				return inserted(p.file.File, int64(at), p.memory, int64(m.Start+at-m.Offset))
			}
		}
	}
	return nil
}

// inserted fails if the code at an address of memory is that at an offset of the file: there is no breakpoint. If
// either cannot be read, it is not known. A breakpoint may share bytes with the instruction, even the first, but not
// all of the first four.
func inserted(file io.ReaderAt, offset int64, memory io.ReaderAt, address int64) error {
	var now, before [4]byte
	n, _ := file.ReadAt(before[:], offset)
	if n == 0 {
		return nil
	}
	if _, err := memory.ReadAt(now[:n], address); err != nil || now != before {
		return nil
	}
	return errNoEffect
}

// noteInPython records for the certificate where a group's probes are in a target's interpreter, and the effect of a
// missing one.
func noteInPython(h *host, t *target, g ledger.Group) {
	sites := t.python.sites
	if len(places.OfPython(g, sites)) == 0 {
		h.problem("pid %d: this Python (%s) has no place for the probes on %v", t.pid, t.python.version(), g)
		return
	}
	if names := places.Doubted(g, sites); len(names) > 0 && (g != ledger.GroupCell || !sites.CompileInlined) {
		h.countUnseen()
		h.problem("pid %d: in this Python (%s) nothing calls %s: the probes on %v may not see what they are for", t.pid,
			t.python.version(),
			strings.Join(names, ", "), g)
	}
	h.noteUse(g, places.Describe(places.Sites(g, sites)))
}
