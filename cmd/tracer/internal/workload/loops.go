package workload

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

// The names of the loops.
const (
	LoopFaults = "loop-faults" // fresh pages touched, one fault each
	LoopFalls  = "loop-falls"  // pages freed, one call each
	LoopMaps   = "loop-maps"   // a megabyte mapped and unmapped
)

// loops are workloads without a truth, for measurements: each line on standard input is answered by the nanoseconds of
// one operation.
var loops = map[string]func(io.Reader, io.Writer) error{
	LoopFaults: loopOf(2048, timeFaults),
	LoopFalls:  loopOf(512, timeFalls),
	LoopMaps:   loopOf(1000, timeMaps),
}

func loopOf(operations int, timed func(int) time.Duration) func(io.Reader, io.Writer) error {
	return func(in io.Reader, out io.Writer) error {
		debug.SetGCPercent(-1)
		runtime.LockOSThread()
		one := make([]byte, 1)
		for {
			if _, err := io.ReadFull(in, one); err != nil {
				return nil // no more questions
			}
			spent := timed(operations)
			if _, err := fmt.Fprintln(out, float64(spent.Nanoseconds())/float64(operations)); err != nil {
				return err
			}
		}
	}
}

// timeFaults touches fresh pages, one fault each.
func timeFaults(pages int) time.Duration {
	size := os.Getpagesize()
	m := mapMemory(-1, pages*size, readWrite, anonymous)
	defer unmap(m)
	_ = unix.Madvise(m, unix.MADV_NOHUGEPAGE)
	began := time.Now()
	for i := 0; i < len(m); i += size {
		m[i] = 1
	}
	return time.Since(began)
}

// timeFalls frees pages, one call each: resident falls each time.
func timeFalls(pages int) time.Duration {
	size := os.Getpagesize()
	m := mapMemory(-1, pages*size, readWrite, anonymous)
	defer unmap(m)
	_ = unix.Madvise(m, unix.MADV_NOHUGEPAGE)
	for i := 0; i < len(m); i += size {
		m[i] = 1
	}
	began := time.Now()
	for i := 0; i < len(m); i += size {
		_ = unix.Madvise(m[i:i+size], unix.MADV_DONTNEED)
	}
	return time.Since(began)
}

// timeMaps maps and unmaps a megabyte that is never touched.
func timeMaps(pairs int) time.Duration {
	began := time.Now()
	for range pairs {
		unmap(mapMemory(-1, mib, readWrite, anonymous))
	}
	return time.Since(began)
}
