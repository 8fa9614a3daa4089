package export

import (
	"bufio"
	"fmt"
	"io"

	"ipytracer/internal/report/escape"
	"ipytracer/model"
)

// Numbers of fields of Perfetto's trace.proto, by message, and of values.
const (
	tracePacket                                                                        = 1
	packetTime, packetSequence, packetEvent, packetFlags, packetTrack                  = 8, 10, 11, 13, 60
	trackUUID, trackName, trackProcess, trackParent, trackCounter                      = 1, 2, 3, 5, 8
	processPID, processName                                                            = 1, 6
	counterUnit                                                                        = 3
	eventAnnotation, eventType, eventTrack, eventCategory, eventName, eventValue       = 4, 9, 11, 22, 23, 30
	annotationInt, annotationText, annotationName                                      = 4, 6, 10
	stateCleared, sizeBytes                                                            = 1, 3
	sliceBegin, sliceEnd, counterEvent                                                 = 1, 2, 4
	onlySequence                                                                 int64 = 1
)

// perfetto writes packets as windows and points come. It numbers tracks in the order of their first use.
type perfetto struct {
	to     *bufio.Writer
	tracks map[track]int64
	begun  bool
	place  *place // of the present recording; nil in a trace of one recording
}

func newPerfetto(w io.Writer) *perfetto {
	return &perfetto{to: bufio.NewWriterSize(w, 64<<10), tracks: map[track]int64{}}
}

// flush writes what is still in the buffer. It returns the first error of the writer.
func (p *perfetto) flush() error { return p.to.Flush() }

// track identifies the track of a process, of a lane of slices in it, or of a counter.
type track struct {
	pid    int
	kind   string
	number int
}

// Kinds of tracks. The name of the counter follows the last two.
const (
	ofProcess = "process"
	ofCounter = "counter "
	ofGaps    = "gaps "
)

// place moves a recording to its place among several: it numbers and names its processes anew, and shifts its times. A
// nil place changes nothing.
type place struct {
	recording Recording
	pids      map[int]int // new numbers of processes, by pid
	before    int         // the number of processes of earlier recordings
}

// processes returns the number of processes up to this recording.
func (p *place) processes() int {
	if p == nil {
		return 0
	}
	return p.before + len(p.pids)
}

// pid returns the new number of a process.
func (p *place) pid(pid int) int {
	if p == nil {
		return pid
	}
	if _, known := p.pids[pid]; !known {
		p.pids[pid] = p.processes() + 1
	}
	return p.pids[pid]
}

// time returns the time on the common timeline, in nanoseconds.
func (p *place) time(ns int64) int64 {
	if p == nil {
		return ns
	}
	return ns + p.recording.FromNS
}

// name returns the name of a process with its node and its pid there.
func (p *place) name(pid int, name string) string {
	if p == nil {
		return name
	}
	return escape.Bounded(fmt.Sprintf("%s · %d %s", p.recording.Node, pid, name), maxExcerpt)
}

// Recording is the report of one of several machines, and its place on their timeline.
type Recording struct {
	Node   string
	FromNS int64 // its beginning on the timeline
	Report *model.Report
}

// slice is a window, in the lane in which it nests.
type slice struct {
	pid, lane int
	kind      string // of the lane: laneCells or laneExperiments
	category  string
	name      string
	from, to  int64
	numbers   []amount
	texts     []note
}

// amount is a number beside a slice.
type amount struct {
	name  string
	value int64
}

// note is a text beside a slice.
type note struct{ name, text string }

// Kinds of lanes.
const (
	laneCells       = "cells"
	laneExperiments = "experiments"
)

// maxExcerpt is the length of a source in a slice, in cells of text.
const maxExcerpt = 200

// packet writes a packet. All packets are of one sequence. The first one says that no state was before it.
func (p *perfetto) packet(inner message) {
	inner.Int(packetSequence, onlySequence)
	if !p.begun {
		inner.Int(packetFlags, stateCleared)
		p.begun = true
	}
	var outer message
	outer.Embed(tracePacket, inner)
	_, _ = p.to.Write(outer) // flush returns the error
}

// track returns the number of a track. At the first use of the track it writes a description, to which describe adds.
func (p *perfetto) track(key track, describe func(*message)) int64 {
	number, known := p.tracks[key]
	if known {
		return number
	}
	parent := p.tracks[track{pid: key.pid, kind: ofProcess}]
	number = int64(len(p.tracks)) + 1
	p.tracks[key] = number
	var inner, m message
	inner.Int(trackUUID, number)
	inner.Int(trackParent, parent)
	describe(&inner)
	m.Embed(packetTrack, inner)
	p.packet(m)
	return number
}

// process announces a process before its content. A pid of 0 stands for processes that the report does not have.
func (p *perfetto) process(pid int, name string) {
	number := p.place.pid(pid)
	p.track(track{pid: number, kind: ofProcess}, func(inner *message) {
		var m message
		m.Int(processPID, int64(number))
		m.Text(processName, p.place.name(pid, name))
		inner.Embed(trackProcess, m)
	})
}

// lane announces a row of slices, which nest in it.
func (p *perfetto) lane(pid int, kind string, number int) {
	// all lanes of a kind have the same name, so the viewer shows them as one
	p.track(track{p.place.pid(pid), kind, number}, func(d *message) { d.Text(trackName, kind) })
}

// event writes an event at a time.
func (p *perfetto) event(ns int64, inner message) {
	var m message
	m.Number(packetTime, p.place.time(ns))
	m.Embed(packetEvent, inner)
	p.packet(m)
}

// slice writes the beginning and the end of a slice. Its lane must have been announced.
func (p *perfetto) slice(s *slice) {
	lane := p.tracks[track{p.place.pid(s.pid), s.kind, s.lane}]
	var inner message
	inner.Int(eventType, sliceBegin)
	inner.Int(eventTrack, lane)
	inner.Text(eventCategory, s.category)
	inner.Text(eventName, s.name)
	for _, n := range s.numbers {
		var a message
		a.Text(annotationName, n.name)
		a.Number(annotationInt, n.value)
		inner.Embed(eventAnnotation, a)
	}
	for _, t := range s.texts {
		var a message
		a.Text(annotationName, t.name)
		a.Text(annotationText, t.text)
		inner.Embed(eventAnnotation, a)
	}
	p.event(s.from, inner)
	p.end(s.to, lane)
}

// end writes the end of the innermost open slice of a track.
func (p *perfetto) end(ns, track int64) {
	var e message
	e.Int(eventType, sliceEnd)
	e.Int(eventTrack, track)
	p.event(ns, e)
}

// counter writes a point of a counter.
func (p *perfetto) counter(pid int, meter string, ns, bytes int64) {
	number := p.track(track{pid: p.place.pid(pid), kind: ofCounter + meter}, func(inner *message) {
		var m message
		m.Int(counterUnit, sizeBytes)
		inner.Text(trackName, meter)
		inner.Embed(trackCounter, m)
	})
	var e message
	e.Int(eventType, counterEvent)
	e.Int(eventTrack, number)
	e.Number(eventValue, bytes)
	p.event(ns, e)
}

// gap writes a time in which a counter is not known, as a slice on a track of its own.
func (p *perfetto) gap(pid int, counter string, from, to int64, why string) {
	number := p.track(track{pid: p.place.pid(pid), kind: ofGaps + counter}, func(d *message) {
		d.Text(trackName, counter+" not known")
	})
	var inner message
	inner.Int(eventType, sliceBegin)
	inner.Int(eventTrack, number)
	inner.Text(eventName, why)
	p.event(from, inner)
	p.end(to, number)
}
