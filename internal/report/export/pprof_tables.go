package export

import (
	"fmt"

	"ipytracer/model"
)

// doubts are sentences on figures that are not exact. A bounded number is kept.
type doubts struct {
	all  []string
	more int
}

func (d *doubts) add(format string, args ...any) {
	if len(d.all) < maxComments {
		d.all = append(d.all, fmt.Sprintf(format, args...))
	} else {
		d.more++
	}
}

func (p *pprof) module(name string) int64 {
	at, known := p.modules[name]
	if !known {
		at = int64(len(p.mapped)) + 1
		p.modules[name] = at
		p.mapped = append(p.mapped, name)
	}
	return at
}

func (p *pprof) location(c call) int64 {
	at, known := p.locations[c]
	if known {
		return at
	}
	p.calls = append(p.calls, c)
	at = int64(len(p.calls))
	p.locations[c] = at
	return at
}

// tables writes the tables that samples refer to. Each line is a function of its own: speedscope shows one line of
// each.
func (p *pprof) tables() {
	for i, c := range p.calls {
		id, mapping := int64(i)+1, int64(1)
		if c.module != "" {
			mapping = p.module(c.module)
		}
		var line, location, function message
		line.Int(lineFunction, id)
		line.Int(lineLine, c.line)
		location.Int(locationID, id)
		location.Int(locationMapping, mapping)
		location.Embed(locationLine, line)
		p.put(profileLocation, location)
		function.Int(functionID, id)
		// no system name: pprof would take <lambda> for the arguments of a template and remove it
		function.Int(functionName, p.text(c.function))
		function.Int(functionFile, p.text(c.file))
		p.put(profileFunction, function)
	}
	for i, name := range p.mapped {
		var m message
		m.Int(mappingID, int64(i)+1)
		m.Int(mappingFile, p.text(name))
		m.Int(mappingFunctions, 1)
		m.Int(mappingFiles, 1)
		m.Int(mappingLines, 1)
		p.put(profileMapping, m)
	}
}

// about writes the time, the default view, the inexact figures, and the strings.
func (p *pprof) about(r *model.Report) {
	var m message
	m.Int(profileTime, started(r))
	m.Int(profileDuration, p.took)
	for _, text := range p.comments(r) {
		m.Int(profileComment, p.text(text))
	}
	if id := p.most(); id != "" {
		m.Int(profileDefault, p.text(typeName(id, inuseSpace)))
	}
	for _, text := range p.texts {
		m.Text(profileString, text)
	}
	p.write(m)
}

func (p *pprof) comments(r *model.Report) []string {
	all := []string{
		"ipytracer " + clean(r.Host.Tracer) + ": exact memory, not sampled. METER.inuse_space is what was there at " +
			"the session's peak of the meter, and adds up to it.",
		"METER.window_… is of cells and experiments, each at its own peak: look at one of them, " +
			"with -tagfocus=cell=In.3. or -tagroot=cell.",
	}
	if !r.Certificate.Complete {
		for _, why := range r.Certificate.Incomplete[:min(len(r.Certificate.Incomplete), maxComments)] {
			all = append(all, "not complete: "+clean(why))
		}
	}
	unknown := r.Certificate.Attribution.Incomplete
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
