package tracer

import (
	"fmt"
	"io"
	"sync"

	"ipytracer/internal/code/cuda"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// placer attaches probes to files, and detaches those of processes that have ended.
type placer struct {
	*certificate
	ledger      *kernelHalf
	natives     *natives
	checkpoints map[process.FileID]io.Closer // probes for every process, by file
	closing     sync.WaitGroup               // detaching probes of processes that have ended
}

// probeFile attaches probes for a target to a file that it maps, or may map. It fails with [process.ErrNoProcess] if
// the target has ended.
func (p *placer) probeFile(t *target, file *process.MappedFile, placements []ledger.Placement) (io.Closer, error) {
	for _, one := range placements {
		if err := file.Prepare(one.Offsets); err != nil {
			return nil, err
		}
	}
	c, err := p.ledger.Probe(file.File, t.pid, placements)
	if gone := t.lives(); gone != nil {
		if err == nil {
			_ = c.Close()
		}
		return nil, gone
	}
	return c, err
}

// hasEnded reports whether a target is gone: then none of its files can be opened any more.
func (p *placer) hasEnded(t *target) bool { return t.lives() != nil }

// placeCheckpoints probes, for every process, the functions by which one process suspends another's use of its GPUs.
// Few programs call them, so the probes cost others nothing. One attachment is enough for each file and session.
func (p *placer) placeCheckpoints(file *process.MappedFile, sites []cuda.Site) error {
	id := file.Mapping.File
	if len(sites) == 0 || p.checkpoints[id] != nil {
		return nil
	}
	enter, leave := ledger.Placement{Program: ledger.CheckpointEnter}, ledger.Placement{Program: ledger.CheckpointLeave}
	for _, site := range sites {
		enter.Offsets, enter.Cookies = append(enter.Offsets, site.Offset), append(enter.Cookies, site.Cookie)
		leave.Offsets = append(leave.Offsets, site.Offset)
	}
	if err := file.Prepare(enter.Offsets); err != nil {
		return err
	}
	c, err := p.ledger.Probe(file.File, 0, []ledger.Placement{leave, enter})
	if err != nil {
		return err
	}
	if p.checkpoints == nil {
		p.checkpoints = map[process.FileID]io.Closer{}
	}
	p.checkpoints[id] = c
	return nil
}

func (p *placer) joinedLate(t *target, name string, missed ...ledger.Group) {
	p.late = append(p.late, fmt.Sprintf("%s in pid %d", name, t.pid))
	for _, g := range missed {
		_ = p.ledger.Late(g, t.pid) // an error means that the process has ended
	}
}

// release detaches the probes of a process that has ended, without waiting: that takes the kernel a while.
func (p *placer) release(t *target) {
	p.natives.forget(t)
	t.closeInstruments(&p.closing)
}

// closeAll detaches all probes, and waits until that is done: first those for every process, then those already being
// detached, then those of targets. It calls stop after the first two.
func (p *placer) closeAll(targets []*target, stop func()) {
	for _, c := range p.checkpoints {
		_ = c.Close()
	}
	p.checkpoints = nil
	p.closing.Wait()
	stop()
	for _, t := range targets {
		t.closeInstruments(&p.closing)
	}
	p.closing.Wait()
}
