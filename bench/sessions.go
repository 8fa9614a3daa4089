package main

import (
	"flag"
	"fmt"
	"log"
	"os"

	"ipytracer/event"
	"ipytracer/event/recording"
	"ipytracer/internal/attributiontest"
)

// sessions writes a recording of a made-up session: of a long or a busy notebook, or of a target that tries to exhaust
// the tracer's memory.
func sessions(arguments []string) {
	flags := flag.NewFlagSet("sessions", flag.ExitOnError)
	kind := flags.String("kind", "notebook", "notebook, busy, open, flood, pairs, crowd or anything")
	n := flags.Int("n", 20_000, "how many cells, events (busy), experiments, markers, processes or steps")
	seed := flags.Uint64("seed", 1, "of anything")
	to := flags.String("o", "", "`FILE` to write")
	_ = flags.Parse(arguments)
	events := write(*to, func(emit func(event.Event)) {
		switch *kind {
		case "notebook":
			attributiontest.Notebook(emit, *n, 10)
		case "busy":
			busy(emit, *n)
		case "open":
			attributiontest.LeftOpen(emit, *n, 2**n)
		case "flood":
			attributiontest.Flood(emit, *n, false)
		case "pairs":
			attributiontest.Flood(emit, *n, true)
		case "crowd":
			attributiontest.Crowd(emit, *n, 20)
		case "anything":
			attributiontest.Anything(emit, *seed, *n)
		default:
			log.Fatalf("-kind %s is not known", *kind)
		}
	})
	fmt.Printf("%d events\n", events)
}

// write calls produce, records the events that it emits in a file, and returns their number. It ends the program if the
// file cannot be written.
func write(path string, produce func(emit func(event.Event))) (written int) {
	f, err := os.Create(path)
	if err != nil {
		log.Fatal(err)
	}
	w, err := recording.NewWriter(f, "bench")
	if err != nil {
		log.Fatal(err)
	}
	produce(func(e event.Event) {
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
