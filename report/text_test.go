package report_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"ipytracer/model"
	"ipytracer/report"
	"ipytracer/report/reporttest"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// golden compares data with a file under testdata/report.
func golden(t *testing.T, name string, data []byte) {
	t.Helper()
	path := filepath.Join("..", "testdata", "report", name)
	if *update {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, want) {
		t.Errorf("%s differs (go test ./report -update rewrites it); got:\n%s", name, data)
	}
}

var reports = map[string]func() *model.Report{
	"rich": rich, "inexact": inexact, "hostile": hostile, "empty": empty, "script": script, "many": many,
	"nothing": func() *model.Report { return &model.Report{} },
}

func text(t *testing.T, r *model.Report, o report.TextOptions) string {
	t.Helper()
	var b strings.Builder
	if err := report.Text(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextGolden(t *testing.T) {
	for name, make := range reports {
		golden(t, name+".txt", []byte(text(t, make(), report.TextOptions{})))
		golden(t, name+".full.txt", []byte(text(t, make(), report.TextOptions{Full: true})))
	}
	golden(t, "rich.color.txt", []byte(text(t, rich(), report.TextOptions{Color: true})))
	golden(t, "rich.80.txt", []byte(text(t, rich(), report.TextOptions{Width: 80})))
	golden(t, "rich.by-numpy.txt", []byte(text(t, rich(), report.TextOptions{By: "cpu.numpy", Cells: 3, Statements: -1})))
	golden(t, "rich.no-source.txt", []byte(text(t, report.WithoutSource(rich()), report.TextOptions{})))
}

func TestJSONGolden(t *testing.T) {
	for name, make := range reports {
		data := reporttest.Report(t, make())
		if name == "rich" || name == "nothing" {
			golden(t, name+".json", data)
		}
	}
}

// TestLineWidths holds every line to the width, but for a word that is longer than that by itself.
func TestLineWidths(t *testing.T) {
	for name, make := range reports {
		for _, width := range []int{80, 100, 120, 160} {
			o := report.TextOptions{Width: width}
			out := text(t, make(), o) + text(t, make(), report.TextOptions{Width: width, Full: true}) + live(t, make(), o)
			for line := range strings.SplitSeq(out, "\n") {
				longest := 0
				for _, word := range strings.Fields(line) {
					longest = max(longest, report.Cells(word))
				}
				if report.Cells(line) <= width || longest+12 > width {
					continue
				}
				t.Errorf("%s at %d: a line takes %d cells: %s", name, width, report.Cells(line), line)
			}
		}
	}
}

func TestColorSaysNothingAlone(t *testing.T) {
	codes := regexp.MustCompile("\x1b\\[[0-9]+m")
	for name, make := range reports {
		colored := text(t, make(), report.TextOptions{Color: true})
		if bare := codes.ReplaceAllString(colored, ""); bare != text(t, make(), report.TextOptions{}) {
			t.Errorf("%s reads differently in colour", name)
		}
	}
}

func TestEqualReportsGiveEqualOutput(t *testing.T) {
	for name, make := range reports {
		first := outputs(t, make())
		for range 5 {
			if again := outputs(t, make()); again != first {
				t.Fatalf("%s: output differs between runs", name)
			}
		}
	}
}

// outputs is everything a report can be printed as.
func outputs(t *testing.T, r *model.Report) string {
	t.Helper()
	var b strings.Builder
	if err := report.CSV(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String() + string(reporttest.Report(t, r)) + text(t, r, report.TextOptions{Color: true, Width: -1}) + text(t, r, report.TextOptions{Color: true, Width: -1, Full: true}) + live(t, r, report.TextOptions{})
}

func TestPrintersLeaveTheReportAlone(t *testing.T) {
	for name, make := range reports {
		r := make()
		outputs(t, r)
		report.WithoutSource(r)
		if !reflect.DeepEqual(r, make()) {
			t.Errorf("%s was changed by printing it", name)
		}
	}
}

func TestWithoutSource(t *testing.T) {
	r := rich()
	const secret = "SECRET_TOKEN"
	for i := range r.Windows {
		r.Windows[i].Source = secret
		for j := range r.Windows[i].Children {
			r.Windows[i].Children[j].Command = "sh -c " + secret
		}
	}
	r.Processes[1].Command = "sh -c " + secret
	if !strings.Contains(outputs(t, r), secret) {
		t.Fatal("the test has no secret to hide")
	}
	out := outputs(t, report.WithoutSource(r))
	if strings.Contains(out, secret) {
		t.Error("the source is still there")
	}
	for _, kept := range []string{"training", "kernel-1.json", "In[3], line by line"} {
		if !strings.Contains(out, kept) {
			t.Errorf("%q is gone", kept)
		}
	}
}

func TestTextSays(t *testing.T) {
	for _, test := range []struct {
		report *model.Report
		o      report.TextOptions
		words  []string
	}{
		{empty(), report.TextOptions{}, []string{"No cell ran", "Shift-Enter", "tracer kernels"}},
		{script(), report.TextOptions{}, []string{"not an IPython kernel", "nvidia-smi"}},
		{rich(), report.TextOptions{}, []string{
			"highest      3.00 GiB resident in In[2]", "1018.00 MiB", "%%time", "(silent)", "error · raise", "shares with its parent", "joblib worker", "Certificate: complete",
		}},
		{rich(), report.TextOptions{Full: true}, []string{"%%time", "(silent)", "error · raise", "all together", "shares with its parent", "In[3], line by line", "28 of 28"}},
		{rich(), report.TextOptions{Cells: 2}, []string{"… and 5 more cells, 4 stretches between cells"}},
		{inexact(), report.TextOptions{Full: true}, []string{"≈2.84 GiB", "≥2.85 GiB", "by at most 64.00 KiB", "shed at times", "26 of 28, off by up to 12.00 KiB", "8 not comparable"}},
		{inexact(), report.TextOptions{}, []string{
			"how sure     48 of 1,234,567 changes", "experiments refused", "≥2.85 GiB", "numpy was not counted at times", "mapped: 2 of 28 windows do not agree", "33 experiments",
		}},
		{many(), report.TextOptions{Full: true}, []string{"5555", "20 more lines", "more gaps"}},
		{many(), report.TextOptions{}, []string{"5555", "more cells", "--full prints all"}},
	} {
		out := text(t, test.report, test.o)
		for _, words := range test.words {
			if !strings.Contains(out, words) {
				t.Errorf("%q is missing in:\n%s", words, out)
			}
		}
	}
}

func TestTextRankingMeterMustExist(t *testing.T) {
	var b strings.Builder
	err := report.Text(&b, rich(), report.TextOptions{By: "gpu.7.active"})
	if err == nil || !strings.Contains(err.Error(), "cpu.numpy") || b.Len() > 0 {
		t.Errorf("error %v, %d bytes written; want an error that lists the meters, and nothing written", err, b.Len())
	}
}

// FuzzText puts hostile strings everywhere a target can choose one.
func FuzzText(f *testing.F) {
	f.Add(evil, "get_ipython().run_cell_magic('time', '', 'x')", 120, int64(1<<40), 3)
	f.Add("", "\n\n\x00", 1, int64(-1<<63), -4)
	f.Add("名前", strings.Repeat("x", 9999), -1, int64(1<<63-1), 0)
	f.Fuzz(func(t *testing.T, name, source string, width int, size int64, parent int) {
		r := hostile()
		for i := range r.Windows {
			w := &r.Windows[i]
			w.Name, w.Note, w.Source, w.Parent, w.Status = name, name, source, parent+i, name
			for id, figure := range w.Meters {
				figure.Peak, figure.Consumed, figure.Exact = size, -size, size%2 == 0
				w.Meters[id] = figure
			}
			w.Meters[name] = fig(size, size, size)
			for j := range w.Children {
				w.Children[j].Command = source
			}
		}
		r.Processes[0].Command, r.Host.Name, r.Host.Kernel, r.Host.Started, r.Certificate.Finished = source, name, name, name, name
		r.Meters[0].Source, r.Meters[1].ID = source, name
		o := report.TextOptions{Width: width, Cells: parent, Statements: parent}
		report.CheckSafe(t, text(t, r, o)+live(t, r, o), "\n")
		var b strings.Builder
		if err := report.CSV(&b, r); err != nil {
			t.Fatal(err)
		}
		report.CheckSafe(t, b.String(), "\n\t")
	})
}
