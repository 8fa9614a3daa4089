package e2e

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ipytracer/model"
)

// strangersAsked are questions of strangers, by their file in testdata/reports, and what the first lines of the report
// must have and must not have. The truth is in the file.
var strangersAsked = map[string][]answerTo{
	"28_thread_child": {
		{"highest", `with its children`, true}, {"made by", `child processes 1 × 30\d\.\d\d MiB`, true},
	},
	"29_tie_highest": {
		{"highest", ` in In\[4\], line 1`, true}, {"made by", `^201\.00 MiB numpy In\[4\] line 1`, true},
		{"made by", `In\[3\]`, false},
	},
	"32_stacks_and_bytes": {
		{"made by", `^300\.\d\d MiB mapped .* go `, true}, {"made by", `\d\d\.\d\d MiB mapped .* start`, false},
	},
	"39_ended_children": {
		{"made by", `^400\.00 MiB numpy In\[3\] line 3`, true}, {"made by", `child processes 1 × 6\d\.\d\d MiB`, true},
	},
	"40_cow_needed": {
		{"made by", `^200\.00 MiB mapped In\[2\]`, true}, {"made by", `forked processes 2 × 5\d\.\d\d MiB`, true},
	},
}

// answerTo is a pattern that a line of the first screen matches, or does not match.
type answerTo struct {
	line, pattern string
	matches       bool
}

// TestReports asks what strangers asked: each notebook runs in a real kernel, and the first screen is compared with the
// truth.
func TestReports(t *testing.T) {
	together(t)
	for name, answers := range strangersAsked {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWorkload(t, place{driver: "run_reports.py"}, []string{name})
			recording := filepath.Join(t.TempDir(), "run.arrows")
			tr := attach(t, w.pid, "--budget", "off", "--record", recording)
			w.run()
			r, _ := tr.stop()
			if len(r.Accounts) != 2 || r.Accounts[0].At != model.AtHighest || r.Accounts[1].At != model.AtEnd {
				t.Errorf("accounts: %+v", r.Accounts)
			}
			out, err := exec.Command(binary, "report", recording).Output()
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(out), "\n\n")
			t.Log("\n" + first)
			of := answersIn(first)
			for _, a := range answers {
				if regexp.MustCompile(a.pattern).MatchString(of[a.line]) != a.matches {
					t.Errorf("%s: %q: %q must match: %v", a.line, of[a.line], a.pattern, a.matches)
				}
			}
		})
	}
}

// answersIn returns the first lines of a report by their questions, each in one piece.
func answersIn(first string) map[string]string {
	of, question := map[string]string{}, ""
	for line := range strings.SplitSeq(first, "\n") {
		if len(line) <= 13 {
			continue
		}
		if head := strings.TrimSpace(line[:13]); head != "" {
			question = head
		}
		of[question] = strings.TrimSpace(of[question] + " " + strings.TrimSpace(line[13:]))
	}
	return of
}
