package recording

import (
	"bytes"
	"context"
	"io"
	"testing"

	"ipytracer/event"
)

// counter counts the bytes that pass.
type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) { c.n += int64(len(p)); return len(p), nil }

func benchmarkWrite(b *testing.B, boundaryEvery int) {
	const count = 1_000_000
	list := changes(count)
	boundary := filled(distinct())[2]
	var out counter
	b.ReportAllocs()
	for b.Loop() {
		out.n = 0
		w, err := NewWriter(&out, "1.2.3")
		if err != nil {
			b.Fatal(err)
		}
		for i := range list {
			if boundaryEvery > 0 && i%boundaryEvery == 0 {
				if err := w.Write(boundary); err != nil {
					b.Fatal(err)
				}
			}
			if err := w.Write(&list[i]); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/event")
	b.ReportMetric(float64(out.n)/count, "B/event")
}

func BenchmarkWrite(b *testing.B)           { benchmarkWrite(b, 0) }
func BenchmarkWriteBoundaries(b *testing.B) { benchmarkWrite(b, 1000) }

func BenchmarkRead(b *testing.B) {
	const count = 1_000_000
	var events []event.Event
	for _, c := range changes(count) {
		events = append(events, &c)
	}
	file := record(b, events, 0)
	b.ReportAllocs()
	for b.Loop() {
		r, err := Open(bytes.NewReader(file))
		if err != nil {
			b.Fatal(err)
		}
		for {
			if _, err := r.Next(context.Background()); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/event")
}
