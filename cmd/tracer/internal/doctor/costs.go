package doctor

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"

	"ipytracer/internal/ledger"
	"ipytracer/internal/words"
)

func (d *Diagnosis) measureUprobes(l *ledger.Ledger) {
	c, err := l.Accounts.Calibrate()
	if err != nil {
		d.Unseen = append(d.Unseen, fmt.Sprintf("what a uprobe costs: %v", err))
		return
	}
	d.addHitCosts(c)
}

// addHitCosts adds the measured costs of a hit. It adds a finding if they are higher than on most machines, or
// uncertain.
func (d *Diagnosis) addHitCosts(c ledger.Costs) {
	if c.AreDear() {
		d.add("traps", "traps", Reduced, "%s", words.DearTraps(int64(c.Emulated), int64(c.Stepped), c.Noisy))
	} else if c.Noisy {
		d.add("traps", "traps", Unknown, "the costs of a hit did not agree, and the highest are shown: other work, or "+
			"a clock that moves in steps")
	}
	hit := func(id, name string, ns float64) Cost { return Cost{ID: id, Name: name, Added: ns, Low: ns, High: ns} }
	d.Costs = append(d.Costs, hit("uprobe.emulated", "uprobe, emulated instruction", float64(c.Emulated)),
		hit("uprobe.stepped", "uprobe, single-stepped instruction", float64(c.Stepped)))
}

// costPairs is the number of pairs of measurements, each without and then with the probes.
const costPairs = 15

// measureHandlers measures page faults and mmap/munmap pairs in a traced and in an untraced process, each with the
// ledger's probes and without. It takes turns, so that other work of the machine affects all measurements.
func (d *Diagnosis) measureHandlers(ctx context.Context, l *ledger.Ledger) {
	for root, m := range []struct{ loop, id, name string }{
		{LoopFaults, "page_fault", "page fault"},
		{LoopMaps, "mmap_munmap", "mmap and munmap of 1 MiB"},
	} {
		samples, err := measureLoop(ctx, l, uint32(root), m.loop)
		if err != nil {
			d.Unseen = append(d.Unseen, fmt.Sprintf("what a %s costs: %v", m.name, err))
			continue
		}
		d.Costs = append(d.Costs, samples[0].cost(m.id+".traced", m.name+", traced process"),
			samples[1].cost(m.id+".untraced", m.name+", any other process"))
	}
}

// pairs are measurements in ns, without and with the probes.
type pairs struct{ without, with []float64 }

func (p pairs) cost(id, name string) Cost {
	var ratios, added []float64
	for i := range p.without {
		ratios = append(ratios, p.with[i]/p.without[i])
		added = append(added, p.with[i]-p.without[i])
	}
	return Cost{
		ID: id, Name: name, Base: median(p.without), Added: median(added), Ratio: median(ratios),
		Low: quantile(added, 0.25), High: quantile(added, 0.75),
	}
}

func median(values []float64) float64 { return quantile(values, 0.5) }

func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}

// measureLoop returns the pairs of a traced process and of an untraced one.
func measureLoop(ctx context.Context, ledger *ledger.Ledger, root uint32, name string) (out [2]pairs, err error) {
	var loops [2]*Loop
	for i := range loops {
		if loops[i], err = StartLoop(ctx, name); err != nil {
			return out, err
		}
		defer loops[i].Close()
		if _, err := loops[i].Ask(); err != nil { // waits until the loop is running
			return out, err
		}
	}
	if _, err := ledger.Processes.AttachProcess(root, loops[0].PID(), 0); err != nil {
		return out, err
	}
	for range costPairs {
		err := ledger.Tracepoints.Beside(func() error {
			return askEach(loops, func(i int, ns float64) { out[i].without = append(out[i].without, ns) })
		})
		if err != nil {
			return out, err
		}
		err = askEach(loops, func(i int, ns float64) { out[i].with = append(out[i].with, ns) })
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// askEach measures both loops, after a collection of garbage. It discards the first answer of each loop, because caches
// are cold.
func askEach(loops [2]*Loop, report func(i int, ns float64)) error {
	runtime.GC()
	for i, l := range loops {
		if _, err := l.Ask(); err != nil {
			return err
		}
		ns, err := l.Ask()
		if err != nil {
			return err
		}
		report(i, ns)
	}
	return nil
}

// PrintCosts prints a line for some operations, with three times in ns: of the operation in a traced process, and of
// the tracer's program for each event in that process and in an untraced one. On an emulated machine whose clock counts
// instructions (scripts/cost.sh), the figures are instructions.
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
		{LoopFaults, l.Tracepoints.ResidentWork},
		{LoopFalls, l.Tracepoints.ResidentWork},
		{LoopMaps, l.Tracepoints.MappedWork},
	} {
		loop, err := StartLoop(context.Background(), c.loop)
		if err != nil {
			return err
		}
		defer loop.Close()
		_, other, err := perEvent(loop, c.work)
		if err != nil {
			return err
		}
		if _, err := l.Processes.AttachProcess(uint32(root), loop.PID(), 0); err != nil {
			return err
		}
		operation, traced, err := perEvent(loop, c.work)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "cost %s %.0f %.0f %.0f\n", c.loop, operation, traced, other)
	}
	return nil
}

// perEvent returns the time of an operation, and the time that the program took for each event meanwhile, in ns.
func perEvent(l *Loop, work func() (ledger.Work, error)) (operation, event float64, err error) {
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
