package saved

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/session"
	"ipytracer/internal/report/formats"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// auditOptions are the flags of `tracer audit`.
type auditOptions struct {
	session.Options
	Least    string
	FailOver string
	Check    bool

	least    int64 // what check has read from Least, in bytes
	failOver int64 // what check has read from FailOver, in bytes; -1 for none
}

func (o *auditOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Least, "min", "1MiB", "leave out verdicts on less than this `SIZE`")
	flags.StringVar(&o.FailOver, "fail-over", "",
		"exit with status 5 if the verdicts of any meter add up to more than `SIZE`, 6 if that could not be judged")
	flags.BoolVar(&o.Check, "check", false, "report which memory under \"to free it\" has come back: "+
		"in the processes of a recording, or in PID, before and after you free it")
	o.StrictFlag(flags, "not everything could be judged")
	o.FindingFlags(flags, "audit")
	o.WatchFlags(flags, "audit")
	flags.BoolVar(&o.Full, "full", false, "leave nothing out of the text: list all memory that is still there, "+
		"by its holder and by the lines that made it")
	flags.BoolVar(&o.Heap, "heap", false,
		"of a running kernel: count every malloc and free as well; slows down programs that call them often")
	flags.BoolVar(&o.Native, "native", false,
		"show the C, C++ and Rust functions between the allocation and Python, too; costs more")
	flags.BoolVar(&o.SmallArrays, "small-arrays", false,
		"of a running kernel: count NumPy's blocks of less than 1,024 bytes as well; "+
			"costs more where many small arrays are made")
}

func newAuditCommand(c console.Console) *cobra.Command {
	var o auditOptions
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
		Args: console.Args(func(cmd *cobra.Command, args []string) error {
			if o.Check {
				return cobra.MaximumNArgs(1)(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !o.Check {
				return runAudit(cmd.Context(), o, c, args[0])
			}
			if err := checkFlags(&o.Options, cmd.Flags()); err != nil {
				return err
			}
			return runCheck(cmd.Context(), o.Options, c, args)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func runAudit(ctx context.Context, o auditOptions, c console.Console, target string) error {
	if err := o.check(); err != nil {
		return err
	}
	auditor := attribution.NewAuditor()
	s, err := session.New(&o.Options, c, auditor)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := replayOrWatch(ctx, s, target, "audits"); err != nil {
		return err
	}
	return o.conclude(auditor.Audit(o.least), s)
}

// check finds mistakes before any file is read and any process traced.
func (o *auditOptions) check() (err error) {
	if err := cmp.Or(o.CheckFinding(), o.CheckDuration()); err != nil {
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
	return nil
}

// size reads "100MiB", "1.5g" or a number of bytes. Units are powers of 1024.
func size(flag, text string) (int64, error) {
	n, err := words.ParseBytes(text)
	if err != nil {
		return 0, console.Usagef("%s %q: must be a size such as 100MiB, 2g or 0", flag, text)
	}
	return n, nil
}

// conclude prints the audit, and returns an error with the exit status that --fail-over and --strict demand.
func (o *auditOptions) conclude(a *model.Audit, s *session.Session) error {
	err := console.DeliverFinding(s.Document, formats.Audit, a)
	if err != nil {
		return err
	}
	if o.failOver >= 0 {
		for meter, bytes := range a.ByMeter() {
			if bytes > o.failOver {
				return console.Errorf(console.OverLimit, "the verdicts on %s add up to %s, more than %s",
					meter, words.Bytes(bytes), words.Bytes(o.failOver))
			}
		}
		if a.CanExceed(o.failOver) {
			return console.Errorf(console.NotJudged, "nothing more than %s was seen to stay behind, "+
				"but not everything could be judged; see \"Not judged\"", words.Bytes(o.failOver))
		}
	}
	if err := s.Ended(); err != nil {
		return err
	}
	var why []string
	for _, n := range a.NotJudged {
		why = append(why, n.Why)
	}
	return o.Proven(a.Complete, why)
}
