package recording

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/hostile"
)

// hostileRows writes recordings of a few KiB, each row of which says much: with the kinds of rows, and their text.
func hostileRows(t testing.TB, kind string, rows int, text func(t *table)) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	for range rows {
		text(w.beginRow(kind, 1, 1))
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// hostileRecordings are recordings with details that say nothing many times, and texts without end.
func hostileRecordings(t testing.TB, size int) map[string][]byte {
	all := make(map[string][]byte)
	lists := map[string][]string{
		kindVariables: {`{"variables":`, `{"owners":`, `{"shares":`, `{"variables":[{"columns":`,
			`{"shares":[{"pieces":`},
		kindHolders:  {`{"holders":`, `{"views":`, `{"views":[{"viewers":`, `{"views":[{"viewers":[{"paths":`},
		kindStart:    {`{"processes":`, `{"meters":`, `{"command":`},
		kindFinish:   {`{"lost":`, `{"probes":`, `{"gpus":`, `{"problems":`, `{"time_ns":`},
		kindStack:    {`{"frames":`},
		kindLimits:   {`{"limits":`},
		kindResident: {`{"parts":`},
		kindProcess:  {`{"command":`},
		kindEnding:   {`{"limit":`},
	}
	for kind, members := range lists {
		for _, member := range members {
			after := strings.NewReplacer("{", "", "[", "").Replace(member)
			for name, text := range hostile.JSON(size, member, strings.Repeat("]}", strings.Count(member, "["))+"}") {
				all[fmt.Sprint(kind, " ", after, name)] =
					hostileRows(t, kind, 8, func(t *table) { t.setText(colDetail, text) })
			}
		}
	}
	long := strings.Repeat("x", size)
	for _, kind := range []string{kindCellSource, kindChange, long, event.BoundaryKind(1).String()} {
		all[fmt.Sprintf("%.20s of long texts", kind)] = hostileRows(t, kind, 8, func(t *table) {
			t.setText(colText, long)
			t.setText(colMeter, long)
			t.setText(colOutcome, long)
		})
	}
	return all
}

// TestHostileRecordings reads recordings of a few KiB that claim much: all events, a little at once, as a program does.
func TestHostileRecordings(t *testing.T) {
	for name, file := range hostileRecordings(t, 512<<10) {
		most := hostile.Run(t, name, 96<<20, func(t *testing.T) { readHostile(t, file) })
		t.Logf("%d bytes: %+v", len(file), most)
	}
}

// TestHostileTexts reads recordings with texts as long as they may be: some that are refused, and some that take as
// much memory as they can.
func TestHostileTexts(t *testing.T) {
	for name, object := range map[string]string{
		"empty": "{}", "short": `{"a":0}`, "null": "null", "enough": `{"name":"sixteen letters"}`,
	} {
		text := `{"variables":[` + strings.Repeat(object+",", (maxText-100)/len(object+",")) + object + "]}"
		fewer := `{"variables":[` + strings.Repeat(object+",", 180_000) + object + "]}"
		for _, text := range []string{text, fewer} {
			file := hostileRows(t, kindVariables, 6, func(t *table) { t.setText(colDetail, text) })
			most := hostile.Run(t, name, 640<<20, func(t *testing.T) { readHostile(t, file) })
			t.Logf("%s, %d bytes: %+v", name, len(file), most)
		}
	}
	file := hostileRows(t, kindCellSource, 100, func(t *table) { t.setText(colText, strings.Repeat("x", maxText)) })
	t.Logf("%+v", hostile.Run(t, "texts", 192<<20, func(t *testing.T) { readHostile(t, file) }))
	file = hostileRows(t, kindCellSource, 1, func(t *table) { t.setText(colText, strings.Repeat("x", maxText+1)) })
	hostile.Run(t, "a text that is too long", 96<<20, func(t *testing.T) {
		last := readHostile(t, file)
		if len(last.Problems) != 1 || !strings.Contains(last.Problems[0], "not readable") {
			t.Errorf("%+v", last)
		}
	})
}

// readHostile reads a recording to its end.
func readHostile(t *testing.T, file []byte) (last *event.Finish) {
	r, err := Open(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	err = r.Each(context.Background(), func(e event.Event) { last, _ = e.(*event.Finish) })
	if err != nil || last == nil {
		t.Fatalf("%v: no end", err)
	}
	for _, problem := range last.Problems {
		if len(problem) > 1000 && last.Reason == ReasonCut {
			t.Errorf("a problem of %d bytes", len(problem))
		}
	}
	return last
}
