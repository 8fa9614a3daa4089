package inventory

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestNoEnd: AskLook returns an answer, though the process that looks prints nothing and does not end, or prints
// something and does not end. As many such processes as are allowed are left behind, and others are started again as
// these end.
func TestNoEnd(t *testing.T) {
	for name, says := range map[string]string{"silent": "", "after its answer": `{"Found": 1}`} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			var started atomic.Int32
			k := &asker{slots: make(chan struct{}, maxAsking)}
			k.start = func(context.Context, []string, bool) (*child, error) {
				started.Add(1)
				out := io.Reader(strings.NewReader(says))
				if says == "" {
					out = reader(func(p []byte) (int, error) { <-release; return 0, io.EOF })
				}
				return &child{out: out, wait: func() error { <-release; return nil }}, nil
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // as if its time were over
			errs := make(chan error, maxAsking)
			for range maxAsking {
				go func() {
					_, err := k.ask(ctx, nil)
					errs <- err
				}()
			}
			for range maxAsking {
				select {
				case err := <-errs:
					if !errors.Is(err, context.Canceled) {
						t.Errorf("%v", err)
					}
				case <-time.After(time.Minute):
					t.Fatal("who asks waits")
				}
			}
			if _, err := k.ask(ctx, nil); !errors.Is(err, ErrLooking) || started.Load() != maxAsking {
				t.Errorf("%v, after %d", err, started.Load())
			}
			close(release)
			awaitRoom(t, k)
			if _, err := k.ask(t.Context(), nil); errors.Is(err, ErrLooking) {
				t.Error(err)
			}
		})
	}
}

// awaitRoom waits until all room is given back.
func awaitRoom(t *testing.T, k *asker) {
	t.Helper()
	late := time.After(time.Minute)
	for range cap(k.slots) {
		select {
		case k.slots <- struct{}{}:
		case <-late:
			t.Fatal("the room is not given back")
		}
	}
	for range cap(k.slots) {
		<-k.slots
	}
}

type reader func(p []byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }
