package main

import (
	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/model"
)

// leastOfPage is the least size, in bytes, of a leak on a page.
const leastOfPage = 1 << 20

// reportAndAudit processes a session's events for a report and for an audit of the same session.
type reportAndAudit struct {
	reports *attribution.Tracker
	auditor *attribution.Auditor
}

func (b *reportAndAudit) Add(e event.Event) {
	b.reports.Add(e)
	b.auditor.Add(e)
}

// Finished returns the cells of the report; the auditor's are the same.
func (b *reportAndAudit) Finished() []model.Window {
	b.auditor.Finished()
	return b.reports.Finished()
}
