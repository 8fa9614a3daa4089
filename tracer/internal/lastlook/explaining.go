package lastlook

import (
	"runtime"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/resident"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/tracer/internal/tracee"
)

// ExplainResident locates the resident memory of every running Python. In a recorded session it may take more time.
func (l *Look) ExplainResident() (found []event.Event) {
	limits := resident.Limits{Bytes: 128 << 20, Time: time.Second}
	if l.Asked {
		limits = resident.Limits{Bytes: 1 << 30, Time: 4 * time.Second}
	}
	for _, t := range l.Targets {
		if t.Gone || t.Python == nil || l.cutShort() {
			continue
		}
		began := tracee.Now()
		a, err := l.explain(t, limits, nil)
		if err != nil {
			l.Log.Warn("where the resident memory is could not be found out", "pid", t.PID, "error", err)
			continue
		}
		l.Log.Debug("where the resident memory is", "pid", t.PID, "bytes", a.Total, "took",
			time.Duration(tracee.Now()-began),
			"complete", a.Complete)
		e := &event.Residence{
			Time: began, Root: t.Root, PID: int32(t.PID), Total: event.Bytes(a.Total), Trim: event.Bytes(a.Trim),
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
func (l *Look) explain(t *tracee.Target, limits resident.Limits, freed *resident.Freed) (resident.Account, error) {
	smaps, err := l.FS.Proc(t.PID).File("smaps")
	if err != nil {
		return resident.Account{}, err
	}
	defer smaps.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	limits.Ended, limits.Used = l.context().Done(), objects.ProcessorTime
	source := resident.Source{Smaps: smaps, Freed: freed, Python: t.Python.Binary.Version().Minor}
	if pages, err := l.FS.Proc(t.PID).File("pagemap"); err == nil {
		defer pages.Close()
		source.Memory, source.Pages = t.Python.Live.Memory(), pages
	}
	return resident.Explain(source, limits)
}
