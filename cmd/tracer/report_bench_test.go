package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"testing"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/event"
	"ipytracer/event/recording"
	"ipytracer/internal/attributiontest"
)

var longCells = flag.Int("cells", 1000, "how many cells of ten statements the benchmarks' notebook has")

// longRecording returns the recording of a long notebook.
func longRecording(b *testing.B) []byte {
	b.Helper()
	var to bytes.Buffer
	w, err := recording.NewWriter(&to, "bench")
	if err != nil {
		b.Fatal(err)
	}
	attributiontest.Notebook(func(e event.Event) {
		if err := w.Write(e); err != nil {
			b.Fatal(err)
		}
	}, *longCells, 10)
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return to.Bytes()
}

// replayed reads a recording to its end.
func replayed(b *testing.B, from []byte, take func(event.Event)) {
	source, err := recording.Open(bytes.NewReader(from))
	if err != nil {
		b.Fatal(err)
	}
	if err := source.Each(context.Background(), take); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkReport measures a report of a long notebook, step by step.
func BenchmarkReport(b *testing.B) {
	from := longRecording(b)
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			replayed(b, from, func(event.Event) {})
		}
	})
	tracker := attribution.New()
	replayed(b, from, tracker.Add)
	b.Run("take", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			replayed(b, from, attribution.New().Add)
		}
	})
	for _, format := range []string{"json", "csv", "text"} {
		b.Run(format, func(b *testing.B) {
			b.ReportAllocs()
			o := console.Options{Format: format}
			for b.Loop() {
				if err := o.Print(io.Discard, tracker.Stream(), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
