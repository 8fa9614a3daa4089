package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"ipytracer/internal/code/cuda"
	"ipytracer/internal/host/invoker"
	"ipytracer/internal/ledger"
)

// newBareCommand returns a command for the benchmark: probes that do nothing, at the places where a session would place
// its own.
func newBareCommand(console) *cobra.Command {
	var ready string
	cmd := &cobra.Command{
		Use:    "bare-probes PID LIBRARY",
		Short:  "Put probes that do nothing where those on a GPU library would be, until interrupted",
		Hidden: true,
		Args:   usageArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			pid, err := strconv.Atoi(args[0])
			if err != nil {
				return usageError{fmt.Errorf("%q is not a pid", args[0])}
			}
			return runBare(cmd.Context(), pid, args[1], ready)
		},
	}
	cmd.Flags().StringVar(&ready, "ready-file", "", "create `FILE` once the probes are in place")
	return cmd
}

func runBare(ctx context.Context, pid int, library, ready string) error {
	kind, ok := cuda.KindOf(library)
	if !ok {
		return usageError{fmt.Errorf("%s is not a library that sessions put probes on", library)}
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
