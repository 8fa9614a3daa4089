package session

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/host/filecache"
	"ipytracer/internal/host/limit"
	"ipytracer/internal/host/privileges"
	"ipytracer/tracer"
)

// Options are the flags of the commands that trace.
type Options struct {
	console.Options
	// Record is the file that gets every event while it happens; "" without one.
	Record string
	// Force lets Record overwrite a file.
	Force bool
	// ReadyFile is created, with the tracer's process id in it, once every probe is in place; "" without one.
	ReadyFile string
	// Duration ends the session; 0 without an end.
	Duration time.Duration
	// Budget is what probes may cost, as [ParseBudget] reads it.
	Budget string
	// Ring is the size of the ring of changes in KiB, a power of two.
	Ring int
	// NoStacks leaves out who allocates.
	NoStacks bool
	// Native adds the C, C++ and Rust functions to stacks.
	Native bool
	// Heap counts every malloc and free.
	Heap bool
	// NoPreload has probes see malloc's blocks of a command that could count them itself.
	NoPreload bool
	// SmallArrays counts NumPy's blocks of less than 1,024 bytes as well.
	SmallArrays bool
	// Counters adds page faults, switches and the processor's counts to the report.
	Counters bool
	// Copies counts what forked processes copy.
	Copies bool
	// Limit is the most that each process may map: a size, "auto", or "" for no limit.
	Limit string
	// NoCache neither reads nor writes the cache of the places of probes.
	NoCache bool
	// Verbose logs more than warnings.
	Verbose bool
}

// AddFlags defines the flags.
func (o *Options) AddFlags(f *pflag.FlagSet) {
	o.Options.AddFlags(f)
	f.StringVar(&o.Record, "record", "",
		"write everything to `FILE` while it happens; 'tracer report FILE' prints it again")
	f.BoolVar(&o.Force, "force", false, "let --record overwrite a file")
	f.StringVar(&o.ReadyFile, "ready-file", "",
		"create `FILE`, with the tracer's process ID, once every probe is in place")
	f.StringVar(&o.Budget, "budget", "3%", "what probes may cost, as a `SHARE` of the session's time, or 'off'; "+
		"resident and mapped are never stepped down")
	f.IntVar(&o.Ring, "ring", 4096,
		"size of the ring of changes in `KiB`, a power of two; a small one loses proof, never peaks")
	f.BoolVar(&o.Heap, "heap", false,
		"count every malloc and free, as the meter cpu.heap; where probes see them, that slows down programs that "+
			"call them often")
	f.BoolVar(&o.NoStacks, "no-stacks", false,
		"do not find out who allocates; costs less where many small arrays are made")
	f.BoolVar(&o.Native, "native", false,
		"show the C, C++ and Rust functions between the allocation and Python, too; costs more")
	f.BoolVar(&o.SmallArrays, "small-arrays", false,
		"count NumPy's blocks of less than 1,024 bytes as well; costs more where many small arrays are made")
	f.BoolVar(&o.Counters, "counters", false, "count page faults and context switches of each window, "+
		"and instructions, cycles and cache misses where the machine does")
	f.BoolVar(&o.Copies, "copies", false, "count what forked processes copy of the memory that they share; costs each "+
		"page fault of the machine some 80 ns")
	f.StringVar(&o.Limit, "limit", "",
		"let each process map `SIZE` at most, such as 8GiB, or 'auto': a MemoryError instead of the OOM killer")
	f.BoolVar(&o.NoCache, "no-cache", false,
		"find out anew where probes go, and keep nothing of it for the next attach")
	f.BoolVarP(&o.Verbose, "verbose", "v", false, "log to standard error")
}

// WatchFlags defines the flags of a command that reads a recording or watches a running kernel.
func (o *Options) WatchFlags(f *pflag.FlagSet, what string) {
	f.Lookup("quiet").Usage = "no live lines and no progress, only the " + what
	f.DurationVar(&o.Duration, "duration", 0, "of a running kernel: stop after this `TIME`, such as 30s or 10m")
	f.StringVar(&o.Budget, "budget", "3%",
		"of a running kernel: what probes may cost, as a `SHARE` of the session's time, or 'off'")
	f.IntVar(&o.Ring, "ring", 4096, "of a running kernel: size of the ring of changes in `KiB`, a power of two")
	f.StringVar(&o.Record, "record", "", "of a running kernel: write everything to `FILE` as well")
	f.BoolVar(&o.Force, "force", false, "let --record overwrite a file")
	f.StringVar(&o.ReadyFile, "ready-file", "", "of a running kernel: create `FILE` once every probe is in place")
	f.BoolVarP(&o.Verbose, "verbose", "v", false, "log to standard error")
}

// CheckDuration finds a mistake in --duration.
func (o *Options) CheckDuration() error {
	if o.Duration < 0 {
		return console.Usagef("--duration must not be negative")
	}
	return nil
}

// TracerOptions checks the flags and turns them into a session's options.
func (o *Options) TracerOptions(c console.Console) (tracer.Options, error) {
	if err := cmp.Or(o.Check(), o.CheckGPU(), o.CheckDuration()); err != nil {
		return tracer.Options{}, err
	}
	budget, err := ParseBudget(o.Budget)
	if err != nil {
		return tracer.Options{}, console.Usage(err)
	}
	if o.Ring < 4 || o.Ring&(o.Ring-1) != 0 || o.Ring > 1<<20 {
		return tracer.Options{}, console.Usagef("--ring %d: must be a power of two from 4", o.Ring)
	}
	limit, err := parseLimit(o.Limit)
	if err != nil {
		return tracer.Options{}, err
	}
	who, err := privileges.FindInvoker()
	if err != nil {
		return tracer.Options{}, err
	}
	if o.Native && o.NoStacks {
		return tracer.Options{}, console.Usagef("--native and --no-stacks exclude each other")
	}
	return tracer.Options{
		Log: c.Logger(o.Verbose), Version: c.Version, Budget: budget, ChangeRing: o.Ring << 10, NoStacks: o.NoStacks,
		Native: o.Native, Heap: o.Heap, HeapProbes: o.NoPreload,
		Holders: o.Record != "", SmallArrays: o.SmallArrays, Counters: o.Counters, Copies: o.Copies, Limit: limit,
		MayLimit: who.MayChange, Cache: o.cache(),
	}, nil
}

// cache returns the folder of the cache for the places of probes, "" for none.
func (o *Options) cache() string {
	if o.NoCache {
		return ""
	}
	return filecache.Folder
}

// ParseBudget reads "3%" or "0.03" as 0.03, and "off" as -1.
func ParseBudget(text string) (float64, error) {
	if text == "off" {
		return -1, nil
	}
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share > 0 && share <= 1) {
		return 0, fmt.Errorf("--budget %q: must be a share of the time such as 3%%, or 'off'", text)
	}
	return share, nil
}

func parseLimit(text string) (limit.Size, error) {
	if text == "" {
		return limit.Size{}, nil
	}
	size, err := limit.Parse(text)
	if err != nil {
		return size, console.Usagef("--limit %w", err)
	}
	return size, nil
}
