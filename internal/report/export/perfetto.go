package export

import (
	"io"
	"iter"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// Perfetto writes a trace in Perfetto's protocol buffers. Each process has a track with slices for its cells,
// statements and experiments, which carry their figures, and a counter for each meter, in bytes. Times are nanoseconds
// since the session began. Perfetto keeps only the list of tracks in memory. It fails with w's error only.
func Perfetto(w io.Writer, report *model.Report) error {
	p := newPerfetto(w)
	eachSlice(p, report)
	if !p.begun { // a trace without a track is no valid trace
		p.track(track{kind: ofProcess}, func(d *message) { d.Text(trackName, "nothing was traced") })
	}
	return p.flush()
}

// PerfettoOf is [Perfetto] for recordings of several machines. It numbers the processes anew, because pids of two
// machines can be equal, and names them after their node. It fails with the first error of recordings, too.
func PerfettoOf(w io.Writer, recordings iter.Seq2[Recording, error]) error {
	p := newPerfetto(w)
	for recording, err := range recordings {
		if err != nil {
			return err
		}
		p.place = &place{recording: recording, pids: map[int]int{}, before: p.place.processes()}
		eachSlice(p, recording.Report)
		if p.place.processes() == p.place.before {
			p.process(0, "nothing was traced")
		}
	}
	return p.flush()
}

// eachSlice writes the processes, slices and counters of a report.
func eachSlice(to *perfetto, report *model.Report) {
	p := timeline{to: to, known: map[int]bool{}, lanes: map[row][]nest{}, meters: words.Wholes(report.AllMeters())}
	for i := range report.Processes {
		process := &report.Processes[i]
		p.process(process.PID, process.Command)
	}
	for w := range report.AllPassing() {
		p.window(w)
	}
	c := counters{timeline: &p, alone: map[counterKey]*alone{}, ends: map[int]int64{}, last: map[counterKey]int64{}}
	c.print(report)
}
