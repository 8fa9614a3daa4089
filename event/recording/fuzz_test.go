package recording

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/hostile"
)

// FuzzReader feeds the reader anything. With the checksums ignored the mutations reach the decoder. An accepted
// recording must also end as it should.
func FuzzReader(f *testing.F) {
	whole := record(f, session(), 0)
	f.Add(whole, true)
	f.Add(whole, false)
	f.Add(record(f, session(), 3), true)
	f.Add(schemaOnly(f), true)
	hostile.Fuzz(f, 64<<20, func(t *testing.T, file []byte, ignoreChecksums bool) {
		r, err := open(bytes.NewReader(file), ignoreChecksums)
		if err != nil {
			if !errors.Is(err, ErrNotRecording) && !errors.Is(err, ErrVersion) {
				t.Fatalf("open: %v", err)
			}
			return
		}
		var last event.Event
		for {
			e, err := r.Next(context.Background())
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("next: %v", err)
			}
			last = e
		}
		if last == nil {
			t.Fatal("a recording ended without a Finish")
		}
	})
}
