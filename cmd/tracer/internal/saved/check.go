package saved

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/cmd/tracer/internal/session"
	"ipytracer/event"
	"ipytracer/internal/companion"
	"ipytracer/internal/host/process"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/words"
	"ipytracer/model"
	"ipytracer/report"
	"ipytracer/tracer"
)

// checkFlagNames are the flags of `tracer audit` that may stand beside --check.
var checkFlagNames = []string{"check", "format", "output", "quiet", "duration", "ready-file", "verbose"}

// checkFlags returns the first mistake in the flags of `tracer audit --check`; nil if there is none.
func checkFlags(o *session.Options, flags *pflag.FlagSet) (err error) {
	flags.Visit(func(flag *pflag.Flag) {
		if err == nil && !slices.Contains(checkFlagNames, flag.Name) {
			err = console.Usagef("--check only looks which of the objects that were to be freed are there still: "+
				"--%s does not go with it", flag.Name)
		}
	})
	return cmp.Or(err, o.CheckDuration(), console.CheckFormat(o.Format, "text", "json"))
}

// checking finds out, by a second look at processes, which memory has come back that an earlier look said to free.
type checking struct {
	session *session.Session
	live    *tracer.Session
	result  model.Check
}

// runCheck looks at the processes of a recording, or at one process before and after its user has freed memory.
func runCheck(ctx context.Context, o session.Options, c console.Console, args []string) error {
	s, err := session.New(&o, c, attribution.New())
	if err != nil {
		return err
	}
	defer s.Close()
	k := &checking{
		session: s,
		result:  model.Check{Processes: []model.CheckProcess{}, Checked: []model.Checked{}, ToFree: []model.Freeing{}},
	}
	who, known, err := k.targets(ctx, args)
	if err != nil {
		return err
	}
	options, err := o.TracerOptions(c)
	if err != nil {
		return err
	}
	options.NoStacks, options.Glances = true, checkEvery
	if k.live, err = s.Attach(ctx, who, options); err != nil {
		return err
	}
	defer k.live.Close()
	if known == nil {
		known, err = k.promise(ctx, who[0])
	}
	if err == nil {
		err = k.check(ctx, known)
	}
	if err != nil {
		return err
	}
	return s.Deliver("check", func(w io.Writer) error { return k.print(w, &o) })
}

// targets returns the processes to look at. known has what a recording promised about them, nil without a recording.
func (k *checking) targets(ctx context.Context, args []string) (who []process.Identity, known []promise, err error) {
	s := k.session
	if len(args) == 0 {
		who, err = inventory.Choose(ctx, s.Console, false, "audit --check")
		return who, nil, err
	}
	if _, err := strconv.Atoi(args[0]); err == nil && !s.Rights.Exists(args[0]) {
		pids, err := console.ParsePIDs(args)
		return inventory.Named(pids), nil, err
	}
	all, err := readPromises(ctx, s, args[0])
	if err != nil {
		return nil, nil, err
	}
	if s.Options.Duration > 0 {
		return nil, nil, console.Usagef("--duration goes with --check PID: with a recording, --check looks once, " +
			"without waiting")
	}
	for _, p := range all {
		if isGone(p.Identity) {
			k.result.Processes = append(k.result.Processes, model.CheckProcess{PID: p.PID, Ended: true})
			continue
		}
		who, known = append(who, p.Identity), append(known, p)
	}
	if len(known) == 0 {
		return nil, nil, console.Usagef("%s of %s has ended: its memory has come back",
			inventory.Describe(identities(all)), args[0])
	}
	return who, known, nil
}

func identities(promises []promise) (who []process.Identity) {
	for _, p := range promises {
		who = append(who, p.Identity)
	}
	return who
}

// isGone reports whether a process has ended.
func isGone(id process.Identity) bool {
	current, err := process.FS{}.Identity(id.PID)
	if err != nil {
		return errors.Is(err, process.ErrNoProcess) || errors.Is(err, process.ErrZombie)
	}
	return current.StartTicks != id.StartTicks
}

// checkEvery is the interval of a session's events, after each of which [checking.wait] looks for the Enter key.
const checkEvery = 250 * time.Millisecond

// errEnded says that a process ended during a look.
var errEnded = errors.New("it has ended")

// look finds the names of a process, and which of the watched objects still exist.
func (k *checking) look(ctx context.Context, pid int, watch []event.Piece) (*event.Looked, error) {
	progress := console.StartProgress(k.session.Console.Err, k.session.Options.Quiet, "looking at objects")
	defer progress.Stop()
	for begun := false; ; {
		begun = begun || k.live.Looks.FindVariablesOf(pid, watch)
		e, err := k.next()
		switch found, ok := e.(*event.Looked); {
		case err != nil:
			return nil, fmt.Errorf("process %d: %w", pid, err)
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case ok && int(found.PID) == pid:
			return found, nil
		}
	}
}

// next returns the session's next event. It takes no context: when the user ends the waiting, the second look is still
// to come.
func (k *checking) next() (event.Event, error) {
	e, err := k.live.Next(context.Background())
	if errors.Is(err, io.EOF) {
		err = errEnded
	}
	return e, err
}

// promise looks at a process, prints the code that frees memory, and waits until the user may have run it.
func (k *checking) promise(ctx context.Context, who process.Identity) ([]promise, error) {
	found, err := k.look(ctx, who.PID, nil)
	if err != nil {
		return nil, err
	}
	if found.Variables == nil {
		return nil, fmt.Errorf("process %d could not be looked at: %s",
			who.PID, cmp.Or(found.Why, "nothing is known of its objects"))
	}
	p := promise{Identity: who}
	p.Free, p.Pieces = checkable(session.ToFree(found.Variables))
	p.Memory = found.Variables.Memory
	if len(p.Free) == 0 {
		return []promise{p}, nil
	}
	c := k.session.Console
	if !k.session.Options.Quiet {
		if err := sheet.ToFree(p.Free).Text(c.Err, console.Screen(c.Err)); err != nil {
			return nil, err
		}
	}
	return []promise{p}, k.wait(ctx)
}

// wait waits until the user presses Enter or Ctrl-C, or until --duration is over.
func (k *checking) wait(ctx context.Context) error {
	c, o := k.session.Console, k.session.Options
	var timeout <-chan time.Time
	how := "Ctrl-C looks again"
	if o.Duration > 0 {
		timeout, how = time.After(o.Duration), "in "+words.Duration(int64(o.Duration))+" the tracer looks again"
	}
	entered := pressed(c.In)
	if !o.Quiet {
		fmt.Fprintf(c.Err, "\ntracer: run the line that frees it in a cell, then press Enter here; %s\n", how)
	}
	for {
		select {
		case <-entered:
			return nil
		case <-ctx.Done():
			return nil
		case <-timeout:
			return nil
		default:
		}
		if _, err := k.next(); err != nil {
			return err
		}
	}
}

// pressed returns a channel that is closed once there is a line to read. The end of standard input is not a line.
func pressed(in io.Reader) <-chan struct{} {
	signal.Ignore(syscall.SIGTTIN) // a background process cannot read from its terminal
	out := make(chan struct{})
	go func() {
		if _, err := bufio.NewReader(in).ReadSlice('\n'); err == nil || errors.Is(err, bufio.ErrBufferFull) {
			close(out)
		}
	}()
	return out
}

// check looks at each process, and adds to the result which of its promised memory has come back.
func (k *checking) check(ctx context.Context, known []promise) error {
	if ctx.Err() != nil { // Ctrl-C has ended the waiting, and must not end the look
		ctx = context.WithoutCancel(ctx)
	}
	for _, p := range known {
		looked := model.CheckProcess{PID: p.PID}
		found, err := k.look(ctx, p.PID, slices.Concat(p.Pieces...))
		switch {
		case errors.Is(err, errEnded) && isGone(p.Identity):
			looked.Ended = true
		case err != nil:
			return err
		case found.Variables == nil:
			looked.Why = cmp.Or(found.Why, "nothing is known of its objects")
		default:
			free, _ := session.ToFree(found.Variables)
			k.result.ToFree = append(k.result.ToFree, free...)
			k.result.Checked = append(k.result.Checked, companion.CameBack(p.Free, p.Pieces, found.Still,
				companion.Fell{Before: p.Memory, After: found.Variables.Memory})...)
		}
		k.result.Processes = append(k.result.Processes, looked)
	}
	nothingChecked := len(k.result.Checked) == 0
	if nothingChecked && len(known) == 1 && len(known[0].Free) > 0 {
		only := k.result.Processes[len(k.result.Processes)-1]
		if only.Ended {
			return console.Usagef("process %d has ended: its memory has come back", only.PID)
		}
		return fmt.Errorf("process %d could not be looked at: %s",
			only.PID, strings.TrimSuffix(cmp.Or(only.Why, "the look was cut short"), "."))
	}
	return nil
}

func (k *checking) print(w io.Writer, o *session.Options) error {
	if o.Format == "json" {
		return report.CheckJSON(w, &k.result)
	}
	return sheet.Check(&k.result).Text(w, console.Screen(w))
}
