package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// TestAdviseWhoHolds asks for advice about some 160 ways in which something holds memory at the highest moment and not
// at the end. Only what is marked as free may be exact, and a trial confirms all that is within 5 %. It takes a third
// of them, by turns.
func TestAdviseWhoHolds(t *testing.T) {
	together(t)
	needModules(t, "pandas", "sklearn", "scipy", "torch")
	leastExact := map[string]int{"numpy": 5}
	for i, name := range []string{"libraries", "numpy", "python"} {
		if !isItsTurn(i, 3) {
			continue
		}
		least := leastExact[name]
		t.Run(name, func(t *testing.T) {
			cells, free := heldCells(t, name)
			a := advisedFor(t, cells)
			a.Items = slices.DeleteFunc(a.Items, func(i model.AdviceItem) bool {
				return i.Accuracy != model.SavesExact
			})
			for _, item := range a.Items {
				if len(item.Names) != 1 || !slices.Contains(free, item.Names[0]) {
					t.Errorf("%s %v is said to be exact", item.Kind, item.Names)
				}
			}
			if len(a.Items) < least {
				t.Errorf("%d pieces are exact, want %d", len(a.Items), least)
			}
			if len(a.Items) > 0 && !t.Failed() {
				confirmed(t, cells, a)
			}
		})
	}
}

// heldCells returns the cells of a file of testdata/holders, and the names whose memory nothing else holds.
func heldCells(t *testing.T, name string) (cells, free []string) {
	t.Helper()
	text, err := os.ReadFile("../testdata/holders/" + name + ".ipy")
	if err != nil {
		t.Fatal(err)
	}
	parts := regexp.MustCompile(`(?m)^# %%(.*)\n`).FindAllSubmatchIndex(text, -1)
	for i, p := range parts {
		end := len(text)
		if i+1 < len(parts) {
			end = parts[i+1][0]
		}
		cell := strings.TrimSpace(string(text[p[1]:end]))
		cells = append(cells, cell)
		if strings.TrimSpace(string(text[p[2]:p[3]])) == "free" {
			made, _, _ := strings.Cut(cell, " ")
			free = append(free, made)
		}
	}
	return cells, free
}

// advisedFor records a session of cells, and returns the advice for it.
func advisedFor(t *testing.T, cells []string) *model.Advice {
	t.Helper()
	n := startNotebook(t, nil)
	recording := filepath.Join(t.TempDir(), "run.arrows")
	tr := attach(t, n.pid, "--record", recording)
	for _, cell := range cells {
		n.runs(cell)
	}
	tr.stop()
	out, err := exec.Command(binary, "advise", "--quiet", "--format", "json", recording).Output()
	var a model.Advice
	if err = errors.Join(err, json.Unmarshal(out, &a)); err != nil || len(a.Items) == 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	return &a
}

// confirmed tries all pieces of advice together, and checks that they save what they promise, within 5 %.
func confirmed(t *testing.T, cells []string, a *model.Advice) {
	t.Helper()
	dir := nobodysFolder(t)
	path, from := notebookFile(t, dir, "a.ipynb", cells...), filepath.Join(dir, "advice.json")
	var numbers []string
	said := int64(0)
	for i := range a.Items {
		a.Items[i].Number = i + 1
		numbers, said = append(numbers, fmt.Sprint(i+1)), said+a.Items[i].Saves
	}
	out, err := json.Marshal(a)
	if err = errors.Join(err, os.WriteFile(from, out, 0o644)); err != nil {
		t.Fatal(err)
	}
	r, status, errs := try(t, path, "--advice-from", from, "--advice", strings.Join(numbers, ","), "-n", "1",
		"--allow-errors")
	if status != 0 || len(r.Variants) != 1 {
		t.Fatalf("status %d\n%s", status, errs)
	}
	if got := r.Variants[0].Saved[0].Median; got < said*95/100 || got > said*105/100 {
		t.Errorf("%d pieces save %d, said %d", len(numbers), got, said)
	}
	t.Logf("%d exact pieces are confirmed", len(numbers))
}
