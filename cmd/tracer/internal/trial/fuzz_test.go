package trial

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"ipytracer/internal/hostile"
)

// partsOfAnswer are the places in an answer where a notebook can put anything.
var partsOfAnswer = map[string][2]string{
	"outputs":   {`{"event":"cell","cell":1,"outputs":`, "}\n"},
	"data":      {`{"event":"cell","cell":1,"outputs":[{"data":`, "}]}\n"},
	"variables": {`{"event":"values","values":{"variables":`, "}}\n"},
	"items":     {`{"event":"values","values":{"variables":[["a",{"items":`, "}]]}}\n"},
	"sums":      {`{"event":"values","values":{"variables":[["a",{"sums":`, "}]]}}\n"},
	"shape":     {`{"event":"values","values":{"variables":[["a",{"shape":`, "}]]}}\n"},
	"why":       {`{"event":"end","why":`, "}\n"},
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(begun + `{"event": "cell", "cell": 1, "ns": 5, "failed": {"name": "KeyError", "value": "x"}}` + "\n" +
		`{"event": "values", "values": {"variables": [["a", {"kind": "value", "text": "1"}]], "more": 2}}` + "\n" +
		`{"event": "end", "why": ""}` + "\n"))
	for _, part := range partsOfAnswer {
		for _, text := range hostile.JSON(512, begun+part[0], part[1]) {
			f.Add([]byte(text))
		}
	}
	hostile.Fuzz(f, 64<<20, func(t *testing.T, text []byte) {
		r, err := readAnswer(bytes.NewReader(text), 3, nothing)
		if err == nil && len(r.Cells) > 3 {
			t.Errorf("%d cells of 3", len(r.Cells))
		}
	})
}

// TestHostileJSON has lines that take much more memory than their text, one for each cell of a large notebook.
func TestHostileJSON(t *testing.T) {
	for where, part := range partsOfAnswer {
		for name, text := range hostile.JSON(3<<20, part[0], part[1]) {
			lines := bytes.NewBufferString(begun)
			for cell := range 4 {
				lines.WriteString(text)
				if where == "outputs" || where == "data" {
					_, rest, _ := strings.Cut(text, ",\"outputs")
					text = fmt.Sprintf(`{"event":"cell","cell":%d,"outputs%s`, 2+cell, rest)
				}
			}
			most := hostile.Run(t, where+" "+name, 512<<20, func(t *testing.T) {
				_, _ = readAnswer(lines, maxCells, nothing)
			})
			t.Logf("%s %s: %+v", where, name, most)
		}
	}
}
