package export

import (
	"fmt"
	"io"
)

// pprof is an unfinished profile. Samples are written as they come. The tables that they refer to are kept, and written
// after them.
type pprof struct {
	to     io.Writer
	err    error // the first error of to
	doubts doubts

	meters []string
	first  map[string]int // the place in values of each meter's first sample type
	values []int64        // of the present sample

	// The tables, and the number of each item in them.
	texts     []string
	strings   map[string]int64
	calls     []call
	locations map[call]int64
	mapped    []string
	modules   map[string]int64

	commands    map[int]string // by process
	experiments []enclosing
	explained   map[string]int64 // bytes at the session's peak with a stack
	peaks       map[string]int64
	took        int64 // the longest session, in nanoseconds
}

// put writes a message as a field of the profile.
func (p *pprof) put(field wireField, m message) {
	var outer message
	outer.Embed(field, m)
	p.write(outer)
}

// write writes fields of the profile, unless a write has failed.
func (p *pprof) write(m message) {
	if p.err == nil {
		_, p.err = p.to.Write(m)
	}
}

// text returns the number of a text in the table of strings, from 0.
func (p *pprof) text(s string) int64 {
	at, known := p.strings[s]
	if !known {
		at = int64(len(p.texts))
		p.strings[s] = at
		p.texts = append(p.texts, s)
	}
	return at
}

// doubts are sentences about figures that are not exact: the first ones, and the number of the others.
type doubts struct {
	texts []string
	more  int
}

// add adds a sentence, formatted as by [fmt.Sprintf].
func (d *doubts) add(format string, args ...any) {
	if len(d.texts) < maxComments {
		d.texts = append(d.texts, fmt.Sprintf(format, args...))
	} else {
		d.more++
	}
}

// module returns the number of a module in the table of mappings, from 1.
func (p *pprof) module(name string) int64 {
	at, known := p.modules[name]
	if !known {
		at = int64(len(p.mapped)) + 1
		p.modules[name] = at
		p.mapped = append(p.mapped, name)
	}
	return at
}

// location returns the number of a call in the tables of locations and functions, from 1.
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

// tables writes the tables that samples refer to. Each line of code has a function of its own, because speedscope shows
// only one line of a function.
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
