package helpers

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/internal/code/cuda"
	"ipytracer/internal/host/invoker"
	"ipytracer/internal/ledger"
)

// newBareCommand returns a command for the benchmark: probes that do nothing, at the places where a session would place
// its own.
func newBareCommand() *cobra.Command {
	var ready string
	cmd := status.Hidden("bare-probes PID LIBRARY",
		"Put probes that do nothing where those on a GPU library would be, until interrupted", cobra.ExactArgs(2),
		func(cmd *cobra.Command, args []string) error {
			pids, err := status.ParsePIDs(args[:1])
			if err != nil {
				return err
			}
			return runBare(cmd.Context(), pids[0], args[1], ready)
		})
	cmd.Flags().StringVar(&ready, "ready-file", "", "create `FILE` once the probes are in place")
	return cmd
}

func runBare(ctx context.Context, pid int, library, ready string) error {
	kind, ok := cuda.KindOf(library)
	if !ok {
		return status.Usagef("%s is not a library that sessions put probes on", library)
	}
	who, err := invoker.Find()
	if err != nil {
		return err
	}
	rights, err := who.Rights()
	if err != nil {
		return err
	}
	defer rights.Close()
	f, err := rights.Open(library)
	if err != nil {
		return err
	}
	defer f.Close()
	sites, err := cuda.Find(f, kind)
	if err != nil {
		return err
	}
	l, err := ledger.Load(ledger.Options{})
	if err != nil {
		return err
	}
	defer l.Close()
	enter, leave := ledger.Placement{Program: ledger.CalibrateEntry}, ledger.Placement{Program: ledger.CalibrateReturn}
	placements := []ledger.Placement{}
	for _, site := range sites.Driver {
		enter.Offsets, leave.Offsets = append(enter.Offsets, site.Offset), append(leave.Offsets, site.Offset)
	}
	if len(leave.Offsets) > 0 {
		placements = append(placements, leave)
	}
	if sites.Report.Symbol != "" {
		enter.Offsets = append(enter.Offsets, sites.Report.Offset)
	}
	probes, err := l.Probes.Probe(f, pid, append(placements, enter))
	if err != nil {
		return err
	}
	defer probes.Close()
	if ready != "" {
		sign, err := rights.Create(ready, false)
		if err != nil {
			return err
		}
		if err := errors.Join(sign.Commit(), sign.Close()); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}
