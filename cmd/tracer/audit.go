package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ipytracer/attribution"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/internal/words"
	"ipytracer/model"
	"ipytracer/report"
)

// AuditOptions are the flags of `tracer audit`.
type AuditOptions struct {
	SessionOptions
	Least    string
	FailOver string
	Check    bool

	least, failOver int64 // bytes; failOver is -1 without a limit
}

// addFlags defines the flags.
func (o *AuditOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Least, "min", "1MiB", "leave out verdicts on less than this `SIZE`")
	f.StringVar(&o.FailOver, "fail-over", "",
		"exit with status 5 if the verdicts of any meter add up to more than `SIZE`, 6 if that could not be judged")
	f.BoolVar(&o.Check, "check", false, "report which memory under \"to free it\" has come back: "+
		"in the processes of a recording, or in PID, before and after you free it")
	o.strictFlag(f, "not everything could be judged")
	f.StringVar(&o.Format, "format", "text",
		"the `FORMAT` of the audit: text, json, markdown or html (a page without scripts)")
	f.StringVarP(&o.File, "output", "o", "", "write the audit to `FILE` instead of standard output")
	f.BoolVar(&o.NoSource, "no-source", false, "keep the notebook's source out of every output")
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "no live lines and no progress, only the audit")
	f.BoolVar(&o.Full, "full", false, "leave nothing out of the text: list all memory that is still there, "+
		"by its holder and by the lines that made it")
	f.DurationVar(&o.Duration, "duration", 0, "of a running kernel: stop after this `TIME`, such as 30s or 10m")
	f.StringVar(&o.Budget, "budget", "3%",
		"of a running kernel: what probes may cost, as a `SHARE` of the session's time, or 'off'")
	f.IntVar(&o.Ring, "ring", 4096, "of a running kernel: size of the ring of changes in `KiB`, a power of two")
	f.StringVar(&o.Record, "record", "", "of a running kernel: write everything to `FILE` as well")
	f.BoolVar(&o.Force, "force", false, "let --record overwrite a file")
	f.StringVar(&o.ReadyFile, "ready-file", "", "of a running kernel: create `FILE` once every probe is in place")
	f.BoolVar(&o.Heap, "heap", false,
		"of a running kernel: count every malloc and free as well; slows down programs that call them often")
	f.BoolVar(&o.Native, "native", false,
		"show the C, C++ and Rust functions between the allocation and Python, too; costs more")
	f.BoolVar(&o.SmallArrays, "small-arrays", false, "of a running kernel: count NumPy's blocks of less than 1,024 "+
		"bytes as well; costs more where many small arrays are made")
	f.BoolVarP(&o.Verbose, "verbose", "v", false, "log to standard error")
}

func newAuditCommand(c console) *cobra.Command {
	var o AuditOptions
	cmd := &cobra.Command{
		Use:   "audit {FILE | PID}",
		Short: "Find memory that stays behind: who made it, who holds it, what to do",
		Long: `Find memory that stays behind, in a recording or in a running kernel.

A recording is one of 'tracer attach --record' or 'tracer run --record'. A running kernel is watched until Ctrl-C or
for --duration; its Python objects are read in the end, from outside, to say what holds each block that is left.

Verdicts: grows with each run of a cell; held after its cell; held by a traceback or by the output history; reserved
by PyTorch but in pieces; processes that never ended; pools of idle workers; freed late; never freed. A list says
what could not be judged, and why: only an audit without such a list is an all-clear.

--check says which memory that a report or an audit had under "to free it" has come back. With the recording of that
session it looks at its processes once. With a PID it looks, says what to type, waits for Enter, and looks again;
without one it takes the only kernel there is.`,
		Example: "  tracer audit run.arrows\n  sudo tracer audit 4242 --duration 10m\n" +
			"  tracer audit run.arrows --fail-over 100MiB --format json\n  sudo tracer audit --check run.arrows\n" +
			"  sudo tracer audit --check 4242",
		Args: usageArgs(func(cmd *cobra.Command, args []string) error {
			if o.Check {
				return cobra.MaximumNArgs(1)(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !o.Check {
				return runAudit(cmd.Context(), o, c, args[0])
			}
			if err := o.checkAgain(cmd.Flags()); err != nil {
				return err
			}
			return runCheck(cmd.Context(), o, c, args)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func runAudit(ctx context.Context, o AuditOptions, c console, target string) error {
	if err := o.check(); err != nil {
		return err
	}
	auditor := attribution.NewAuditor()
	s, err := newSession(&o.SessionOptions, c, auditor)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.replayOrWatch(ctx, target, "audits"); err != nil {
		return err
	}
	return o.conclude(auditor.Audit(o.least), s)
}

// check finds mistakes before any file is read and any process traced.
func (o *AuditOptions) check() (err error) {
	if err := checkFormat(o.Format, "text", "json", "markdown", "html"); err != nil {
		return err
	}
	if o.least, err = size("--min", o.Least); err != nil {
		return err
	}
	o.failOver = -1
	if o.FailOver != "" {
		if o.failOver, err = size("--fail-over", o.FailOver); err != nil {
			return err
		}
	}
	if o.Duration < 0 {
		return usageError{errors.New("--duration cannot be negative")}
	}
	return nil
}

// size reads "100MiB", "1.5g" or a number of bytes; units are powers of 1024, as in every report.
func size(flag, text string) (int64, error) {
	n, err := words.ParseBytes(text)
	if err != nil {
		return 0, usageError{fmt.Errorf("%s %q: it is a size such as 100MiB, 2g or 0", flag, text)}
	}
	return n, nil
}

// replayOrWatch reads a recording to its end or, if the target is the number of a process and no file, follows that
// running kernel until the user or the duration ends it.
func (s *session) replayOrWatch(ctx context.Context, target, does string) error {
	pid, err := strconv.Atoi(target)
	if err != nil || s.rights.Exists(target) {
		return s.replay(ctx, target)
	}
	options, err := s.options.tracerOptions(s.console)
	if err != nil {
		return err
	}
	options.Holders = true
	if pid <= 0 {
		return usageError{fmt.Errorf("%d is not a process id; 'tracer kernels' lists them", pid)}
	}
	return s.attached(ctx, named([]int{pid}), options, does)
}

// conclude prints the audit and returns its verdict as an error with a status.
func (o *AuditOptions) conclude(a *model.Audit, s *session) error {
	if err := s.deliver("audit", func(w io.Writer) error { return o.print(w, a) }); err != nil {
		return err
	}
	if o.failOver >= 0 {
		for meter, bytes := range a.ByMeter() {
			if bytes > o.failOver {
				return leakError(fmt.Sprintf("the verdicts on %s add up to %s, more than %s",
					meter, words.Bytes(bytes), words.Bytes(o.failOver)))
			}
		}
		if a.CanExceed(o.failOver) {
			return notJudgedError(fmt.Sprintf("nothing more than %s was seen to stay behind, "+
				"but not everything could be judged; see \"Not judged\"", words.Bytes(o.failOver)))
		}
	}
	if s.trouble != nil {
		return errIncomplete
	}
	if err := s.endedEarly(); err != nil {
		return err
	}
	var why []string
	for _, n := range a.NotJudged {
		why = append(why, n.Why)
	}
	return o.proven(a.Complete, why)
}

func (o *AuditOptions) print(w io.Writer, a *model.Audit) error {
	if o.NoSource {
		a = report.AuditWithoutSource(a)
	}
	page := sheet.AuditOptions{Who: text.Who, Title: text.VerdictTitle, Full: o.Full || o.Format == "html"}
	switch o.Format {
	case "json":
		return report.AuditJSON(w, a)
	case "markdown":
		return sheet.AuditMarkdown(w, a, page)
	case "html":
		return sheet.AuditHTML(w, a, page)
	}
	return text.Audit(w, a, text.Options{Color: colored(w), Width: width(w), Full: o.Full})
}
