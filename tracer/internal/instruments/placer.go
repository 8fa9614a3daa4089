package instruments

import (
	"fmt"
	"io"
	"sync"

	"ipytracer/internal/code/cuda"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/running"
	"ipytracer/tracer/internal/tracee"
)

// Placer attaches probes to files, and detaches the probes of processes that have ended.
type Placer struct {
	*tracee.Certificate
	Ledger      *tracee.KernelHalf
	Natives     *running.Natives
	checkpoints map[process.FileID]io.Closer // probes for every process, by file
	closing     sync.WaitGroup               // detaching probes of processes that have ended
}

// ProbeFile attaches probes for a target to a file that it maps, or may map. It fails with [process.ErrNoProcess] if
// the target has ended.
func (p *Placer) ProbeFile(t *tracee.Target, file *process.MappedFile, placements []ledger.Placement) (io.Closer,
	error) {
	for _, placement := range placements {
		if err := file.Prepare(placement.Offsets); err != nil {
			return nil, err
		}
	}
	c, err := p.Ledger.Probe(file.File, t.PID, placements)
	if gone := t.Lives(); gone != nil {
		if err == nil {
			_ = c.Close()
		}
		return nil, gone
	}
	return c, err
}

// HasEnded reports whether a target is gone: then none of its files can be opened any more.
func (p *Placer) HasEnded(t *tracee.Target) bool { return t.Lives() != nil }

// PlaceCheckpoints probes, for every process, the functions by which one process suspends another's use of its GPUs.
// Few programs call them, so the probes cost others nothing. One attachment is enough for each file and session.
func (p *Placer) PlaceCheckpoints(file *process.MappedFile, sites []cuda.Site) error {
	id := file.Mapping.File
	if len(sites) == 0 || p.checkpoints[id] != nil {
		return nil
	}
	enter, leave := ledger.Placement{Program: ledger.CheckpointEnter}, ledger.Placement{Program: ledger.CheckpointLeave}
	for _, site := range sites {
		add(&enter, site.Offset, site.Cookie)
		leave.Offsets = append(leave.Offsets, site.Offset)
	}
	if err := file.Prepare(enter.Offsets); err != nil {
		return err
	}
	c, err := p.Ledger.Probe(file.File, 0, []ledger.Placement{leave, enter})
	if err != nil {
		return err
	}
	if p.checkpoints == nil {
		p.checkpoints = map[process.FileID]io.Closer{}
	}
	p.checkpoints[id] = c
	return nil
}

func (p *Placer) JoinedLate(t *tracee.Target, name string, missed ...ledger.Group) {
	p.Late = append(p.Late, fmt.Sprintf("%s in pid %d", name, t.PID))
	for _, g := range missed {
		_ = p.Ledger.Late(g, t.PID) // an error means that the process has ended
	}
}

// Release detaches the probes of a process that has ended, without waiting: that takes the kernel a while.
func (p *Placer) Release(t *tracee.Target) {
	p.Natives.Forget(t)
	t.CloseInstruments(&p.closing)
}

// CloseAll detaches all probes, and waits until that is done: first those for every process, then those already being
// detached, then those of targets. It calls stop after the first two.
func (p *Placer) CloseAll(targets []*tracee.Target, stop func()) {
	for _, c := range p.checkpoints {
		_ = c.Close()
	}
	p.checkpoints = nil
	p.closing.Wait()
	stop()
	for _, t := range targets {
		t.CloseInstruments(&p.closing)
	}
	p.closing.Wait()
}
