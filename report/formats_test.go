package report_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/text"
	"ipytracer/model"
	"ipytracer/report"
)

func TestCSVGolden(t *testing.T) {
	for _, name := range []string{"rich", "inexact", "hostile", "nothing"} {
		var b strings.Builder
		r := reporttest.Reports[name]()
		for i := range r.Windows { // a huge source would make a huge golden file
			r.Windows[i].Source = r.Windows[i].Source[:min(90, len(r.Windows[i].Source))]
		}
		if err := report.CSV(&b, r); err != nil {
			t.Fatal(err)
		}
		reporttest.Golden(t, name+".csv", []byte(b.String()))
	}
}

func TestCSVHasEveryFigureExactly(t *testing.T) {
	r := reporttest.Inexact()
	var b strings.Builder
	if err := report.CSV(&b, r); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 + len(r.Windows) + len(r.Between); len(rows) != want {
		t.Fatalf("%d rows, want %d", len(rows), want)
	}
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	for column, want := range map[string]string{
		"kind": "cell", "execution_count": "2", "cpu.resident.peak": "3221225472", "cpu.resident.bound": "0",
		"cpu.mapped.exact": "false", "cpu.mapped.bound": "65536", "cpu.numpy.bound": "", "cpu.numpy.peak": "3126853632",
	} {
		if got := rows[6][at[column]]; got != want {
			t.Errorf("%s = %q, want %q", column, got, want)
		}
	}
	if last := rows[len(rows)-1]; last[at["kind"]] != "between" ||
		last[at["name"]] != "between a silent cell (run 5) and a silent cell (run 6)" {
		t.Errorf("last row %v", last)
	}
}

func TestCSVFormulasAreDefused(t *testing.T) {
	for in, want := range map[string]string{
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "\t=1": "'\t=1", "\n=1": "'\n=1", "\r=1": `'\r=1`,
		"＝1": "'＝1", "x=1": "x=1", "": "", "\x1b": `\x1b`,
	} {
		if got := escape.Formula(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestJSONKeepsEveryCharacter(t *testing.T) {
	r := reporttest.Hostile()
	r.Windows[1].Name = strings.ToValidUTF8(reporttest.Evil, "") + "\U000e0041\U0001f642<&>\u2028"
	data := reporttest.Report(t, r)
	reporttest.CheckSafe(t, string(data), "\n")
	back, err := report.ReadJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	if back.Windows[1].Name != r.Windows[1].Name {
		t.Errorf("got %q, want %q", back.Windows[1].Name, r.Windows[1].Name)
	}
	if !strings.Contains(string(data), "<&>") {
		t.Error("HTML characters are escaped, which makes sources hard to read")
	}
}

func TestJSONRoundTrip(t *testing.T) {
	data := reporttest.Report(t, reporttest.Inexact())
	back, err := report.ReadJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	if again := reporttest.Report(t, back); string(again) != string(data) {
		t.Error("a report that was read back prints differently")
	}
	if strings.Contains(string(data), ":null") && !strings.Contains(string(data), `"bound":null`) {
		t.Error("null where a list or map belongs")
	}
}

// TestSchemaKnowsTheModel compares the schema's members with the fields of the model, both ways.
func TestSchemaKnowsTheModel(t *testing.T) {
	var schema struct {
		Properties map[string]any
		Defs       map[string]struct{ Properties map[string]any } `json:"$defs"`
	}
	if err := json.Unmarshal(report.Schemas()[model.Schema], &schema); err != nil {
		t.Fatal(err)
	}
	compare := func(name string, properties map[string]any, model any, tabled ...string) {
		fields := map[string]bool{}
		for _, name := range tabled { // in JSON these are in tables, or are an index into one
			fields[name] = true
		}
		for field := range reflect.TypeOf(model).Fields() {
			tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if tag == "-" {
				continue
			}
			fields[tag] = true
			if _, ok := properties[tag]; !ok {
				t.Errorf("%s: the schema lacks %q", name, tag)
			}
		}
		for property := range properties {
			if !fields[property] {
				t.Errorf("%s: the model lacks %q", name, property)
			}
		}
	}
	compare("report", schema.Properties, model.Report{}, "frames", "stacks")
	compare("line", schema.Defs["line"].Properties, model.Line{}, "frame")
	for name, model := range map[string]any{
		"host": model.Host{}, "process": model.Process{}, "meter": model.Meter{}, "window": model.Window{},
		"child": model.Child{}, "figure": model.Figure{}, "between": model.Between{},
		"certificate": model.Certificate{}, "loss": model.Loss{}, "probe": model.Probe{}, "proof": model.Proof{},
		"allocation": model.Allocation{}, "frame": model.Frame{}, "tensors": model.Tensors{},
		"copied":   model.Copied{},
		"variable": model.Variable{}, "names": model.Names{}, "resident": model.Resident{},
		"residentPart": model.ResidentPart{}, "refusal": model.Refusal{}, "softLimit": model.SoftLimit{},
		"coverage": model.Coverage{},
	} {
		compare(name, schema.Defs[name].Properties, model)
	}
}

func TestSchemaRefuses(t *testing.T) {
	good := string(reporttest.Report(t, reporttest.Rich()))
	for what, change := range map[string][2]string{
		"another schema":      {"ipytracer/report/v1", "ipytracer/report/v2"},
		"an unknown kind":     {`"kind":"cell"`, `"kind":"row"`},
		"an unknown status":   {`"status":"ok"`, `"status":"fine"`},
		"an unknown member":   {`"pid":4242,`, `"pid":4242,"extra":1,`},
		"an unknown meter":    {`"cpu.numpy":{`, `"cpu.nummy":{`},
		"a missing member":    {`"cpu_ns":-1,`, ``},
		"null for a list":     {`"problems":[]`, `"problems":null`},
		"a text for a number": {`"duration_ns":`, `"duration_ns":"1","x":`},
		"exact with a bound":  {`"bound":0`, `"bound":4096`},
		"another unit":        {`"unit":"bytes"`, `"unit":"MB"`},
		"a time of its own":   {`"started":"2026-03-02T`, `"started":"2 March `},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		if bad == good {
			t.Errorf("%s: nothing to replace", what)
		}
		if reporttest.Check([]byte(bad)) == nil {
			t.Errorf("the schema lets %s through", what)
		}
	}
}

// full is a writer without room.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrorsComeBack(t *testing.T) {
	r := reporttest.Rich()
	for name, err := range map[string]error{
		"text": text.Report(full{}, r, text.Options{}), "live": text.Live(full{}, r.Windows[5], text.Options{}),
		"json": report.JSON(full{}, r), "csv": report.CSV(full{}, r),
	} {
		if !errors.Is(err, errFull) {
			t.Errorf("%s: error %v, want %v", name, err, errFull)
		}
	}
}

func TestJSONGolden(t *testing.T) {
	for name, make := range reporttest.Reports {
		data := reporttest.Report(t, make())
		if name == "rich" || name == "nothing" {
			reporttest.Golden(t, name+".json", data)
		}
	}
}
