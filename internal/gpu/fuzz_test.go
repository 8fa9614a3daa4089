package gpu

import (
	"testing"

	"ipytracer/internal/hostile"
)

func FuzzAnswer(f *testing.F) {
	f.Add(packet(7, helperAnswer{Snapshot: Snapshot{Devices: []Device{{Processes: []Process{{PID: 1}}}}}}))
	for _, places := range [][2]string{{"", ""}, {`{"Snapshot":{"Devices":`, `}}`},
		{`{"Snapshot":{"Devices":[{"Processes":`, `}]}}`}} {
		for _, text := range hostile.JSON(1<<10, places[0], places[1]) {
			f.Add(append(question(7), text...))
		}
		for _, text := range hostile.JSON(maxAnswer-questionSize, places[0], places[1]) {
			f.Add(append(question(7), text...))
		}
	}
	hostile.Fuzz(f, 64<<20, func(t *testing.T, message []byte) {
		if a, err := parse(message, 7); err == nil && len(a.Snapshot.Devices) > maxNamed {
			t.Errorf("%d devices", len(a.Snapshot.Devices))
		}
	})
}
