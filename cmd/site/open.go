// Command site makes the page that opens a recording in a browser: one folder of files for any web server. The browser
// runs the same code as `tracer report`, compiled to WebAssembly, so that nothing of a recording leaves the machine.
//
//	site DIR     write the page into a new folder DIR; needs Go, and this module's sources as the current folder
//
// Compiled for js/wasm it is that program itself: it reads a recording and makes the documents of it.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"ipytracer/attribution"
	"ipytracer/event/recording"
	"ipytracer/internal/advice"
	"ipytracer/internal/report/export"
	"ipytracer/internal/report/html"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/model"
	"ipytracer/report"
)

// leastLeak is the size in bytes from which on the page lists a leak, as `tracer report --format html` does.
const leastLeak = 1 << 20

// document is a form of a report that the page offers.
type document struct {
	name, ending string
	write        func(io.Writer, *model.Report) error
}

// documents are what `tracer report --format NAME` writes, beside the page itself and the audit.
var documents = []document{
	{"text", ".txt", func(w io.Writer, r *model.Report) error {
		return text.Report(w, r, text.Options{Width: -1, Full: true})
	}},
	{"json", ".json", func(w io.Writer, r *model.Report) error {
		r.Accounts = text.Accounts(r)
		return report.JSON(w, r)
	}},
	{"csv", ".csv", report.CSV},
	{"markdown", ".md", sheet.SessionMarkdown},
	{"pprof", ".pb.gz", export.Pprof},
	{"perfetto", ".pftrace", export.Perfetto},
	{"allocations-csv", ".allocations.csv", export.Allocations},
	{"memory-viz", ".pickle", export.Snapshot},
}

// Names of the documents that need more than the report.
const (
	thePage  = "html"
	theAudit = "audit"
)

// made is a document of a recording.
type made struct {
	content []byte
	ending  string // of the name of a file with it
	note    string // "" for a whole recording; else how far it goes
}

// makeDocument reads a recording and makes a document of it. It fails if data are no recording, or the document cannot
// be made of it. A recording that was cut or damaged is read as far as it goes.
func makeDocument(data []byte, name string) (made, error) {
	tracker, findings := attribution.NewAudited()
	extent, err := read(data, tracker)
	if err != nil {
		return made{}, err
	}
	m := made{ending: ".html"}
	if !extent.IsWhole() {
		m.note = extent.String() + "; no figure of it is exact"
	}
	var b bytes.Buffer
	r := tracker.Stream()
	switch i := slices.IndexFunc(documents, func(d document) bool { return d.name == name }); {
	case i >= 0:
		m.ending, err = documents[i].ending, documents[i].write(&b, r)
	case name == thePage:
		audit := findings.Audit(leastLeak)
		r.Advice = advice.Make(r, advice.Options{})
		err = html.Write(&b, r, html.Options{Audit: audit})
	case name == theAudit:
		m.ending, err = ".audit.json", report.AuditJSON(&b, findings.Audit(leastLeak))
	default:
		err = fmt.Errorf("there is no document %q", name)
	}
	m.content = b.Bytes()
	return m, err
}

// read passes the events of a recording to a tracker, and returns how far the recording goes.
func read(data []byte, tracker *attribution.Tracker) (recording.Extent, error) {
	source, err := recording.Open(bytes.NewReader(data))
	switch {
	case errors.Is(err, recording.ErrVersion):
		return recording.Extent{}, fmt.Errorf("another version of ipytracer wrote this recording: %w", err)
	case err != nil:
		return recording.Extent{}, fmt.Errorf("this is no recording (tracer attach --record FILE writes one): %w", err)
	}
	if err := source.Each(context.Background(), tracker.Add); err != nil {
		return recording.Extent{}, fmt.Errorf("read the recording: %w", err)
	}
	return source.Extent(), nil
}
