package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/event/recording"
	"ipytracer/internal/host/privileges"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/tracer"
)

// Document is what a command prints, with everything that is needed to print it: the user who typed the command, that
// user's rights, and the place of the output.
type Document struct {
	Options  *Options
	Console  Console
	Who      *privileges.Invoker
	Rights   *privileges.Rights // the invoker's
	To       *Destination
	partials []partial // the recordings that are not whole
	Garbage  garbage
	// Beside is the session's recording; "" for none. Its folder is an alternative place for the output.
	Beside string
	// Once says that the output cannot be printed again, because it is of a session that is over.
	Once bool
}

// NewDocument finds the user who typed the command, and opens the place of the output.
func NewDocument(o *Options, c Console) (d *Document, err error) {
	d = &Document{Options: o, Console: c}
	if d.Who, err = privileges.FindInvoker(); err != nil {
		return nil, err
	}
	if d.Rights, err = d.Who.Rights(); err != nil {
		return nil, err
	}
	if d.To, err = o.open(d.Rights, c.Out); err != nil {
		d.Rights.Close()
		return nil, err
	}
	if d.To.File != nil {
		c.Signals.RemoveOnExit(d.To.File)
	}
	return d, nil
}

// Close removes an output that was not completed.
func (d *Document) Close() {
	d.To.Discard()
	d.Rights.Close()
}

// MaxNotebook is the largest size of a notebook, in bytes.
const MaxNotebook = 1 << 30

// ReadFile reads a file of at most maxSize bytes with the invoker's rights.
func (d *Document) ReadFile(path string, maxSize int64) ([]byte, error) {
	f, err := d.Rights.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if int64(len(data)) > maxSize {
		return nil, fmt.Errorf("read %s: it has more than %s", path, words.Bytes(maxSize))
	}
	return data, nil
}

// UserCommand returns a command that runs as the invoking user. It looks for the program with that user's rights, in
// the PATH that sudo has left.
func (d *Document) UserCommand(ctx context.Context, args ...string) (*exec.Cmd, error) {
	var path string
	err := d.Rights.Do(func() (err error) {
		path, err = exec.LookPath(args[0])
		return err
	})
	if err != nil {
		return nil, Usagef("run %s: %w", args[0], errors.Unwrap(err))
	}
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Args[0] = args[0]
	return cmd, d.Who.Dress(cmd)
}

// Seclude gives up, for good, all rights that printing a recording does not need, because a recording may come from any
// source. Call it once the recording and the place of the output are open. After that, the program can only read and
// write open files, and move the output to its place as the invoking user.
func (d *Document) Seclude() error {
	return Seclude(d.Who, d.To.File, nil, func(err error) {
		if os.Getuid() == 0 && !d.Options.Quiet {
			d.Console.Say("%v: the recording is read without that protection", err)
		}
	})
}

// Seclude leaves this program, for good, only the rights to read and write open files, to make the further system
// calls, and to move output to its place unless that is nil. It calls absent with each restriction that Linux lacks.
func Seclude(who *privileges.Invoker, output *privileges.File, further []privileges.Rule, absent func(error)) error {
	_, _ = time.Now().Zone() // reads the file of the time zone, which cannot be opened later
	user, keep := who.Heir(), []uint(nil)
	if Override(output) {
		user, keep = nil, []uint{unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER}
	}
	var paths privileges.Paths
	rules := slices.Concat(privileges.Program(), further)
	if output != nil {
		paths.Make, rules = []string{output.Folder()}, append(rules, privileges.Making()...)
	}
	if err := tracer.GiveUp(user, keep, paths, rules, absent); err != nil {
		return fmt.Errorf("give up what is not needed: %w", err)
	}
	return nil
}

// partial is a recording that is not whole.
type partial struct {
	path   string
	extent recording.Extent
}

// String says in one sentence how far the recording goes.
func (p partial) String() string {
	return PartialText(p.path, p.extent.String())
}

// PartialText says how far the recording in a file goes. Path and extent may come from any source.
func PartialText(path, extent string) string {
	return fmt.Sprintf("%s: %s; no figure of it is exact", escape.Bounded(path, 200), escape.Bounded(extent, 300))
}

// NotWhole notes that a recording is not whole.
func (d *Document) NotWhole(path string, extent recording.Extent) {
	if !slices.ContainsFunc(d.partials, func(p partial) bool { return p.path == path }) {
		d.partials = append(d.partials, partial{path, extent})
	}
}

// maxPartial is the most recordings that [Document.SayPartial] names.
const maxPartial = 5

// SayPartial reports the recordings that are not whole. With --strict, the error says so.
func (d *Document) SayPartial() {
	if d.Options.Strict.Any() {
		return
	}
	for i, p := range d.partials {
		if i == maxPartial {
			d.Console.Say("… and %d more are not whole", len(d.partials)-i)
			break
		}
		d.Console.Say("%v", p)
	}
}
