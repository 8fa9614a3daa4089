// Storms runs storms of processes and threads under the tracer, and compares its figures with their own. They begin,
// fork, execute programs and end at the same time (c/storm.c). Every process ends once, no boundary is missing, and
// every process's, the session's and the tree's peak is the known one. With -aligned, a program that only delays makes
// them meet at the tracer's tracepoints (c/align.bpf.c), which two CPUs otherwise seldom do.
//
//	storms -program storm [-aligned] [-percent N] [-only exits,execs]   prints a JSON object a storm
//	storms -beside tracer,python3 -- tracer selftest                    runs a command while such threads meet
//
// It is not part of the product: scripts/kernels.sh runs it on other kernels, and its test runs it on this one.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
	"time"

	"ipytracer/internal/ledger"
)

// storm is one of the storms of c/storm.c.
type storm struct {
	name   string
	rounds int
}

// storms lists all storms, each with a number of rounds that gives all about the same duration.
var storms = []storm{{"exits", 100}, {"forks", 40}, {"execs", 50}, {"threads", 100}}

// errWrong reports that a storm's figures are wrong.
var errWrong = errors.New("a storm's figures are wrong")

func main() {
	log.SetFlags(0)
	log.SetPrefix("storms: ")
	var o options
	flag.StringVar(&o.program, "program", "", "c/storm.c, compiled")
	flag.IntVar(&o.percent, "percent", 100, "of the usual number of rounds")
	flag.StringVar(&o.only, "only", "", "run only these storms, by name")
	flag.BoolVar(&o.together, "together", false, "one after the other in one session")
	flag.BoolVar(&o.aligned, "aligned", false, "have threads meet")
	flag.DurationVar(&o.meeting, "meeting", 200*time.Microsecond,
		"how far the instants are apart at which threads meet")
	beside := flag.String("beside", "", "run a command while threads of these `names` meet")
	flag.Parse()
	var err error
	if *beside != "" {
		err = runBeside(flag.Args(), strings.Split(*beside, ","), o.meeting)
	} else {
		err = o.run(context.Background())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// options are the flags of the program.
type options struct {
	program, only string
	percent       int
	together      bool
	aligned       bool
	meeting       time.Duration
}

// run runs the storms one after another and prints the result of each.
func (o *options) run(ctx context.Context) error {
	wrong := 0
	for _, s := range o.sessions() {
		r, err := o.runSession(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", names(s), err)
		}
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		fmt.Println(string(text))
		if !r.Right {
			wrong++
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%w (%d of them, Linux %s)", errWrong, wrong, ledger.KernelRelease())
	}
	return nil
}

// sessions returns the requested storms of each session: one storm, or all with -together.
func (o *options) sessions() (sessions [][]storm) {
	for _, s := range storms {
		if o.only != "" && !strings.Contains(","+o.only+",", ","+s.name+",") {
			continue
		}
		s.rounds = max(4, s.rounds*o.percent/100)
		if o.together && len(sessions) > 0 {
			sessions[0] = append(sessions[0], s)
		} else {
			sessions = append(sessions, []storm{s})
		}
	}
	return sessions
}

// names joins the names of storms.
func names(storms []storm) string {
	names := []string{}
	for _, s := range storms {
		names = append(names, s.name)
	}
	return strings.Join(names, ", ")
}

// patience is the time limit of a session; an emulated machine may need it.
const patience = 20 * time.Minute

// runSession runs storms in one session, and compares their figures.
func (o *options) runSession(ctx context.Context, storms []storm) (r Result, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := time.Now()
	if o.aligned {
		a, failed := align(o.meeting, []string{"storm", "exe"})
		if failed != nil {
			return r, failed
		}
		defer func() { _ = a.Close() }()
		defer func() { err = errors.Join(err, r.setWaits(a.waits())) }()
	}
	s, err := trace(ctx, o.program, storms)
	if err != nil {
		return r, err
	}
	r = judge(s)
	r.Storm, r.Aligned, r.Seconds = names(storms), o.aligned, time.Since(began).Seconds()
	return r, nil
}

// setWaits sets the number of waits, and fails the result if there were none: then no threads met. It returns err.
func (r *Result) setWaits(waits uint64, err error) error {
	if r.Waits = waits; err == nil && waits == 0 {
		r.fail("no thread has waited: nothing was aligned")
	}
	return err
}

// runBeside runs a command while threads with these names meet.
func runBeside(command, names []string, meeting time.Duration) (err error) {
	if len(command) == 0 {
		return errors.New("-beside wants a command")
	}
	a, err := align(meeting, names)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	n, err := a.waits()
	if err == nil && n == 0 {
		err = errors.New("no thread has waited: the names are of none")
	}
	return err
}
