package main

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/report/reporttest"
)

// writeRecording writes a recording to a file.
func writeRecording(t testing.TB, data []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "run.arrows")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestSpoiledRecordings: of a damaged recording, every command that takes recordings says in every format that
// something is missing, calls no figure exact, and has status 4 under --strict. Of a whole recording it says none of
// that. [TestDamagedRecordingsHaveNoExactFigure] checks what each format prints for each kind of damage.
func TestSpoiledRecordings(t *testing.T) {
	tracer := buildTracer(t)
	whole := numbered(t, unzipped(t, "advice.arrows.gz"))
	other := writeRecording(t, unzipped(t, "notebook.arrows.gz"))
	spoilt := spoiled(t, whole)
	names := slices.Sorted(maps.Keys(spoilt))
	turn := 0
	for _, c := range takesRecordings {
		behind := slices.Clone(c.behind)
		for i := range behind {
			behind[i] = other
		}
		for i, format := range c.formats {
			args := slices.Concat([]string{c.command, writeRecording(t, whole)}, behind,
				[]string{"-q", "--format", format})
			if i == 0 {
				if o := runBounded(t, tracer, nil, args...); o.status != 0 || o.said != "" || o.out == "" {
					t.Errorf("%v: status %d, %q", args, o.status, o.said)
				}
			}
			name := names[turn%len(names)] // by turns
			turn++
			t.Run(c.command+" "+format+" "+name, func(t *testing.T) {
				args[1] = writeRecording(t, spoilt[name])
				promisesNothing(t, tracer, format, args)
			})
		}
	}
}

// promisesNothing runs a command on a spoiled recording, also with --strict and into a file.
func promisesNothing(t *testing.T, tracer, format string, args []string) {
	t.Helper()
	o := runBounded(t, tracer, nil, args...)
	if o.status != 0 || strings.Count(o.said, "\n") != 1 ||
		!strings.Contains(o.said, "; no figure of it is exact\n") {
		t.Errorf("status %d, %d bytes, %q", o.status, len(o.out), o.said)
	}
	if args[0] == "report" || args[0] == "advise" || args[0] == "audit" {
		if s := accuracyClaim(format, o.out); s != "" {
			t.Errorf("it claims: %.2000s", s)
		}
	}
	if format == "html" && args[0] == "report" && reporttest.CompletePage(t, []byte(o.out)) {
		t.Error("the page says that it is complete")
	}
	folder := t.TempDir()
	strict := runBounded(t, tracer, nil, append(slices.Clone(args), "--strict", "-o", filepath.Join(folder, "out"))...)
	if strict.status != console.NotExact || strings.Count(strict.said, "\n") != 1 {
		t.Errorf("--strict: status %d, %q", strict.status, strict.said)
	}
	written, err := os.ReadFile(filepath.Join(folder, "out"))
	if err != nil || string(written) != o.out && args[0] != "merge" {
		t.Errorf("another output in a file: %v", err)
	}
	if left, _ := os.ReadDir(folder); len(left) != 1 {
		t.Errorf("%d files are left", len(left))
	}
}

// TestSpoiledHeaders: a file without a whole header is no recording: one sentence, status 1, and no output.
func TestSpoiledHeaders(t *testing.T) {
	tracer := buildTracer(t)
	whole := numbered(t, unzipped(t, "advice.arrows.gz"))
	head := framesOf(t, whole)[1]
	bad := append([]byte(nil), whole...)
	bad[head/2] ^= 4
	other := writeRecording(t, whole)
	for name, data := range map[string][]byte{"cut": whole[:head-1], "flipped": bad, "empty": {}} {
		for _, c := range takesRecordings {
			if c.formats == nil {
				continue
			}
			behind := slices.Clone(c.behind)
			for i := range behind {
				behind[i] = other
			}
			folder := t.TempDir()
			args := slices.Concat([]string{c.command, writeRecording(t, data)}, behind,
				[]string{"-o", filepath.Join(folder, "out")})
			o := runBounded(t, tracer, nil, args...)
			if left, _ := os.ReadDir(folder); o.status != console.Failed || o.out != "" || len(left) > 0 ||
				strings.Count(o.said, "\n") != 1 || !strings.Contains(o.said, "not an ipytracer recording") {
				t.Errorf("%s, %s: status %d, %q, %d files", c.command, name, o.status, o.said, len(left))
			}
		}
	}
}

// TestIntoOfPartial: the figures that a notebook gets from a recording that was cut are not exact.
func TestIntoOfPartial(t *testing.T) {
	tracer := buildTracer(t)
	whole := numbered(t, unzipped(t, "advice.arrows.gz"))
	at := framesOf(t, whole)
	var r struct {
		Windows []struct{ Kind, Source string }
	}
	o := runBounded(t, tracer, nil, "report", writeRecording(t, whole), "--format", "json", "-q")
	if err := json.Unmarshal([]byte(o.out), &r); err != nil {
		t.Fatal(err)
	}
	cells := []any{}
	for _, w := range r.Windows {
		if w.Kind == "cell" {
			cells = append(cells, map[string]any{"cell_type": "code", "source": w.Source, "metadata": map[string]any{},
				"outputs": []any{}, "execution_count": nil})
		}
	}
	text, err := json.Marshal(map[string]any{"nbformat": 4, "nbformat_minor": 4, "metadata": map[string]any{},
		"cells": cells})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"whole": whole, "cut": whole[:at[len(at)-2]+9]} {
		book := filepath.Join(t.TempDir(), "n.ipynb")
		if err := os.WriteFile(book, text, 0o600); err != nil {
			t.Fatal(err)
		}
		o := runBounded(t, tracer, nil, "report", writeRecording(t, data), "--into", book, "-q", "--strict")
		out, err := os.ReadFile(book)
		exact := strings.Contains(strings.ReplaceAll(string(out), " ", ""), `"exact":true`)
		if err != nil || !strings.Contains(string(out), "cpu.resident") || exact != (name == "whole") ||
			(o.status == console.NotExact) != (name == "cut") {
			t.Errorf("%s: status %d, %q, exact %v, %v\n%.3000s", name, o.status, o.said, exact, err, out)
		}
	}
}

// TestRecallOfPartial: the promises of a recording that was cut or damaged are not exact.
func TestRecallOfPartial(t *testing.T) {
	tracer := buildTracer(t)
	whole := numbered(t, unzipped(t, "advice.arrows.gz"))
	all := spoiled(t, whole)
	all["whole"] = whole
	for name, data := range all {
		o := runBounded(t, tracer, data, "recall")
		var found struct{ Partial, Error string }
		if err := json.Unmarshal([]byte(o.out), &found); err != nil || o.status != 0 || found.Error != "" {
			t.Fatalf("%s: status %d, %v, %q", name, o.status, err, found.Error)
		}
		if (found.Partial == "") != (name == "whole") || name != "whole" && strings.Contains(o.out, `"exact":true`) {
			t.Errorf("%s: %q\n%.1000s", name, found.Partial, o.out)
		}
	}
}

// TestViewOfPartial: the page of a recording that was cut or damaged has no complete certificate.
func TestViewOfPartial(t *testing.T) {
	tracer := buildTracer(t)
	whole := numbered(t, unzipped(t, "advice.arrows.gz"))
	all := spoiled(t, whole)
	for name, data := range map[string][]byte{"whole": whole, "cut": all["cut in a batch"], "swapped": all["swapped"]} {
		cmd := exec.Command(tracer, "view", writeRecording(t, data))
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		address, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.Get(strings.TrimSpace(address))
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if err != nil || reporttest.CompletePage(t, page) != (name == "whole") {
			t.Errorf("%s: complete is not as it is: %v", name, err)
		}
	}
}
