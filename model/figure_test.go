package model

import "testing"

// TestOwn: a forked process has its own memory beyond what it shares. Of what it copies in a window it had nothing at
// the start, so it needs it.
func TestOwn(t *testing.T) {
	figures := map[string]Figure{
		"cpu.resident":        {Start: 100, Peak: 120, End: 110},
		"cpu.resident.file":   {Start: 30, Peak: 30, End: 30},
		"cpu.resident.copied": {Start: 10, Peak: 50, End: 50},
	}
	own := Own(figures, map[string]int64{"cpu.resident": 60, "cpu.resident.file": 30})
	if f := own["cpu.resident"]; f != (Figure{Start: 0, Peak: 60, End: 50, Consumed: 50, Peaked: 10}) {
		t.Errorf("%+v", f)
	}
	if f := own["cpu.resident.file"]; f != (Figure{}) {
		t.Errorf("%+v", f)
	}
	if f := Own(figures, nil)["cpu.resident"]; f != figures["cpu.resident"] {
		t.Errorf("of a process that shares nothing: %+v", f)
	}
}
