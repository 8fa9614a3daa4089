// Command site makes the page that opens recordings in a browser: one folder of files for any web server. The browser
// runs the same code as `tracer report` and `tracer diff`, compiled to WebAssembly, so that nothing of a recording
// leaves the machine.
//
//	site DIR     write the page into a new folder DIR; needs Go, and this module's sources as the current folder
//
// Compiled for js/wasm it is that program itself: it reads recordings and makes the documents of them.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"ipytracer/attribution"
	"ipytracer/event/recording"
	"ipytracer/internal/advice"
	"ipytracer/internal/compare"
	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/formats"
	"ipytracer/internal/report/html"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/model"
)

// document is a form in which the page offers what is in recordings.
type document struct {
	name, ending string
	// of is what it shows: the name of a command of the tracer.
	of string
	// write writes it; nil for a comparison.
	write func(io.Writer, *session) error
}

// session is a recording that was read.
type session struct {
	report   *model.Report
	findings *attribution.Findings
}

func (s *session) audit() *model.Audit   { return s.findings.Audit(formats.LeastLeak) }
func (s *session) advice() *model.Advice { return advice.Make(s.report, advice.Options{}) }

// comparison is what the documents of two recordings show.
const comparison = "diff"

// documents are what `tracer report --format NAME` writes, and then in each format what `tracer audit`, `tracer advise`
// and `tracer diff` do. Text is in full.
var documents = slices.Concat(reports(), findings("audit", writeFound(formats.Audit, (*session).audit)),
	findings("advise", writeFound(formats.Advice, (*session).advice)), findings(comparison, nil))

// reports returns the documents that are a session's report.
func reports() (all []document) {
	for _, f := range formats.All {
		d := document{name: f.Name, ending: f.Ending, of: "report"}
		if base, others := strings.CutSuffix(f.Name, "-"+f.Ending[1:]); others {
			d.ending = "." + base + f.Ending
		}
		d.write = func(w io.Writer, s *session) error {
			if f.Advised {
				s.report.Advice = s.advice()
			}
			switch f.Name {
			case "text":
				return text.Report(w, s.report, text.Options{Width: -1, Full: true})
			case "html":
				return html.Write(w, s.report, html.Options{Audit: s.audit()})
			}
			return f.Print(w, s.report)
		}
		all = append(all, d)
	}
	return all
}

// findings returns the documents that a command writes, in each format of a finding.
func findings(command string, write func(format string) func(io.Writer, *session) error) (all []document) {
	for _, format := range formats.FindingFormats {
		d := document{name: command + "-" + format, ending: "." + command + formats.Of(format).Ending, of: command}
		if write != nil {
			d.write = write(format)
		}
		all = append(all, d)
	}
	return all
}

// writeFound returns functions that write a finding of a session in a format.
func writeFound[T any](
	f formats.Finding[T], find func(*session) *T,
) func(format string) func(io.Writer, *session) error {
	return func(format string) func(io.Writer, *session) error {
		return func(w io.Writer, s *session) error {
			return f.Write(w, find(s), format, sheet.Options{}, noScreen())
		}
	}
}

// noScreen is the size of a screen for documents that are files.
func noScreen() doc.Size { return text.Options{Width: -1}.Size() }

// file is a recording that the page has been given.
type file struct {
	name string // without a folder
	data []byte
}

// made is a document of a recording, or of two.
type made struct {
	content []byte
	ending  string // of the name of a file with it
	note    string // "" for whole recordings; else how far they go
}

// makeDocument reads one recording, or two to compare, and makes a document. It fails if a file is no recording, or if
// the document cannot be made of it. A recording that was cut or damaged is read as far as it goes.
func makeDocument(files []file, name string) (m made, err error) {
	i := slices.IndexFunc(documents, func(d document) bool { return d.name == name })
	if i < 0 || len(files) != documents[i].inputs() {
		return made{}, fmt.Errorf("there is no document %q of %d files", name, len(files))
	}
	var b bytes.Buffer
	if d := &documents[i]; d.of == comparison {
		m.note, err = compareFiles(&b, files, strings.TrimPrefix(d.name, comparison+"-"))
	} else {
		tracker, found := attribution.NewAudited()
		if m.note, err = files[0].read(tracker); err == nil {
			err = d.write(&b, &session{tracker.Stream(), found})
		}
	}
	m.content, m.ending = b.Bytes(), documents[i].ending
	return m, err
}

// inputs returns the number of recordings that a document is made of.
func (d *document) inputs() int {
	if d.of == comparison {
		return 2
	}
	return 1
}

// leastChange is the size in bytes from which on a comparison lists a change, as `tracer diff` does.
const leastChange = 4 << 20

// compareFiles writes the comparison of two recordings in a format, and returns how far they go.
func compareFiles(w io.Writer, files []file, format string) (string, error) {
	var notes []string
	var runs []*compare.Run
	for _, f := range files {
		tracker := attribution.New()
		note, err := f.read(tracker)
		if err != nil {
			return "", fmt.Errorf("%s: %w", f.name, err)
		}
		if note != "" {
			notes = append(notes, f.name+": "+note)
		}
		runs = append(runs, compare.Read(f.name, tracker.Stream()))
	}
	diff, err := compare.Runs(runs[0], runs[1], compare.Options{Least: leastChange})
	if err == nil {
		err = formats.Diff.Write(w, diff, format, sheet.Options{}, noScreen())
	}
	return strings.Join(notes, "; "), err
}

// read passes the events of a recording to a tracker. It returns how far the recording goes, "" if it is whole.
func (f file) read(tracker *attribution.Tracker) (note string, err error) {
	source, err := recording.Open(bytes.NewReader(f.data))
	switch {
	case errors.Is(err, recording.ErrVersion):
		return "", fmt.Errorf("another version of ipytracer wrote this recording: %w", err)
	case err != nil:
		return "", fmt.Errorf("this is no recording (tracer attach --record FILE writes one): %w", err)
	}
	if err := source.Each(context.Background(), tracker.Add); err != nil {
		return "", fmt.Errorf("read the recording: %w", err)
	}
	if extent := source.Extent(); !extent.IsWhole() {
		return extent.String() + "; no figure of it is exact", nil
	}
	return "", nil
}
