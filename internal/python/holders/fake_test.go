package holders

import (
	"context"
	"io"
	"runtime"
	"testing"
	"time"

	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/holderstest"
	"ipytracer/internal/python/holders/objects"
)

// fake is a made-up Python.
type fake struct{ *holderstest.Python }

const fakeMemory = holderstest.Base

func newFake(minor int) *fake { return &fake{holderstest.New(minor)} }

func eachVersion(t *testing.T, test func(t *testing.T, f *fake)) {
	holderstest.EachVersion(t, func(t *testing.T, f *holderstest.Python) { test(t, &fake{f}) })
}

// timed returns the processor time that this thread has taken since. Others may want the processors, so time itself
// shows little.
func timed() func() time.Duration {
	runtime.LockOSThread() // a test has a goroutine of its own
	began := objects.ProcessorTime()
	return func() time.Duration { return objects.ProcessorTime() - began }
}

// everything is all memory that a made-up process can have mapped.
var everything = []objects.Block{{Address: fakeMemory, Size: objects.UserSpace - fakeMemory}}

// find surveys and returns the holders of blocks.
func find(ctx context.Context, heap cpython.Heap, from io.ReaderAt, blocks []objects.Block,
	limits objects.Limits) (Result, error) {
	s, err := newSurvey(ctx, heap, from, Process{}, limits)
	if err != nil {
		return Result{}, err
	}
	defer s.Close()
	return s.Find(ctx, blocks, limits)
}

// List surveys and returns the objects by name.
func list(ctx context.Context, heap cpython.Heap, from io.ReaderAt, mapped []objects.Block,
	limits objects.Limits) (Listing, error) {
	s, err := newSurvey(ctx, heap, from, Process{Mapped: mapped}, limits)
	if err != nil {
		return Listing{}, err
	}
	defer s.Close()
	return s.List(ctx, limits)
}
