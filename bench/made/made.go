// Package made writes recordings of made-up events, for benchmarks. The caller chooses the events; nothing is traced
// and nothing measured here.
package made

import (
	"log"
	"os"

	"ipytracer/event"
	"ipytracer/event/recording"
)

// Write records the events that events emits in a file, and returns their number. It ends the program if the file
// cannot be written.
func Write(path string, events func(emit func(event.Event))) (written int) {
	f, err := os.Create(path)
	if err != nil {
		log.Fatal(err)
	}
	w, err := recording.NewWriter(f, "bench")
	if err != nil {
		log.Fatal(err)
	}
	events(func(e event.Event) {
		if err := w.Write(e); err != nil {
			log.Fatal(err)
		}
		written++
	})
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
	return written
}
