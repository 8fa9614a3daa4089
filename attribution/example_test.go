package attribution_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/klauspost/compress/zstd"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/event/recording"
)

// open returns a recording of a session.
func open() *recording.Reader {
	file, err := os.Open("../testdata/gpu/h200/expandable.arrows.zst")
	if err != nil {
		log.Fatal(err)
	}
	plain, err := zstd.NewReader(file)
	if err != nil {
		log.Fatal(err)
	}
	r, err := recording.Open(plain)
	if err != nil {
		log.Fatal(err)
	}
	return r
}

// The events of a recording, or of a live session, give the peak of each cell.
func ExampleTracker() {
	tracker := attribution.New()
	if err := open().Each(context.Background(), tracker.Add); err != nil {
		log.Fatal(err)
	}
	for window := range tracker.Report().All() {
		if memory := window.Meters["gpu.0.active"]; window.Kind == "cell" && memory.Peaked > 10<<30 {
			fmt.Printf("cell %d: peak %d bytes, exact: %v\n", window.Execution, memory.Peak, memory.Exact)
		}
	}
	// Output: cell 3: peak 22548578304 bytes, exact: true
}

// A monitor hands out each cell when it has closed, and keeps nothing of it: a session may be of any length.
func ExampleMonitor() {
	monitor := attribution.NewMonitor()
	err := open().Each(context.Background(), func(e event.Event) {
		monitor.Add(e)
		for _, window := range monitor.Finished() {
			if resident := window.Meters["cpu.resident"]; resident.Consumed > 256<<20 {
				fmt.Printf("cell %d keeps %d bytes\n", window.Execution, resident.Consumed)
			}
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// cell 1 keeps 603426816 bytes
	// cell 6 keeps 342646784 bytes
	// cell 7 keeps 335192064 bytes
	// cell 16 keeps 269164544 bytes
}
