package export

import (
	"bufio"
	"io"

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

// perfetto writes packets as windows and points come. Tracks have numbers, in the order of their first use.
type perfetto struct {
	to     *bufio.Writer
	tracks map[track]int64
	begun  bool
	place  *place // of the present recording
}

func newPerfetto(w io.Writer) *perfetto {
	return &perfetto{to: bufio.NewWriterSize(w, 64<<10), tracks: map[track]int64{}}
}

// flush writes what is left. It returns the first error of the writer.
func (p *perfetto) flush() error { return p.to.Flush() }

// track identifies the track of a process, of a lane of slices in it, or of a counter.
type track struct {
	pid    int
	kind   string
	number int
}

const (
	ofProcess = "process"
	ofCounter = "counter "
	ofGaps    = "gaps "
)

// Perfetto writes a trace in Perfetto's protocol buffers: a track for each process, with its cells and statements, its
// experiments, and a counter for each meter, in bytes. Times are nanoseconds since the session began. Slices carry
// their figures. It holds only the list of tracks.
func Perfetto(w io.Writer, r *model.Report) error {
	p := newPerfetto(w)
	eachSlice(p, r)
	if !p.begun { // no process: their readers ask for a pid
		p.track(track{kind: ofProcess}, func(d *message) { d.Text(trackName, "nothing was traced") })
	}
	return p.flush()
}

// packet writes a packet; all are of one sequence, and the first says that nothing is known from before.
func (p *perfetto) packet(m message) {
	m.Int(packetSequence, onlySequence)
	if !p.begun {
		m.Int(packetFlags, stateCleared)
		p.begun = true
	}
	var outer message
	outer.Embed(tracePacket, m)
	_, _ = p.to.Write(outer) // flush returns the error
}

// track returns the number of a track, which is described at its first use.
func (p *perfetto) track(of track, describe func(*message)) int64 {
	at, known := p.tracks[of]
	if known {
		return at
	}
	parent := p.tracks[track{pid: of.pid, kind: ofProcess}]
	at = int64(len(p.tracks)) + 1
	p.tracks[of] = at
	var d, m message
	d.Int(trackUUID, at)
	d.Int(trackParent, parent)
	describe(&d)
	m.Embed(packetTrack, d)
	p.packet(m)
	return at
}

// process announces a process before its content; pid 0 stands for those that the report lacks.
func (p *perfetto) process(pid int, name string) {
	number := p.place.pid(pid)
	p.track(track{pid: number, kind: ofProcess}, func(d *message) {
		var m message
		m.Int(processPID, int64(number))
		m.Text(processName, p.place.name(pid, name))
		d.Embed(trackProcess, m)
	})
}

// lane announces a row of slices, which nest in it.
func (p *perfetto) lane(pid int, kind string, number int) {
	// of the same name: the viewer shows them as one
	p.track(track{p.place.pid(pid), kind, number}, func(d *message) { d.Text(trackName, kind) })
}

func (p *perfetto) event(at int64, e message) {
	var m message
	m.Number(packetTime, p.place.time(at))
	m.Embed(packetEvent, e)
	p.packet(m)
}

func (p *perfetto) slice(s *slice) {
	on := p.tracks[track{p.place.pid(s.pid), s.kind, s.lane}]
	var e message
	e.Int(eventType, sliceBegin)
	e.Int(eventTrack, on)
	e.Text(eventCategory, s.category)
	e.Text(eventName, s.name)
	for _, n := range s.numbers {
		var a message
		a.Text(annotationName, n.name)
		a.Number(annotationInt, n.value)
		e.Embed(eventAnnotation, a)
	}
	for _, t := range s.texts {
		var a message
		a.Text(annotationName, t.name)
		a.Text(annotationText, t.text)
		e.Embed(eventAnnotation, a)
	}
	p.event(s.from, e)
	p.end(s.to, on)
}

func (p *perfetto) end(at, on int64) {
	var e message
	e.Int(eventType, sliceEnd)
	e.Int(eventTrack, on)
	p.event(at, e)
}

func (p *perfetto) counter(pid int, meter string, at, bytes int64) {
	on := p.track(track{pid: p.place.pid(pid), kind: ofCounter + meter}, func(d *message) {
		var m message
		m.Int(counterUnit, sizeBytes)
		d.Text(trackName, meter)
		d.Embed(trackCounter, m)
	})
	var e message
	e.Int(eventType, counterEvent)
	e.Int(eventTrack, on)
	e.Number(eventValue, bytes)
	p.event(at, e)
}

// gap writes a time for which a counter is not complete.
func (p *perfetto) gap(pid int, counter string, from, to int64, why string) {
	on := p.track(track{pid: p.place.pid(pid), kind: ofGaps + counter}, func(d *message) {
		d.Text(trackName, counter+" not known")
	})
	var e message
	e.Int(eventType, sliceBegin)
	e.Int(eventTrack, on)
	e.Text(eventName, why)
	p.event(from, e)
	p.end(to, on)
}
