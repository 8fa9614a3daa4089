package text_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"ipytracer/internal/hostile"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/text"
	"ipytracer/model"
	"ipytracer/report"
)

func printed(t *testing.T, r *model.Report, o text.Options) string {
	t.Helper()
	var b strings.Builder
	if err := text.Report(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextGolden(t *testing.T) {
	for name, make := range reporttest.Reports {
		reporttest.Golden(t, name+".txt", []byte(printed(t, make(), text.Options{})))
		reporttest.Golden(t, name+".full.txt", []byte(printed(t, make(), text.Options{Full: true})))
	}
	reporttest.Golden(t, "rich.color.txt", []byte(printed(t, reporttest.Rich(), text.Options{Color: true})))
	reporttest.Golden(t, "rich.80.txt", []byte(printed(t, reporttest.Rich(), text.Options{Width: 80})))
	reporttest.Golden(t, "rich.by-numpy.txt",
		[]byte(printed(t, reporttest.Rich(), text.Options{By: "cpu.numpy", Cells: 3, Statements: -1})))
	reporttest.Golden(t, "rich.no-source.txt",
		[]byte(printed(t, report.WithoutSource(reporttest.Rich()), text.Options{})))
}

// TestLineWidths checks that no line exceeds the width, except for a word that is longer by itself.
func TestLineWidths(t *testing.T) {
	for name, make := range reporttest.Reports {
		for _, width := range []int{80, 100, 120, 160} {
			o := text.Options{Width: width}
			full := text.Options{Width: width, Full: true}
			out := printed(t, make(), o) + printed(t, make(), full) + live(t, make(), o)
			for line := range strings.SplitSeq(out, "\n") {
				longest := 0
				for _, word := range strings.Fields(line) {
					longest = max(longest, escape.Cells(word))
				}
				if escape.Cells(line) <= width || longest+12 > width {
					continue
				}
				t.Errorf("%s at %d: a line takes %d cells: %s", name, width, escape.Cells(line), line)
			}
		}
	}
}

func TestColorSaysNothingAlone(t *testing.T) {
	codes := regexp.MustCompile("\x1b\\[[0-9]+m")
	for name, make := range reporttest.Reports {
		colored := printed(t, make(), text.Options{Color: true})
		if bare := codes.ReplaceAllString(colored, ""); bare != printed(t, make(), text.Options{}) {
			t.Errorf("%s reads differently in colour", name)
		}
	}
}

func TestEqualReportsGiveEqualOutput(t *testing.T) {
	for name, make := range reporttest.Reports {
		first := outputs(t, make())
		for range 5 {
			if again := outputs(t, make()); again != first {
				t.Fatalf("%s: output differs between runs", name)
			}
		}
	}
}

func TestPrintersLeaveTheReportAlone(t *testing.T) {
	for name, make := range reporttest.Reports {
		r := make()
		outputs(t, r)
		report.WithoutSource(r)
		if !reflect.DeepEqual(r, make()) {
			t.Errorf("%s was changed by printing it", name)
		}
	}
}

func TestWithoutSource(t *testing.T) {
	r := reporttest.Rich()
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
		o      text.Options
		words  []string
	}{
		{reporttest.Empty(), text.Options{}, []string{"No cell ran", "Shift-Enter", "tracer kernels"}},
		{reporttest.Script(), text.Options{}, []string{"not an IPython kernel", "nvidia-smi"}},
		{reporttest.Rich(), text.Options{}, []string{
			"highest      3.00 of 23.00 GiB resident (13 %) in In[2]", "1018.00 MiB", "%%time", "error · raise",
			"shares with its parent", "joblib worker", "Certificate: complete",
		}},
		{
			reporttest.Rich(), text.Options{Full: true},
			[]string{
				"%%time", "(silent)", "error · raise", "all together", "shares with its parent", "In[3], line by line",
				"28 of 28",
			},
		},
		{reporttest.Rich(), text.Options{Cells: 2}, []string{"… and 5 more cells, 1 stretch between cells"}},
		{
			reporttest.Inexact(), text.Options{Full: true},
			[]string{
				"≈2.84 GiB", "≥2.85 GiB", "by at most 64.00 KiB", "shed at times", "26 of 28, off by up to 12.00 KiB",
				"8 not comparable",
			},
		},
		{reporttest.Inexact(), text.Options{}, []string{
			"how sure     not of all: 48 of 1,234,567 changes", "experiments refused", "≥2.85 GiB",
			"numpy was not counted at times", "mapped: 2 of 28 windows do not agree", "33 experiments",
		}},
		{reporttest.Many(), text.Options{Full: true}, []string{"5555", "20 more lines", "more gaps"}},
		{reporttest.Many(), text.Options{}, []string{"5555", "more cells", "--full prints all"}},
	} {
		out := printed(t, test.report, test.o)
		for _, words := range test.words {
			if !strings.Contains(out, words) {
				t.Errorf("%q is missing in:\n%s", words, out)
			}
		}
	}
}

func TestTextRankingMeterMustExist(t *testing.T) {
	var b strings.Builder
	err := text.Report(&b, reporttest.Rich(), text.Options{By: "gpu.7.active"})
	if err == nil || !strings.Contains(err.Error(), "cpu.numpy") || b.Len() > 0 {
		t.Errorf("error %v, %d bytes written; want an error that lists the meters, and nothing written", err, b.Len())
	}
}

// FuzzText puts hostile strings into every text that a target can choose.
func FuzzText(f *testing.F) {
	f.Add(reporttest.Evil, "get_ipython().run_cell_magic('time', '', 'x')", 120, int64(1<<40), 3)
	f.Add("", "\n\n\x00", 1, int64(-1<<63), -4)
	f.Add("名前", strings.Repeat("x", 9999), -1, int64(1<<63-1), 0)
	hostile.Fuzz(f, 64<<20, func(t *testing.T, name, source string, width int, size int64, parent int) {
		r := reporttest.Hostile()
		for i := range r.Windows {
			w := &r.Windows[i]
			w.Name, w.Note, w.Source, w.Parent, w.Status = name, name, source, parent+i, name
			for id, figure := range w.Meters {
				figure.Peak, figure.Consumed, figure.Exact = size, -size, size%2 == 0
				w.Meters[id] = figure
			}
			w.Meters[name] = reporttest.Fig(size, size, size)
			for j := range w.Children {
				w.Children[j].Command = source
			}
		}
		r.Processes[0].Command, r.Certificate.Finished = source, name
		r.Host.Name, r.Host.Kernel, r.Host.Started = name, name, name
		r.Meters[0].Source, r.Meters[1].ID = source, name
		o := text.Options{Width: width, Cells: parent, Statements: parent}
		reporttest.CheckSafe(t, printed(t, r, o)+live(t, r, o), "\n")
		var b strings.Builder
		if err := report.CSV(&b, r); err != nil {
			t.Fatal(err)
		}
		reporttest.CheckSafe(t, b.String(), "\n\t")
	})
}

// outputs returns a report in every form in which it can be printed.
func outputs(t *testing.T, r *model.Report) string {
	t.Helper()
	var b strings.Builder
	if err := report.CSV(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String() + string(reporttest.Report(t, r)) +
		printed(t, r, text.Options{Color: true, Width: -1}) +
		printed(t, r, text.Options{Color: true, Width: -1, Full: true}) + live(t, r, text.Options{})
}
