package trial

import (
	"cmp"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/host/privileges"
)

// tryOptions are the flags of `tracer try`.
type tryOptions struct {
	console.Options
	advice     string        // numbers of advice, such as 1,3
	adviceFrom string        // the file that has the advice, instead of a recording of the first run
	all        bool          // each piece of advice alone, then together
	patch      string        // the file of a unified diff
	with       string        // the file of another version of the notebook
	changed    string        // the file that the changed notebook goes to
	force      bool          // overwrite that file
	seed       string        // of random numbers; "" for none
	runs       int           // of each version of the notebook
	python     string        // the program that starts the kernel
	kernel     string        // the name of its specification; "" for the notebook's own
	user       string        // the user that root runs the notebook as
	folder     string        // the folder that the cells run in; "" for the notebook's own
	timeout    time.Duration // of one run
	within     Tolerance     // of numbers
	onErrors   bool          // go on behind a cell that fails
	yes        bool          // do not ask before the notebook runs

	adviceNumbers []int  // what check has read from advice
	seedNumber    *int64 // what check has read from seed; nil for none
}

// Bounds on a trial.
const (
	maxRuns    = 20                  // of each version of the notebook
	maxTimeout = 30 * 24 * time.Hour // of one run
)

// check finds mistakes in the flags, and reads their numbers.
func (o *tryOptions) check() (err error) {
	if err := cmp.Or(console.CheckFormat(o.Format, "text", "json"), console.CheckMeter(o.By)); err != nil {
		return err
	}
	if o.adviceNumbers, err = adviceNumbers(o.advice); err != nil {
		return err
	}
	changes := 0
	for _, given := range []bool{o.advice != "", o.all, o.patch != "", o.with != ""} {
		if given {
			changes++
		}
	}
	switch {
	case changes != 1:
		return console.Usagef(
			"the change to try is missing: give one of --patch FILE, --with FILE, --advice NUMBERS and --all")
	case (o.patch != "" || o.with != "") && o.adviceFrom != "":
		return console.Usagef("--advice-from goes with --advice or --all")
	case o.runs < 1 || o.runs > maxRuns:
		return console.Usagef("-n %d: must be a number from 1 to %d", o.runs, maxRuns)
	case o.timeout <= 0 || o.timeout > maxTimeout:
		return console.Usagef("--timeout %s: must be a time of up to %s", o.timeout, maxTimeout)
	case !isTolerance(o.within.Rel) || !isTolerance(o.within.Abs):
		return console.Usagef("--rtol and --atol must be numbers from 0")
	}
	if o.seed != "" {
		n, err := strconv.ParseInt(o.seed, 10, 64)
		if err != nil || n < 0 {
			return console.Usagef("--seed %q: must be a whole number from 0", o.seed)
		}
		o.seedNumber = &n
	}
	return nil
}

// isTolerance reports whether x is a finite number from 0.
func isTolerance(x float64) bool { return x >= 0 && !math.IsInf(x, 0) }

// adviceNumbers reads a list of numbers such as "1,3", without repetitions.
func adviceNumbers(text string) (numbers []int, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > 1000 {
			return nil, console.Usagef("--advice %q: must be numbers of advice, such as 1,3", text)
		}
		if !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

var errTryAsRoot = console.Usagef("the notebook's code would run as root: " +
	"type 'sudo tracer try …' as yourself, " +
	"or name the user to run it as: --user NAME")

// chooseUser makes sure that the notebook does not run as root. It applies --user.
func (o *tryOptions) chooseUser() error {
	who, err := privileges.FindInvoker()
	if err != nil {
		return err
	}
	switch {
	case o.user == "" && who.UID == 0:
		return errTryAsRoot
	case o.user == "":
		return nil
	case who.UID != 0 || os.Geteuid() != 0:
		return console.Usagef("--user is for root itself: with sudo the notebook runs as the one who typed it")
	}
	named, err := privileges.NamedInvoker(o.user)
	if err != nil {
		return console.Usage(err)
	}
	return named.Lend()
}
