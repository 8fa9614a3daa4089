// Sessions writes a recording of a session that is made up: a long notebook, or a target that wants the tracer's
// memory.
//
//	go run ./bench/sessions -kind notebook -n 20000 -o long.arrows
package main

import (
	"flag"
	"fmt"
	"log"

	"ipytracer/bench/made"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
)

func main() {
	log.SetFlags(0)
	kind := flag.String("kind", "notebook", "notebook, open, flood, pairs, crowd or anything")
	n := flag.Int("n", 20_000, "how many cells, experiments, markers, processes or steps")
	seed := flag.Uint64("seed", 1, "of anything")
	to := flag.String("o", "", "`FILE` to write")
	flag.Parse()
	events := made.Write(*to, func(emit func(event.Event)) {
		switch *kind {
		case "notebook":
			attributiontest.Notebook(emit, *n, 10)
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
