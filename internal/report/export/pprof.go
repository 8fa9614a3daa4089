package export

import (
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// The sample types of a meter, in the order of a sample's values. Those without "window" are of sessions: they add up
// over all samples. Those with "window" are of cells and experiments, each at its own peak: they do not add up, because
// lasting memory is in many of them. A label on each sample lets a viewer select one window.
const (
	inuseSpace = iota
	windowInuse
	allocObjects // this and the following types: only for meters with single blocks
	allocSpace
	windowObjects
	windowSpace
	sampleKinds // the number of types

	withoutBlocks = allocObjects // the number of types of a meter without single blocks
)

var sampleNames = [sampleKinds]struct{ name, unit string }{
	inuseSpace: {"inuse_space", "bytes"}, windowInuse: {"window_inuse_space", "bytes"},
	allocObjects: {"alloc_objects", "count"}, allocSpace: {"alloc_space", "bytes"},
	windowObjects: {"window_alloc_objects", "count"}, windowSpace: {"window_alloc_space", "bytes"},
}

// Numbers of fields of profile.proto, by message.
const (
	profileSampleType, profileSample, profileMapping, profileLocation, profileFunction = 1, 2, 3, 4, 5
	profileString, profileTime, profileDuration, profileComment, profileDefault        = 6, 9, 10, 13, 14
	typeType, typeUnit                                                                 = 1, 2
	sampleLocation, sampleValue, sampleLabel                                           = 1, 2, 3
	labelKey, labelText, labelNumber, labelUnit                                        = 1, 2, 3, 4
	mappingID, mappingFile, mappingFunctions, mappingFiles, mappingLines               = 1, 5, 7, 8, 9
	locationID, locationMapping, locationLine                                          = 1, 2, 4
	lineFunction, lineLine                                                             = 1, 2
	functionID, functionName, functionFile                                             = 1, 2, 4
)

// maxComments is the most comments of each kind.
const maxComments = 20

// enclosing is an experiment, which may contain cells. Its times are nanoseconds since the session began.
type enclosing struct {
	pid      int
	from, to int64
	name     string
}

// Pprof writes a gzipped profile for `go tool pprof` and other readers of its protocol buffers. Every meter has the
// sample types above, and each sample the labels of its window. Texts are escaped, because pprof prints them on
// terminals. Pprof keeps the names and lines of a session in memory, but no samples. It fails with w's error only.
func Pprof(w io.Writer, report *model.Report) error {
	packed := gzip.NewWriter(w)
	p := &pprof{
		to: packed, meters: report.AllMeters(), first: map[string]int{}, strings: map[string]int64{},
		locations: map[call]int64{},
		modules:   map[string]int64{}, commands: commands(report), explained: map[string]int64{},
		peaks: map[string]int64{},
	}
	if len(p.meters) == 0 { // pprof opens no profile without a type of sample
		p.meters = []string{"cpu.resident"}
	}
	p.text("")
	p.types()
	p.module(p.main(report))
	detailed(report, p.window)
	p.tables()
	p.about(report)
	if p.err != nil {
		return p.err
	}
	return packed.Close()
}

// typeName returns the name of a sample type of a meter: "cpu.numpy.inuse_space".
func typeName(meter string, kind int) string { return clean(meter) + "." + sampleNames[kind].name }

// types writes the sample types of all meters, and makes room for the values of a sample.
func (p *pprof) types() {
	for _, id := range p.meters {
		p.first[id] = len(p.values)
		kinds := sampleKinds
		if !words.HasBlocks(id) {
			kinds = withoutBlocks
		}
		for kind := range kinds {
			var inner message
			inner.Int(typeType, p.text(typeName(id, kind)))
			inner.Int(typeUnit, p.text(sampleNames[kind].unit))
			p.put(profileSampleType, inner)
			p.values = append(p.values, 0)
		}
	}
}

// main returns the name of the first process's program, which pprof shows above its tables.
func (p *pprof) main(report *model.Report) string {
	if len(report.Processes) == 0 {
		return "python"
	}
	program, _, _ := strings.Cut(report.Processes[0].Command, " ")
	return escape.Bounded(path.Base(program), 80)
}

// window writes the samples of a window, and notes its figures that are not exact.
func (p *pprof) window(window *model.Window) {
	end := window.StartNS + window.DurationNS
	switch window.Kind {
	case model.Session:
		p.took = max(p.took, end)
		for _, id := range p.meters {
			p.peaks[id] += window.Meters[id].Peak
		}
	case model.Experiment:
		p.experiments = append(p.experiments, enclosing{window.PID, window.StartNS, end, clean(window.Name)})
	}
	labels := p.labels(window, end)
	for _, id := range eachPart(window, p.meters, func(part part) { p.sample(window, part, labels) }) {
		p.doubts.add("the blocks of %s that are known in %s are more than its peak: its samples do not add up to it",
			clean(id), title(window))
	}
	for _, id := range p.meters {
		if why := doubt(window.Meters[id]); why != "" && window.Meters[id].Peak > 0 {
			p.doubts.add("%s in %s: %s", clean(id), title(window), why)
		}
	}
}

// sample writes one part of a window's peak as a sample.
func (p *pprof) sample(window *model.Window, part part, labels message) {
	space, objects, allocated := inuseSpace, allocObjects, allocSpace
	if window.Kind != model.Session {
		space, objects, allocated = windowInuse, windowObjects, windowSpace
	} else if part.why == "" {
		p.explained[part.meter] += part.atPeak
	}
	clear(p.values)
	values := p.values[p.first[part.meter]:]
	values[space] = part.atPeak
	if words.HasBlocks(part.meter) {
		values[objects], values[allocated] = part.count, part.allocated
	}
	var inner message
	locations := make([]int64, 0, len(part.stack)+1)
	for _, c := range part.calls() {
		locations = append(locations, p.location(c))
	}
	inner.Packed(sampleLocation, locations)
	inner.Packed(sampleValue, p.values)
	inner = append(inner, labels...)
	if why := doubt(window.Meters[part.meter]); why != "" {
		p.label(&inner, "inexact", why)
	}
	p.put(profileSample, inner)
}

// labels returns the labels of all samples of a window, which ends at end.
func (p *pprof) labels(window *model.Window, end int64) (inner message) {
	p.label(&inner, "kind", window.Kind)
	p.label(&inner, "process", clean(fmt.Sprintf("%d %s", window.PID, p.commands[window.PID])))
	if window.Kind == model.Cell {
		p.label(&inner, "cell", title(window))
		p.number(&inner, "execution", int64(window.Execution), "count")
	}
	if window.Kind == model.Experiment {
		p.label(&inner, "experiment", clean(window.Name))
	} else if window.Kind == model.Cell {
		for _, e := range slices.Backward(p.experiments) { // the innermost experiment began last
			if e.pid == window.PID && e.from <= window.StartNS && end <= e.to {
				p.label(&inner, "experiment", e.name)
				break
			}
		}
	}
	p.number(&inner, "start", window.StartNS, "nanoseconds")
	p.number(&inner, "duration", window.DurationNS, "nanoseconds")
	return inner
}

// label adds a label with a text to a sample.
func (p *pprof) label(sample *message, key, text string) {
	if text == "" {
		text = "(none)" // a label without a text would be a number
	}
	var label message
	label.Int(labelKey, p.text(key))
	label.Int(labelText, p.text(text))
	sample.Embed(sampleLabel, label)
}

// number adds a label with a number to a sample.
func (p *pprof) number(sample *message, key string, n int64, unit string) {
	var label message
	label.Int(labelKey, p.text(key))
	label.Int(labelNumber, n)
	label.Int(labelUnit, p.text(unit))
	sample.Embed(sampleLabel, label)
}

// started returns the beginning of a session, in nanoseconds since 1970; 0 if it is not known.
func started(report *model.Report) int64 {
	at, err := time.Parse(time.RFC3339Nano, report.Host.Started)
	if err != nil {
		return 0
	}
	return at.UnixNano()
}

// about writes the time, the default view, the inexact figures, and the strings.
func (p *pprof) about(report *model.Report) {
	var inner message
	inner.Int(profileTime, started(report))
	inner.Int(profileDuration, p.took)
	for _, text := range p.comments(report) {
		inner.Int(profileComment, p.text(text))
	}
	if id := p.defaultMeter(); id != "" {
		inner.Int(profileDefault, p.text(typeName(id, inuseSpace)))
	}
	for _, text := range p.texts {
		inner.Text(profileString, text)
	}
	p.write(inner)
}

// comments returns the comments of the profile: how to read it, and what is not exact.
func (p *pprof) comments(report *model.Report) []string {
	comments := []string{
		"ipytracer " + clean(report.Host.Tracer) +
			": exact memory, not sampled. METER.inuse_space is what was there at " +
			"the session's peak of the meter, and adds up to it.",
		"METER.window_… is of cells and experiments, each at its own peak: look at one of them, " +
			"with -tagfocus=cell=In.3. or -tagroot=cell.",
	}
	if !report.Certificate.Complete {
		for _, why := range report.Certificate.Incomplete[:min(len(report.Certificate.Incomplete), maxComments)] {
			comments = append(comments, "not complete: "+clean(why))
		}
	}
	unknown := report.Certificate.Attribution.Incomplete
	for _, why := range unknown[:min(len(unknown), maxComments)] {
		comments = append(comments, "who allocated is not known in full: "+clean(why))
	}
	comments = append(comments, p.doubts.texts...)
	if p.doubts.more > 0 {
		comments = append(comments,
			fmt.Sprintf("and %d more figures that are not exact; their samples have the label \"inexact\"",
				p.doubts.more))
	}
	return comments
}

// defaultMeter returns the meter of the default view: the one with the most bytes that have a stack or, if no meter has
// any, the one with the highest peak.
func (p *pprof) defaultMeter() (meter string) {
	for _, bytes := range []map[string]int64{p.explained, p.peaks} {
		for _, id := range p.meters {
			if bytes[id] > 0 && (meter == "" || bytes[id] > bytes[meter]) {
				meter = id
			}
		}
		if meter != "" {
			return meter
		}
	}
	return ""
}
