package lastlook

import (
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/tracer/internal/running"
	"ipytracer/tracer/internal/tracee"
)

// ListVariables lists the variables of every Python process that still runs. It reads the objects from outside the
// process, after the last boundary. It closes the surveys.
func (l *Look) ListVariables(surveys []*survey) (found []event.Event) {
	limits, inAll := objects.Limits{Time: briefTime, Objects: briefListed, Bytes: briefBytes, Names: true}, briefInAll
	if l.Asked {
		limits, inAll = objects.Limits{Time: listingTime, Objects: listingObjects, Contents: true}, listingInAll
	}
	limits.Watch = l.Watch
	longest, left := limits.Time, newProcessorTime(l.context(), inAll)
	defer left.done()
	for _, s := range surveys {
		t := s.target
		began := tracee.Now()
		limits.Time = left.share(longest)
		listed, err := s.List(left, limits)
		s.Close()
		if err != nil {
			l.Log.Warn("the variables could not be listed", "pid", t.PID, "error", err)
			continue
		}
		l.Log.Debug("what is there by name", "pid", t.PID, "names", len(listed.Names), "objects", listed.Objects,
			"bytes", listed.Read,
			"took", time.Duration(tracee.Now()-began), "complete", listed.Complete)
		if !listed.Complete && l.cutShort() { // an incomplete list would look complete
			continue
		}
		e := &event.Variables{
			Time: began, Root: t.Root, PID: int32(t.PID), Complete: listed.Complete, Objects: int64(listed.Objects),
			Total:    listed.Total,
			Unlisted: int64(listed.Unlisted), Rest: listed.Rest, Shares: listed.Shares,
		}
		l.Still = listed.Still
		for _, o := range listed.Owners {
			e.Owners = append(e.Owners, cleanOwner(o))
		}
		for _, n := range listed.Names {
			e.Variables = append(e.Variables, cleanVariable(n))
		}
		l.numberAsHere(e)
		l.addResident(t, e, listed.Places)
		if status, err := l.FS.Proc(t.PID).Status(); err == nil {
			e.Memory = event.Bytes(status.ResidentBytes)
		}
		found = append(found, e)
	}
	return found
}

// cleanVariable returns a variable with its texts as valid UTF-8.
func cleanVariable(v event.Variable) event.Variable {
	v.Name, v.Type, v.Also = tracee.Clean(v.Name), tracee.Clean(v.Type), cleanAll(v.Also)
	v.Columns, v.Codes = slices.Clone(v.Columns), slices.Clone(v.Codes)
	for i := range v.Columns {
		c := &v.Columns[i]
		c.Name, c.DType = tracee.Clean(c.Name), tracee.Clean(c.DType)
	}
	for i := range v.Codes {
		v.Codes[i].File = tracee.Clean(v.Codes[i].File)
	}
	return v
}

// WithInputs fills in the input numbers for code of cells that ran before the session.
func WithInputs(cells *running.Cells, events []event.Event) []event.Event {
	for _, e := range events {
		v, ok := e.(*event.Variables)
		if !ok {
			continue
		}
		for i := range v.Variables {
			codes := v.Variables[i].Codes
			for n := range codes {
				_, codes[n].Input = cells.TypedLine(v.PID, codes[n].File, 0)
			}
		}
	}
	return events
}

// cleanOwner returns an owner with its texts as valid UTF-8.
func cleanOwner(o event.Owner) event.Owner {
	o.Names, o.Output = cleanAll(o.Names), tracee.Clean(o.Output)
	return o
}
