package doctor

import (
	"context"
	"fmt"
	"io"

	"ipytracer/cmd/tracer/internal/workload"
	"ipytracer/internal/ledger"
)

// PrintCosts prints for some operations their time in a traced process, and the time of the tracer's program for each
// event, there and in another process; in nanoseconds. On an emulated machine with a clock that counts instructions
// (scripts/cost.sh), the figures are instructions.
func PrintCosts(w io.Writer) error {
	l, err := ledger.Load(ledger.Options{})
	if err != nil {
		return err
	}
	defer l.Close()
	counting, err := l.Tracepoints.CountWork()
	if err != nil {
		return err
	}
	defer counting.Close()
	for root, c := range []struct {
		loop string
		work func() (ledger.Work, error)
	}{
		{workload.LoopFaults, l.Tracepoints.ResidentWork},
		{workload.LoopFalls, l.Tracepoints.ResidentWork},
		{workload.LoopMaps, l.Tracepoints.MappedWork},
	} {
		of, err := workload.StartLoop(context.Background(), c.loop)
		if err != nil {
			return err
		}
		defer of.Close()
		_, other, err := perEvent(of, c.work)
		if err != nil {
			return err
		}
		if _, err := l.Processes.AttachProcess(uint32(root), of.PID(), 0); err != nil {
			return err
		}
		operation, traced, err := perEvent(of, c.work)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "cost %s %.0f %.0f %.0f\n", c.loop, operation, traced, other)
	}
	return nil
}

// perEvent returns the time of an operation, and the time of the program for each event meanwhile.
func perEvent(l *workload.Loop, work func() (ledger.Work, error)) (operation, event float64, err error) {
	if _, err = l.Ask(); err != nil { // warm up
		return 0, 0, err
	}
	before, err := work()
	if err != nil {
		return 0, 0, err
	}
	if operation, err = l.Ask(); err != nil {
		return 0, 0, err
	}
	after, err := work()
	if err != nil {
		return 0, 0, err
	}
	return operation, float64(after.Spent-before.Spent) / float64(max(1, after.Runs-before.Runs)), nil
}
