package tracer

import (
	"runtime"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/resident"
	"ipytracer/internal/python/holders/objects"
)

// explainResident locates the resident memory of every running Python. In a recorded session it may take more time.
func (l *lastLook) explainResident() (found []event.Event) {
	limits := resident.Limits{Bytes: 128 << 20, Time: time.Second}
	if l.asked {
		limits = resident.Limits{Bytes: 1 << 30, Time: 4 * time.Second}
	}
	for _, t := range l.targets {
		if t.gone || t.python == nil || l.cutShort() {
			continue
		}
		began := now()
		a, err := l.explain(t, limits, nil)
		if err != nil {
			l.log.Warn("where the resident memory is could not be found out", "pid", t.pid, "error", err)
			continue
		}
		l.log.Debug("where the resident memory is", "pid", t.pid, "bytes", a.Total, "took", time.Duration(now()-began),
			"complete", a.Complete)
		e := &event.Residence{
			Time: began, Root: t.root, PID: int32(t.pid), Total: event.Bytes(a.Total), Trim: event.Bytes(a.Trim),
			Complete: a.Complete,
		}
		for _, p := range a.Parts {
			e.Parts = append(e.Parts, event.ResidencePart{Kind: string(p.Kind), Bytes: event.Bytes(p.Bytes)})
		}
		found = append(found, e)
	}
	return found
}

// explain locates the resident memory of one Python, and by how much it would fall with blocks that are freed, unless
// these are nil.
func (l *lastLook) explain(t *target, limits resident.Limits, freed *resident.Freed) (resident.Account, error) {
	smaps, err := l.fs.Proc(t.pid).File("smaps")
	if err != nil {
		return resident.Account{}, err
	}
	defer smaps.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	limits.Ended, limits.Used = l.context().Done(), objects.ProcessorTime
	source := resident.Source{Smaps: smaps, Freed: freed, Python: t.python.binary.Version().Minor}
	if pages, err := l.fs.Proc(t.pid).File("pagemap"); err == nil {
		defer pages.Close()
		source.Memory, source.Pages = t.python.live.Memory(), pages
	}
	return resident.Explain(source, limits)
}
