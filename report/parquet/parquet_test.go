package parquet_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	library "github.com/parquet-go/parquet-go"

	"ipytracer/model"
	"ipytracer/report/parquet"
	"ipytracer/report/reporttest"
	"ipytracer/tracer/python/cpython/builds"
)

func printed(t *testing.T, r *model.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := parquet.Print(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestEveryFigure: the file has the same values as the report, null for missing ones.
func TestEveryFigure(t *testing.T) {
	for name, make := range reporttest.Reports {
		t.Run(name, func(t *testing.T) {
			r := make()
			data := printed(t, r)
			file, err := library.OpenFile(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				t.Fatal(err)
			}
			if want := int64(len(r.Windows) + len(r.Between)); file.NumRows() != want {
				t.Fatalf("%d rows, not %d", file.NumRows(), want)
			}
			text, _ := file.Lookup("ipytracer.certificate")
			var c model.Certificate
			if err := json.Unmarshal([]byte(text), &c); err != nil || c.Complete != r.Certificate.Complete ||
				c.Made != r.Certificate.Made {
				t.Errorf("certificate %q: %v", text, err)
			}
			at := map[string]int{}
			for i, path := range file.Schema().Columns() {
				at[path[0]] = i
			}
			rows := library.NewGenericReader[any](file, file.Schema())
			one := [1]library.Row{}
			for i := range r.Windows {
				w := &r.Windows[i]
				if _, err := rows.ReadRows(one[:]); err != nil && i < len(r.Windows)-1 {
					t.Fatal(err)
				}
				value := func(column string) library.Value { return one[0][at[column]] }
				if got := value("source").String(); w.Source != "" && got != strings.ToValidUTF8(w.Source, "\ufffd") {
					t.Errorf("source %q", got)
				}
				if value("execution_count").IsNull() != (w.ExecutionCount == nil) ||
					value("line").IsNull() != (w.Line == 0) || value("cpu_ns").IsNull() != (w.CPUNS < 0) {
					t.Errorf("window %d: %v", w.ID, one[0])
				}
				for _, id := range r.AllMeters() {
					f, ok := w.Meters[id]
					tree, hasTree := w.Tree[id]
					if value(id+".peak").IsNull() == ok ||
						ok &&
							(value(id+".peak").Int64() != f.Peak || value(id+".consumed").Int64() != f.Consumed ||
								value(id+".exact").Boolean() != f.Exact) {
						t.Errorf("%s of window %d: %v", id, w.ID, value(id+".peak"))
					}
					if ok && value(id+".bound").IsNull() != (f.Bound == nil) {
						t.Errorf("bound of %s of window %d: %v", id, w.ID, value(id+".bound"))
					}
					if value("tree."+id+".peak").IsNull() == hasTree ||
						hasTree && value("tree."+id+".peak").Int64() != tree.Peak {
						t.Errorf("tree of %s of window %d", id, w.ID)
					}
				}
			}
		})
	}
}

// pyarrow prints Arrow's own reading of the file.
const pyarrow = `
import json, sys
import pyarrow.parquet as parquet
f = parquet.ParquetFile(sys.argv[1])
t = f.read()
m = {k.decode(): v.decode() for k, v in (f.metadata.metadata or {}).items() if k.startswith(b"ipytracer")}
peaks = t["cpu.resident.peak"].to_pylist() if "cpu.resident.peak" in t.column_names else []
bounds = t["cpu.numpy.bound"].to_pylist() if "cpu.numpy.bound" in t.column_names else []
print(json.dumps({"columns": t.column_names, "peaks": peaks,
                  "source": t["source"].to_pylist(), "bounds": sum(x is None for x in bounds),
                  "complete": json.loads(m["ipytracer.certificate"])["complete"], "meta": sorted(m)}))
`

// TestPyArrowReadsIt: where this machine has pyarrow, in Python or in the chroot of a newer one (PYTHONS_DIR), it reads
// every fixture.
func TestPyArrowReadsIt(t *testing.T) {
	python := arrowPython(t)
	for name, make := range reporttest.Reports {
		r := make()
		file := filepath.Join(t.TempDir(), "x.parquet")
		if err := os.WriteFile(file, printed(t, r), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := python(file)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		var got struct {
			Columns, Source, Meta []string
			Peaks                 []*int64
			Complete              bool
			Bounds                int
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		if got.Columns[0] != "kind" || len(got.Source) != len(r.Windows)+len(r.Between) ||
			got.Complete != r.Certificate.Complete || len(got.Meta) != 5 {
			t.Errorf("%s: %v", name, got.Columns)
		}
		for i := range r.Windows {
			f, ok := r.Windows[i].Meters["cpu.resident"]
			if ok && (got.Peaks[i] == nil || *got.Peaks[i] != f.Peak) {
				t.Errorf("%s: peak of row %d is %v", name, i, got.Peaks[i])
			}
		}
	}
}

// arrowPython returns a function that runs the script above in a Python with pyarrow.
func arrowPython(t *testing.T) func(file string) ([]byte, error) {
	t.Helper()
	if exec.Command("python3", "-c", "import pyarrow.parquet").Run() == nil {
		return func(file string) ([]byte, error) {
			return exec.Command("python3", "-c", pyarrow, file).CombinedOutput()
		}
	}
	root := builds.Tree("sid")
	builds.Need(t, root)
	if os.Getuid() != 0 {
		t.Skip("needs root for chroot")
	}
	return func(file string) ([]byte, error) {
		cmd := exec.Command("chroot", root, "python3", "-c", pyarrow)
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		// other processes mount a file system on its /tmp
		inside, err := os.CreateTemp(filepath.Join(root, "var", "tmp"), "tracer-*.parquet")
		if err != nil {
			return nil, err
		}
		defer os.Remove(inside.Name())
		defer inside.Close()
		if _, err := inside.Write(data); err != nil {
			return nil, err
		}
		cmd.Args = append(cmd.Args, "/var/tmp/"+filepath.Base(inside.Name()))
		return cmd.CombinedOutput()
	}
}
