package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// advised are the planted notebooks of TestAdvice, short ones, unless it is given others.
var advised = []string{"delete_frame", "output_head", "output_used_healthy", "signal_scores"}

// advisedNotebook is a notebook with the advice that it got, as scripts/advise.py prints it.
type advisedNotebook struct {
	Notebook string   `json:"notebook"`
	Line     string   `json:"line"`
	Faults   []string `json:"faults"`
}

// TestAdvice runs planted notebooks, asks for advice, follows the first piece, and runs them again: it must be the
// planted cause, save what it says within 5 %, and leave the outputs as they are. Healthy ones must get none.
// $TRACER_ADVICE names the notebooks, "all" for all of them, of which two may be wrong. `make test-advice` does that.
func TestAdvice(t *testing.T) {
	together(t)
	needModules(t, "sklearn", "matplotlib", "joblib", "torch", "pandas")
	files, allowed := notebooksToAdvise(t)
	args := append([]string{"../scripts/advise.py", "--tracer", binary, "--jobs", "2", "--json"}, files...)
	cmd := exec.Command(python(), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("advise.py: %v: %s", err, stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(files) {
		t.Fatalf("%d notebooks, %d results: %s", len(files), len(lines), stderr.String())
	}
	wrong := 0
	for _, line := range lines {
		var n advisedNotebook
		if err := json.Unmarshal([]byte(line), &n); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		t.Log(n.Line)
		if len(n.Faults) > 0 {
			wrong++
		}
	}
	if wrong > allowed {
		t.Errorf("%d of %d notebooks are wrong, and %d may be", wrong, len(files), allowed)
	}
}

// notebooksToAdvise returns the notebooks, and how many of them may be wrong.
func notebooksToAdvise(t *testing.T) (files []string, wrong int) {
	t.Helper()
	names := advised
	switch named := os.Getenv("TRACER_ADVICE"); named {
	case "":
	case "all":
		files, err := filepath.Glob("../testdata/advice/*.ipy")
		if err != nil || len(files) < 40 {
			t.Fatalf("%d notebooks: %v", len(files), err)
		}
		return files, 2
	default:
		names = strings.Split(named, ",")
	}
	for _, name := range names {
		files = append(files, filepath.Join("../testdata/advice", name+".ipy"))
	}
	return files, 0
}
