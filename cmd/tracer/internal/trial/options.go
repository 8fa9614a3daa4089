package trial

import (
	"cmp"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"ipytracer/cmd/tracer/internal/output"
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/internal/host/invoker"
)

// tryOptions are the flags of `tracer try`.
type tryOptions struct {
	output.Options
	advice     string        // numbers of advice, such as 1,3
	adviceFrom string        // the file that has the advice, instead of a recording of the first run
	all        bool          // each piece of advice alone, then together
	patch      string        // the file of a unified diff
	with       string        // the file of another version of the notebook
	changed    string        // the file that the changed notebook goes to
	force      bool          // changed overwrites a file
	seed       string        // of random numbers; "" for none
	runs       int           // of each version of the notebook
	python     string        // the program that starts the kernel
	kernel     string        // the name of its specification; "" for the notebook's own
	user       string        // that root runs the notebook as
	folder     string        // to run in; "" for the notebook's own
	timeout    time.Duration // of one run
	within     Tolerance     // of numbers
	onErrors   bool          // go on behind a cell that fails
	yes        bool          // do not ask before the notebook runs

	numbers []int  // of the advice
	number  *int64 // the seed; nil for none
}

// Bounds on a trial.
const (
	maxTries  = 20                  // runs of each version of the notebook
	maxTrying = 30 * 24 * time.Hour // one run
)

// check finds mistakes before anything is read.
func (o *tryOptions) check() (err error) {
	if err := cmp.Or(output.CheckFormat(o.Format, "text", "json"), output.CheckMeter(o.By)); err != nil {
		return err
	}
	if o.numbers, err = adviceNumbers(o.advice); err != nil {
		return err
	}
	asked := 0
	for _, is := range []bool{o.advice != "", o.all, o.patch != "", o.with != ""} {
		if is {
			asked++
		}
	}
	switch {
	case asked != 1:
		return status.Usagef(
			"the change to try is missing: give one of --patch FILE, --with FILE, --advice NUMBERS and --all")
	case (o.patch != "" || o.with != "") && o.adviceFrom != "":
		return status.Usagef("--advice-from goes with --advice or --all")
	case o.runs < 1 || o.runs > maxTries:
		return status.Usagef("-n %d: must be a number from 1 to %d", o.runs, maxTries)
	case o.timeout <= 0 || o.timeout > maxTrying:
		return status.Usagef("--timeout %s: must be a time of up to %s", o.timeout, maxTrying)
	case !(o.within.Rel >= 0) || !(o.within.Abs >= 0) || math.IsInf(o.within.Rel, 0) || math.IsInf(o.within.Abs, 0):
		return status.Usagef("--rtol and --atol must be numbers from 0")
	}
	if o.seed != "" {
		n, err := strconv.ParseInt(o.seed, 10, 64)
		if err != nil || n < 0 {
			return status.Usagef("--seed %q: must be a whole number from 0", o.seed)
		}
		o.number = &n
	}
	return nil
}

// adviceNumbers reads "1,3".
func adviceNumbers(text string) (all []int, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > 1000 {
			return nil, status.Usagef("--advice %q: must be numbers of advice, such as 1,3", text)
		}
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all, nil
}

var errTryAsRoot = status.Usagef("the notebook's code would run as root: " +
	"type 'sudo tracer try …' as yourself, " +
	"or name the user to run it as: --user NAME")

// asWhom makes sure that the notebook does not run as root.
func (o *tryOptions) asWhom() error {
	who, err := invoker.Find()
	if err != nil {
		return err
	}
	switch {
	case o.user == "" && who.UID == 0:
		return errTryAsRoot
	case o.user == "":
		return nil
	case who.UID != 0 || os.Geteuid() != 0:
		return status.Usagef("--user is for root itself: with sudo the notebook runs as the one who typed it")
	}
	named, err := invoker.Named(o.user)
	if err != nil {
		return status.Usage(err)
	}
	return named.Lend()
}
