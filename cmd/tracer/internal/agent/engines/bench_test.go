package engines

import (
	"bytes"
	"compress/gzip"
	"context"
	"math/rand/v2"
	"testing"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/model"
)

// usualCell returns a cell with the meters that every kernel has.
func usualCell(r *rand.Rand, k *telemetry.Kernel, i int) *telemetry.Cell {
	c := cellOf(k, i, 0)
	for _, meter := range []string{"cpu.mapped", telemetry.Resident, "cpu.resident.anon", "cpu.resident.file",
		"cpu.resident.shmem", "cpu.numpy"} {
		start := r.Int64N(1<<20) << 12
		c.Window.Meters[meter] = model.Figure{Start: start, Peak: start + r.Int64N(1<<18)<<12,
			End: start + r.Int64N(1<<10)<<12, Exact: true}
	}
	return c
}

// BenchmarkCell is the part of a span that the reader of the kernels' events waits for.
func BenchmarkCell(b *testing.B) {
	c := usualCell(rand.New(rand.NewPCG(1, 2)), kernelOf(1), 1)
	s := &Sink{queue: make(chan *spanRecord, 1)}
	for b.Loop() {
		s.Cell(c)
		<-s.queue
	}
}

// BenchmarkSpan is the rest: a span, its message and its compression, in batches of 256, and its size.
func BenchmarkSpan(b *testing.B) {
	s := &Sink{traces: newTraces(), queue: make(chan *spanRecord, maxBatch)}
	s.origin = origin{config: &Spans{}, users: func() bool { return true }}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	r := rand.New(rand.NewPCG(1, 2))
	k := kernelOf(1)
	var cells []*telemetry.Cell
	for i := range maxBatch {
		cells = append(cells, usualCell(r, k, i))
	}
	n, plain, packed := 0, 0, 0
	for b.Loop() {
		if n++; n%maxBatch != 0 {
			continue
		}
		for _, c := range cells {
			s.Cell(c)
		}
		raw, err := proto.Marshal(&coltracepb.ExportTraceServiceRequest{ResourceSpans: s.gather(over, <-s.queue).spans})
		if err != nil {
			b.Fatal(err)
		}
		var to bytes.Buffer
		w := gzip.NewWriter(&to)
		_, _ = w.Write(raw)
		_ = w.Close()
		plain, packed = len(raw), to.Len()
	}
	b.ReportMetric(float64(plain)/maxBatch, "B/span")
	b.ReportMetric(float64(packed)/maxBatch, "sent-B/span")
}
