package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// TestColumns compares the columns of data frames in a report, of pandas 1 and 2, with pandas' memory_usage(deep=True).
// It checks that the remaining traceback has the name of its cell, even if it is from before the attach.
func TestColumns(t *testing.T) {
	together(t)
	for name, env := range map[string][]string{"fails": nil, "failed before": {"FAILS_BEFORE=1"}} {
		t.Run(name, func(t *testing.T) {
			onPythons(t, "run_columns.py", [][2]string{{"sid", "/usr/bin/python3"}}, func(t *testing.T, p place) {
				p.env = append(p.env, env...)
				checkColumns(t, p)
			})
		})
	}
}

func checkColumns(t *testing.T, p place) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.arrows")
	_, results, r := tracedWorkload(t, p, "--budget", "off", "--record", file)
	said := results[len(results)-1]
	compared := 0
	for frame, columns := range said.Columns {
		i := slices.IndexFunc(r.Variables, func(v model.Variable) bool { return v.Name == frame })
		if i < 0 {
			t.Errorf("no %s among the variables", frame)
			continue
		}
		compared += sameColumns(t, &r.Variables[i], columns)
	}
	if compared < 20 {
		t.Errorf("%d columns were compared", compared)
	}
	want := fmt.Sprintf("traceback of In[%d]", said.Failed)
	if !slices.ContainsFunc(r.Variables,
		func(v model.Variable) bool { return v.Name == want && v.Kind == "traceback" }) {
		t.Errorf("no %s among the variables", want)
	}
	freed := slices.ContainsFunc(r.ToFree,
		func(f model.Freeing) bool { return slices.Contains(f.Names, want) && slices.Contains(f.Names, "held") })
	if !freed {
		t.Errorf("nothing frees %s and held together: %+v", want, r.ToFree)
	}
	out, err := exec.Command(binary, "report", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"  sku: object, ", "  note: object, ", "more columns: ", want + " + held"} {
		if !bytes.Contains(out, []byte(text)) {
			t.Errorf("no %q in\n%s", text, out)
		}
	}
	if replayed := readReport(t, jsonOf(t, file)); !slices.EqualFunc(replayed.Variables, r.Variables,
		func(a, b model.Variable) bool {
			return a.Name == b.Name && reflect.DeepEqual(a.Columns, b.Columns) && a.MoreColumns == b.MoreColumns &&
				a.RestColumns == b.RestColumns
		}) {
		t.Error("the recording has other columns")
	}
}

// sameColumns compares the columns of a frame, and returns the number of compared ones.
func sameColumns(t *testing.T, v *model.Variable, want map[string][][2]int64) (compared int) {
	t.Helper()
	all, sum := int64(0), v.RestColumns
	for _, same := range want {
		all += int64(len(same))
	}
	if int64(len(v.Columns))+v.MoreColumns != all {
		t.Errorf("%s: %d columns and %d more, want %d", v.Name, len(v.Columns), v.MoreColumns, all)
	}
	total := int64(0)
	for name, same := range want {
		for _, one := range same {
			total += one[0]
		}
		of := slices.DeleteFunc(slices.Clone(v.Columns), func(c model.Column) bool { return c.Name != name })
		if len(of) == 0 && v.MoreColumns > 0 {
			continue
		}
		if len(of) != len(same) {
			t.Errorf("%s: %d columns %s, want %d: %+v", v.Name, len(of), name, len(same), v.Columns)
			continue
		}
		compared += len(of)
		for _, c := range of {
			sum += c.Bytes
			near := slices.ContainsFunc(same,
				func(w [2]int64) bool { return c.Bytes >= w[1]-w[1]/200-64 && c.Bytes <= w[0]+w[0]/200+64 })
			if !near || !c.Exact || c.DType == "" {
				t.Errorf("%s, %s: %+v, want %v", v.Name, name, c, same)
			}
		}
	}
	if sum < total-total/50 || sum > total+total/50 {
		t.Errorf("%s: its columns take %d, want %d", v.Name, sum, total)
	}
	if !slices.IsSortedFunc(v.Columns, func(a, b model.Column) int { return int(b.Bytes - a.Bytes) }) ||
		strings.Contains(v.Name, "…") {
		t.Errorf("%s: not the largest first: %+v", v.Name, v.Columns)
	}
	return compared
}

// jsonOf writes the report of a recording to a file.
func jsonOf(t *testing.T, file string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "report.json")
	if err := exec.Command(binary, "report", file, "-q", "--format", "json", "-o", out).Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(out); err != nil {
		t.Fatal(err)
	}
	return out
}
