package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf"
)

// atTracepoints are the tracer's programs at tracepoints, by their names in the kernel.
var atTracepoints = map[string]bool{"resident": true, "mapped": true, "process_fork": true, "process_exec": true,
	"process_exit": true}

// passed returns the number of events for which the kernel did not run each copy of the tracer's programs at
// tracepoints, because the CPU was already running it for another thread. It reads the kernel's own list, in the order
// in which they were loaded.
func passed() (map[string][]uint64, error) {
	all := map[string][]uint64{}
	for id := ebpf.ProgramID(0); ; {
		var err error
		if id, err = ebpf.ProgramGetNextID(id); errors.Is(err, os.ErrNotExist) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("list the BPF programs: %w", err)
		}
		if err := missedBy(id, all); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return all, nil
}

func missedBy(id ebpf.ProgramID, all map[string][]uint64) error {
	p, err := ebpf.NewProgramFromID(id)
	if err != nil {
		return err
	}
	defer p.Close()
	info, err := p.Info()
	if err != nil {
		return err
	}
	if !atTracepoints[info.Name] || p.Type() != ebpf.RawTracepoint {
		return nil
	}
	stats, err := p.Stats()
	if err != nil {
		return err
	}
	all[info.Name] = append(all[info.Name], stats.RecursionMisses)
	return nil
}
