package attribution

import (
	"slices"

	"ipytracer/event"
	"ipytracer/model"
)

// Finished returns the cells that closed since the last call, for live output, without the stacks that allocated in
// them. The figures of a cell do not change after it has closed, except that a late loss may still mark one as not
// proven.
func (t *Tracker) Finished() []model.Window { return t.finished() }

// Cells returns the number of cells that have begun.
func (t *Tracker) Cells() int { return t.Processes.Cells() }

// Report returns everything that is known. It may be called at any time: open windows end at the last boundary.
func (t *Tracker) Report() *model.Report {
	r := t.Stream()
	r.Windows, r.Between = []model.Window{}, []model.Between{}
	for w := range r.Stream {
		r.Detail(w)
		r.Windows = append(r.Windows, *w)
	}
	for b := range r.StreamBetween {
		r.Between = append(r.Between, *b)
	}
	for track := range r.StreamTimeline {
		one := *track
		one.Points, one.Gaps = slices.Clone(one.Points), slices.Clone(one.Gaps)
		r.Timeline = append(r.Timeline, one)
	}
	r.Counted = false
	r.MeterIDs, r.Stream, r.StreamBetween, r.Passing, r.PassingBetween = nil, nil, nil, nil, nil
	r.Detail, r.Find, r.Since, r.StreamTimeline = nil, nil, nil, nil
	return r
}

// Stream returns the report of [Tracker.Report], but makes each window only when it is asked for. No event may be added
// before the report has been printed.
func (t *Tracker) Stream() *model.Report {
	t.sequence.flush()
	t.queue.handOnAll()
	return t.streamed()
}

// SoFar returns the report of a session that goes on, with the variables e that a look has just found in a process.
// SoFar does not change later reports. No event may be added before the report has been read.
func (t *Tracker) SoFar(e *event.Variables) *model.Report {
	t.Flush()
	r := t.streamed()
	r.Variables, _ = t.Named(e)
	return r
}

// streamed returns a report of the state as it is.
func (t *Tracker) streamed() *model.Report {
	t.Table.Forget()
	r := &model.Report{
		Schema: model.Schema, Processes: []model.Process{}, Meters: t.Figurer.Meters(),
		Between: []model.Between{}, Stream: t.reader.each, StreamBetween: t.reader.eachBetween,
		Passing: t.reader.pass, PassingBetween: t.reader.passBetween, Detail: t.reader.detail,
		Find: t.reader.find, Since: t.reader.after,
		Timeline: []model.Track{}, StreamTimeline: t.timeline.EachTrack,
	}
	r.Host, r.MeterIDs, r.Counted = t.Session.Host(), t.Presenter.MeterIDs(), t.Table.Counted
	if t.Session.Finish != nil {
		for _, g := range t.Session.Finish.GPUs {
			r.GPUs = append(r.GPUs, model.GPU{Index: g.Index, UUID: g.UUID, PCIBusID: g.PCIBusID, Name: g.Name,
				Memory: int64(g.Memory)})
		}
	}
	r.GPUNotes = t.Presenter.Notes()
	restarts := t.Processes.Restarts()
	sessions := t.Table.Sessions()
	for _, p := range t.Processes.Order {
		if p.Began != 0 {
			r.Processes = append(r.Processes, t.Presenter.Describe(p, restarts[p], sessions))
		}
	}
	r.Levels = model.LevelsOf(r.Processes, r.GPUs)
	r.Lines, r.Tensors, r.Copied = t.lister.Lines(), t.lister.Tensors(), t.lister.Copied()
	r.Variables, r.Names = t.Namespaces.Variables()
	r.ToFree = t.Namespaces.ToFree()
	r.Resident = t.Namespaces.Resident()
	r.Summits = t.lister.Summits()
	r.Certificate = t.certifier.certificate()
	return r
}
