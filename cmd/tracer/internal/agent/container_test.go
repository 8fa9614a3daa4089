package agent

import (
	"strings"
	"testing"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
)

// TestContainerSeries: a kernel in a container has the container's memory at its last boundary; another has no series.
func TestContainerSeries(t *testing.T) {
	m := metricsWith(t, func(*Config) {})
	number, k := uint64(0), (*kernel)(nil)
	s := attributiontest.New(func(e event.Event) {
		switch e := e.(type) {
		case *event.Start:
			k = newKernel(attribution.NewMonitor(), e, e.Processes[0], facts{owner: telemetry.Owner{Pod: "p"}})
			k.monitor.Add(&event.Process{ProcessInfo: e.Processes[0]})
			m.addKernel(k)
			return
		case *event.Boundary:
			e.Container = event.Container{Number: number, Usage: 3 << 20, Highest: 5 << 20, Limit: 8 << 20}
		}
		k.monitor.Add(e)
	}, 1)
	s.OpenCell(1, 0, "<ipython-input-1-aaaa>", "x")
	k.monitor.Add(&event.Lull{})
	if text := shownText(t, m, "ipytracer_container"); text != "" {
		t.Errorf("a container that is not known: %s", text)
	}
	number = 7
	s.CloseCell(1, event.OutcomeOK)
	k.monitor.Add(&event.Lull{})
	text := shownText(t, m, "ipytracer_container")
	for name, want := range map[string]string{
		"bytes": "3.145728e+06", "highest_bytes": "5.24288e+06", "limit_bytes": "8.388608e+06",
	} {
		line := "ipytracer_container_" + name +
			`{container="",kernel="0",namespace="",pod="p",user=""} ` + want + "\n"
		if !strings.Contains(text, line) {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
}
