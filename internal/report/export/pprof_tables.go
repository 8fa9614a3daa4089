package export

import (
	"fmt"
	"io"
)

// pprof is an unfinished profile. Samples are written as they come, and the tables that they refer to after them, so
// that only names and lines are held.
type pprof struct {
	to     io.Writer
	err    error
	doubts doubts

	meters    []string
	first     map[string]int // of each meter, its first value
	values    []int64
	strings   map[string]int64
	texts     []string
	locations map[call]int64
	calls     []call
	modules   map[string]int64
	mapped    []string

	commands    map[int]string
	experiments []enclosing
	explained   map[string]int64 // bytes at the session's peak with a stack
	peaks       map[string]int64
	took        int64 // the longest session, in nanoseconds
}

func (p *pprof) put(field wireField, m message) {
	var outer message
	outer.Embed(field, m)
	p.write(outer)
}

func (p *pprof) write(m message) {
	if p.err == nil {
		_, p.err = p.to.Write(m)
	}
}

func (p *pprof) text(s string) int64 {
	at, known := p.strings[s]
	if !known {
		at = int64(len(p.texts))
		p.strings[s] = at
		p.texts = append(p.texts, s)
	}
	return at
}

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
		var inner message
		inner.Int(mappingID, int64(i)+1)
		inner.Int(mappingFile, p.text(name))
		inner.Int(mappingFunctions, 1)
		inner.Int(mappingFiles, 1)
		inner.Int(mappingLines, 1)
		p.put(profileMapping, inner)
	}
}
