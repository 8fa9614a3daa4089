package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/event/recording"
	"ipytracer/internal/attributiontest"
	"ipytracer/model"
)

// TestIntoWritesFiguresIntoNotebooks runs the program on a recording and on notebooks of its sources.
func TestIntoWritesFiguresIntoNotebooks(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	tracerPath := filepath.Join(t.TempDir(), "tracer")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", tracerPath, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	folder := t.TempDir()
	run, notebook := filepath.Join(folder, "run.arrows"), filepath.Join(folder, "nb.ipynb")
	sources, recorded := recordedNotebook(t)
	write(t, run, recorded, 0o600)
	text := notebookOf(t, append(sources, "edited()"))
	write(t, notebook, text, 0o640)
	into := reportCommand(t, tracerPath)
	said := into(0, run, "--into", notebook, "--into-output")
	if !strings.Contains(said, "5 of 6 cells with code have figures") ||
		!strings.Contains(said, "cell 6 has none: no cell of this session has its source") {
		t.Errorf("%s", said)
	}
	first := read(t, notebook)
	if bytes.Equal(first, text) || bytes.Count(first, []byte("<table>")) != 5 {
		t.Errorf("%s", first)
	}
	if st, err := os.Stat(notebook); err != nil || st.Mode().Perm() != 0o640 {
		t.Errorf("%v %v", st.Mode(), err)
	}
	into(0, run, "--into", notebook, "--into-output")
	if !bytes.Equal(read(t, notebook), first) {
		t.Error("a second time changes it")
	}
	into(0, "--into", notebook, "--remove")
	if !bytes.Equal(read(t, notebook), text) {
		t.Error("what is taken out is not what was put in")
	}
	checkRefusals(t, into, folder, text, recorded)
}

// recordedNotebook records a notebook, and returns the sources of its cells as well.
func recordedNotebook(t *testing.T) (sources []string, recorded []byte) {
	t.Helper()
	tracker := attribution.New()
	var to bytes.Buffer
	w, err := recording.NewWriter(&to, "test")
	if err != nil {
		t.Fatal(err)
	}
	attributiontest.Notebook(func(e event.Event) {
		tracker.Add(e)
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}, 5, 3)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := tracker.Report()
	for i := range r.Windows {
		if r.Windows[i].Kind == model.Cell {
			sources = append(sources, r.Windows[i].Source)
		}
	}
	return sources, to.Bytes()
}

// reportCommand returns a function that runs `tracer report`, checks its exit status, and returns its messages.
func reportCommand(t *testing.T, tracerPath string) func(want int, args ...string) string {
	return func(want int, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(context.Background(), tracerPath, append([]string{"report"}, args...)...)
		out, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Fatalf("%v: status %d (%v), not %d\n%s", args, got, err, want, out)
		}
		return string(out)
	}
}

// checkRefusals compares the messages of refusals. None of them changes the notebook or the recording.
func checkRefusals(t *testing.T, into func(want int, args ...string) string, folder string, text, recorded []byte) {
	t.Helper()
	run, notebook := filepath.Join(folder, "run.arrows"), filepath.Join(folder, "nb.ipynb")
	link := filepath.Join(folder, "link.ipynb")
	if err := os.Symlink(notebook, link); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(folder, "other.ipynb")
	write(t, other, notebookOf(t, []string{"edited()"}), 0o600)
	for _, wrong := range []struct {
		status int
		args   []string
		says   string
	}{
		{2, []string{}, "name a recording"},
		{2, []string{"--into", notebook}, "name the recording"},
		{2, []string{run, "--into", notebook, "--remove"}, "--remove"},
		{2, []string{run, "--into", notebook, "-o", "x"}, "-o"},
		{2, []string{run, "--into", notebook, "--no-source"}, "--no-source"},
		{2, []string{run, "--into-output"}, "--into"},
		{1, []string{run, "--into", link}, "symbolic link"},
		{1, []string{run, "--into", folder}, "director"},
		{1, []string{run, "--into", run}, "not a Jupyter notebook"},
		{1, []string{run, "--into", other}, "stays as it is"},
		{1, []string{run, "--into", filepath.Join(folder, "none.ipynb")}, "no such file"},
	} {
		if said := into(wrong.status, wrong.args...); !strings.Contains(said, wrong.says) ||
			strings.Count(said, "\n") > 4 {
			t.Errorf("%v: %s", wrong.args, said)
		}
		if !bytes.Equal(read(t, notebook), text) || !bytes.Equal(read(t, run), recorded) {
			t.Fatalf("%v changed something", wrong.args)
		}
	}
}

func notebookOf(t *testing.T, sources []string) []byte {
	t.Helper()
	type object = map[string]any
	cells := []any{}
	for _, source := range sources {
		cells = append(cells, object{
			"cell_type": "code", "execution_count": nil, "metadata": object{}, "outputs": []any{}, "source": source,
		})
	}
	text, err := json.MarshalIndent(object{"cells": cells, "metadata": object{}, "nbformat": 4, "nbformat_minor": 4},
		"", " ")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t *testing.T, path string, data []byte, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, data, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
