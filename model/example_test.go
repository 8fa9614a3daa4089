package model_test

import (
	"encoding/json"
	"fmt"
	"log"

	"ipytracer/model"
)

// What `tracer report --format json` prints is a [model.Report].
func ExampleReport() {
	const printed = `{"schema": "report-v1", "windows": [{"id": 1, "kind": "session", "meters": {}}, {
		"id": 2, "parent": 1, "kind": "cell", "execution": 1, "source": "x = np.ones(1 << 27)",
		"meters": {"cpu.resident": {"start": 104857600, "peak": 1178599424, "end": 1178599424, "exact": true}}}]}`
	var report model.Report
	if err := json.Unmarshal([]byte(printed), &report); err != nil {
		log.Fatal(err)
	}
	for window := range report.All() {
		if peak, is := window.Meters["cpu.resident"]; is {
			fmt.Printf("%s: needs %d MiB\n", window.Source, (peak.Peak-peak.Start)>>20)
		}
	}
	// Output: x = np.ones(1 << 27): needs 1024 MiB
}
