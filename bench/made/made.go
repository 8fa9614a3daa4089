// Package made writes recordings of made-up events, for benchmarks. Which events is for the caller to say; nothing is
// traced and nothing measured here.
package made

import (
	"log"
	"os"

	"ipytracer/event"
	"ipytracer/event/recording"
)

// Write records what events emits in a file, which must be writable, and returns how many that were. It ends the program where it cannot.
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
