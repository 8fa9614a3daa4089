package tracer

import (
	"io"
	"slices"
	"strings"

	"ipytracer/tracer/host/process"
	"ipytracer/tracer/ledger"
)

// relist goes through a target's mappings and shows them to its instruments.
func (s *Session) relist(t *target) {
	s.equip(t)
	l := listing{first: !t.announced, since: t.listed}
	t.unlisted, t.listed = false, now()
	for m, err := range s.fs.Image(t.pid).Mappings() {
		if err != nil {
			return // it has ended
		}
		for _, i := range t.instruments {
			i.meet(l, m)
		}
	}
	for _, i := range t.instruments {
		i.listed(l)
	}
}

func clean(name string) string { return strings.ToValidUTF8(name, "?") }

// hasEnded says whether a target is gone: then nothing of it can be opened any more.
func (s *Session) hasEnded(t *target) bool { return t.lives() != nil }

// placeCheckpoints probes, for every process, the functions by which one process suspends another's use of its GPUs. Hardly
// anybody calls them, so they cost nobody anything. One of a session's targets is enough for each file.
func (s *Session) placeCheckpoints(l *library) error {
	id := l.file.Mapping.File
	if len(l.sites.Others) == 0 || s.checkpoints[id] != nil {
		return nil
	}
	enter, leave := ledger.Placement{Program: ledger.CheckpointEnter}, ledger.Placement{Program: ledger.CheckpointLeave}
	for _, site := range l.sites.Others {
		enter.Offsets, enter.Cookies = append(enter.Offsets, site.Offset), append(enter.Cookies, site.Cookie)
		leave.Offsets = append(leave.Offsets, site.Offset)
	}
	if err := l.file.Prepare(enter.Offsets); err != nil {
		return err
	}
	c, err := s.ledger.Probe(l.file.File, 0, []ledger.Placement{leave, enter})
	if err != nil {
		return err
	}
	if s.checkpoints == nil {
		s.checkpoints = map[process.FileID]io.Closer{}
	}
	s.checkpoints[id] = c
	return nil
}

// expectLibraries has the target's instruments expect the libraries that it may yet load. It does nothing while sys.path is what it was: an interpreter that starts has
// none yet.
func (s *Session) expectLibraries(t *target) {
	modules, _ := t.python.live.Path()
	if t.python.expected && slices.Equal(modules, t.python.modules) {
		return
	}
	t.python.expected, t.python.modules = true, modules
	s.equip(t)
	for _, i := range t.instruments {
		i.expect(modules)
	}
}

// readAhead has what a target may load looked through while the kernel half is being loaded.
func (s *Session) readAhead(t *target) {
	t.python.modules, _ = t.python.live.Path()
	s.equip(t)
	t.numpy.expect(t.python.modules)
}
