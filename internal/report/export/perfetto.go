package export

import (
	"io"
	"iter"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// Perfetto writes a trace in Perfetto's protocol buffers: a track for each process, with its cells and statements, its
// experiments, and a counter for each meter, in bytes. Times are nanoseconds since the session began. Slices carry
// their figures. It holds only the list of tracks.
func Perfetto(w io.Writer, report *model.Report) error {
	p := newPerfetto(w)
	eachSlice(p, report)
	if !p.begun { // no process: their readers ask for a pid
		p.track(track{kind: ofProcess}, func(d *message) { d.Text(trackName, "nothing was traced") })
	}
	return p.flush()
}

// PerfettoOf is [Perfetto] for several machines. Their processes are numbered anew, as pids of two machines can be
// equal, and named after their node. Recordings are asked for one after another; it fails with the error of one.
func PerfettoOf(w io.Writer, all iter.Seq2[Recording, error]) error {
	p := newPerfetto(w)
	for one, err := range all {
		if err != nil {
			return err
		}
		p.place = &place{recording: one, pids: map[int]int{}, before: p.place.processes()}
		eachSlice(p, one.Report)
		if p.place.processes() == p.place.before {
			p.process(0, "nothing was traced")
		}
	}
	return p.flush()
}

// eachSlice goes through a report once, and writes its processes, slices and counters.
func eachSlice(to *perfetto, report *model.Report) {
	p := timeline{to: to, known: map[int]bool{}, lanes: map[row][]nest{}, meters: words.Wholes(report.AllMeters())}
	for i := range report.Processes {
		one := &report.Processes[i]
		p.process(one.PID, one.Command)
	}
	for w := range report.AllPassing() {
		p.window(w)
	}
	c := counters{timeline: &p, alone: map[counted]*alone{}, ends: map[int]int64{}, last: map[counted]int64{}}
	c.print(report)
}
