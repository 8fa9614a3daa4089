package e2e

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fiveAsked are the questions of users of five kinds of notebooks, and the line of the first screen that answers each.
// The truth is in the file.
var fiveAsked = map[string]map[string]answerTo{
	"five_frames": {
		"which cell":        {"highest", ` in In\[4\], `, true},
		"which line":        {"made by", `numpy In\[3\] line 1 · 183\.11 MiB numpy In\[4\] line 1`, true},
		"what to delete":    {"to free it", `^del rounded; .*'_5'.* \(183\.11 MiB\) · del sales \(183\.11 MiB\)`, true},
		"how low":           {"to free it", `→ leaves 1\d\d\.\d\d MiB`, true},
		"who else holds it": {"still there", `sales 183\.\d\d MiB · Out\[5\] \+ rounded 183\.\d\d MiB`, true},
	},
	"five_workers": {
		"which cell":        {"highest", ` in In\[4\], line 2, with its children `, true},
		"which line":        {"made by", `workers .* · 114\.44 MiB numpy In\[3\] line 2`, true},
		"what to delete":    {"to free it", `^del X \(114\.44 MiB\) · .*_executor\(\)\.shutdown\(\) \(`, true},
		"how low":           {"to free it", `→ leaves \d+\.\d\d MiB`, true},
		"who else holds it": {"still there", `2 workers \d+\.\d\d MiB .* · X 114\.44 MiB`, true},
	},
	"five_training": {
		"which cell": {"highest", ` in In\[4\], `, true},
		"which line": {"made by", `^3\d\d\.\d\d MiB torch In\[4\] line 3 `, true},
		"what to delete": {"to free it",
			`^del (history, data|data, history) \(≥ 39\d\.\d\d MiB\) → leaves at most \d+\.\d\d MiB$`, true},
		"how low":           {"to free it", `→ leaves at most [23]\d\d\.\d\d MiB`, true},
		"who else holds it": {"still there", `: (history \+ data|data \+ history) ≥ 39\d\.\d\d MiB`, true},
	},
	"five_images": {
		"which cell":        {"highest", ` in In\[4\], line 2[ :]`, true},
		"which line":        {"made by", `^180\.00 MiB numpy In\[3\] line 1`, true},
		"what to delete":    {"to free it", `^del thumb \(180\.00 MiB\)`, true},
		"how low":           {"to free it", `→ leaves \d\d\.\d\d MiB`, true},
		"who else holds it": {"still there", `: thumb 180\.00 MiB · `, true},
	},
	"five_objects": {
		"which cell":        {"highest", ` in In\[4\], line 1`, true},
		"which line":        {"made by", `^~14\d\.\d\d MiB resident In\[3\] line 1`, true},
		"what to delete":    {"to free it", `^del by_name, people \(15\d\.\d\d MiB\)`, true},
		"how low":           {"to free it", `→ leaves \d\d\.\d\d MiB`, true},
		"who else holds it": {"still there", `: by_name \+ people 15\d\.\d\d MiB`, true},
	},
}

// TestFiveQuestions asks the first screen which cell and which line took the memory, what to delete, how low memory
// gets then, and who else holds it. Then it types what is said.
func TestFiveQuestions(t *testing.T) {
	together(t)
	needModules(t, "pandas", "sklearn", "torch")
	for name, questions := range fiveAsked {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWorkload(t, place{driver: "run_reports.py"}, []string{name})
			recording := filepath.Join(t.TempDir(), "run.arrows")
			tr := attach(t, w.pid, "--record", recording)
			w.run()
			r, _ := tr.stop()
			out, err := exec.Command(binary, "report", recording).Output()
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(out), "\n\n")
			of := answersIn(first)
			for question, a := range questions {
				if regexp.MustCompile(a.pattern).MatchString(of[a.line]) != a.matches {
					t.Errorf("%s? %s %q must match: %v", question, a.line, of[a.line], a.pattern)
				}
			}
			w.keepsPromises(r, recording)
		})
	}
}
