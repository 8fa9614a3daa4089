package export

import (
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Kinds of sample of a meter, in the order of their values. Memory at the session's peak, and memory allocated in the
// session, add up over the samples. Memory at the peaks of cells and experiments does not, because lasting memory is at
// many of them. The samples of each such window have a label by which a viewer selects them.
const (
	inuseSpace = iota
	windowInuse
	allocObjects // from here on: only for meters with single blocks
	allocSpace
	windowObjects
	windowSpace
	sampleKinds

	withoutBlocks = allocObjects
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

// maxComments is the most named windows with inexact figures.
const maxComments = 20

// enclosing is an experiment, for the cells within it.
type enclosing struct {
	pid      int
	from, to int64
	name     string
}

// Pprof writes a gzipped profile for `go tool pprof` and other readers of its protocol buffers. Every meter has the
// sample types above, the memory at the session's peak first; samples of cells and experiments have labels. Texts are
// escaped, because pprof prints them on terminals. It holds the names and lines of a session, and no sample.
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

func typeName(meter string, kind int) string { return clean(meter) + "." + sampleNames[kind].name }

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

// main returns the program, for the head of pprof's tables.
func (p *pprof) main(report *model.Report) string {
	if len(report.Processes) == 0 {
		return "python"
	}
	program, _, _ := strings.Cut(report.Processes[0].Command, " ")
	return escape.Bounded(path.Base(program), 80)
}

func (p *pprof) window(cell *model.Window) {
	end := cell.StartNS + cell.DurationNS
	switch cell.Kind {
	case model.Session:
		p.took = max(p.took, end)
		for _, id := range p.meters {
			p.peaks[id] += cell.Meters[id].Peak
		}
	case model.Experiment:
		p.experiments = append(p.experiments, enclosing{cell.PID, cell.StartNS, end, clean(cell.Name)})
	}
	labels := p.labels(cell, end)
	for _, id := range eachPart(cell, p.meters, func(one part) { p.sample(cell, one, labels) }) {
		p.doubts.add("the blocks of %s that are known in %s are more than its peak: its samples do not add up to it",
			clean(id), title(cell))
	}
	for _, id := range p.meters {
		if why := doubt(cell.Meters[id]); why != "" && cell.Meters[id].Peak > 0 {
			p.doubts.add("%s in %s: %s", clean(id), title(cell), why)
		}
	}
}

func (p *pprof) sample(window *model.Window, one part, labels message) {
	clear(p.values)
	at := p.first[one.meter]
	shift := 0
	if window.Kind != model.Session {
		shift = 1
	} else if one.why == "" {
		p.explained[one.meter] += one.atPeak
	}
	p.values[at+inuseSpace+shift] = one.atPeak
	if words.HasBlocks(one.meter) {
		p.values[at+allocObjects+2*shift], p.values[at+allocSpace+2*shift] = one.count, one.allocated
	}
	var inner message
	locations := make([]int64, 0, len(one.stack)+1)
	for _, c := range one.calls() {
		locations = append(locations, p.location(c))
	}
	inner.Packed(sampleLocation, locations)
	inner.Packed(sampleValue, p.values)
	inner = append(inner, labels...)
	if why := doubt(window.Meters[one.meter]); why != "" {
		p.label(&inner, "inexact", why)
	}
	p.put(profileSample, inner)
}

// labels returns the labels of all samples of a window.
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
		for i := len(p.experiments) - 1; i >= 0; i-- {
			if e := &p.experiments[i]; e.pid == window.PID && e.from <= window.StartNS && end <= e.to {
				p.label(&inner, "experiment", e.name)
				break
			}
		}
	}
	p.number(&inner, "start", window.StartNS, "nanoseconds")
	p.number(&inner, "duration", window.DurationNS, "nanoseconds")
	return inner
}

func (p *pprof) label(inner *message, key, text string) {
	if text == "" {
		text = "(none)" // a label without a text would be a number
	}
	var l message
	l.Int(labelKey, p.text(key))
	l.Int(labelText, p.text(text))
	inner.Embed(sampleLabel, l)
}

func (p *pprof) number(inner *message, key string, n int64, unit string) {
	var l message
	l.Int(labelKey, p.text(key))
	l.Int(labelNumber, n)
	l.Int(labelUnit, p.text(unit))
	inner.Embed(sampleLabel, l)
}

// started returns the beginning of a session, 0 if it is not known.
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
	if id := p.most(); id != "" {
		inner.Int(profileDefault, p.text(typeName(id, inuseSpace)))
	}
	for _, text := range p.texts {
		inner.Text(profileString, text)
	}
	p.write(inner)
}

func (p *pprof) comments(report *model.Report) []string {
	all := []string{
		"ipytracer " + clean(report.Host.Tracer) +
			": exact memory, not sampled. METER.inuse_space is what was there at " +
			"the session's peak of the meter, and adds up to it.",
		"METER.window_… is of cells and experiments, each at its own peak: look at one of them, " +
			"with -tagfocus=cell=In.3. or -tagroot=cell.",
	}
	if !report.Certificate.Complete {
		for _, why := range report.Certificate.Incomplete[:min(len(report.Certificate.Incomplete), maxComments)] {
			all = append(all, "not complete: "+clean(why))
		}
	}
	unknown := report.Certificate.Attribution.Incomplete
	for _, why := range unknown[:min(len(unknown), maxComments)] {
		all = append(all, "who allocated is not known in full: "+clean(why))
	}
	all = append(all, p.doubts.all...)
	if p.doubts.more > 0 {
		all = append(all,
			fmt.Sprintf("and %d more figures that are not exact; their samples have the label \"inexact\"",
				p.doubts.more))
	}
	return all
}

// most returns the meter of the default view: the one with the most bytes that have a stack; if there is none, the
// highest.
func (p *pprof) most() (meter string) {
	for _, of := range []map[string]int64{p.explained, p.peaks} {
		for _, id := range p.meters {
			if of[id] > 0 && (meter == "" || of[id] > of[meter]) {
				meter = id
			}
		}
		if meter != "" {
			return meter
		}
	}
	return ""
}
