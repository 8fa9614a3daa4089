package report_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"ipytracer/model"
	"ipytracer/report"
)

// session is a report with one cell, which needed 3 MiB.
func session() *model.Report {
	number := 1
	return &model.Report{Windows: []model.Window{{
		ID: 1, Kind: model.Cell, Status: model.OK, Execution: 1, ExecutionCount: &number, Source: "x = bytes(3 << 20)",
		Meters: map[string]model.Figure{"cpu.resident": {Start: 40 << 20, Peak: 43 << 20, End: 43 << 20, Exact: true}},
	}}}
}

// A report as JSON comes back with [report.ReadJSON].
func ExampleReadJSON() {
	var text bytes.Buffer
	if err := report.JSON(&text, session()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	r, err := report.ReadJSON(text.Bytes())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	for w := range r.All() {
		fmt.Println(w.Source, w.Meters["cpu.resident"].Need())
	}
	// Output: x = bytes(3 << 20) 3145728
}

// Each kind of output has a schema, by the name that it has in its member schema.
func ExampleSchemas() {
	var names []string
	for name := range report.Schemas() {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Println(len(names), names[0], slices.Contains(names, model.Schema))
	// Output: 9 ipytracer/advice/v1 true
}

// WithoutSource takes the text of the notebook out of a report.
func ExampleWithoutSource() {
	for w := range report.WithoutSource(session()).All() {
		fmt.Printf("%q %d\n", w.Source, w.Meters["cpu.resident"].Peak)
	}
	// Output: "" 45088768
}
