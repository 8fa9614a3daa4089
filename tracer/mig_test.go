package tracer

import (
	"testing"

	"ipytracer/event"
	"ipytracer/internal/gpu"
	"ipytracer/tracer/internal/tracee"
)

// TestMIG: the memory of a process on a MIG device is limited by that of the device, not of the GPU.
func TestMIG(t *testing.T) {
	const gib = 1 << 30
	memory := func(n int64) gpu.Memory { return gpu.Memory{Known: true, Total: n * gib} }
	small := gpu.Instance{Index: 0, UUID: "MIG-aaaa", Name: "MIG 1g.18gb", Memory: memory(17)}
	large := gpu.Instance{Index: 1, UUID: "MIG-bbbb", Name: "MIG 3g.71gb", Memory: memory(70)}
	for name, c := range map[string]struct {
		environment string
		mode        gpu.MIGMode
		instances   []gpu.Instance
		want        string
		memory      event.Bytes
	}{
		"no MIG": {mode: gpu.MIGOff, want: "Stand-in", memory: 140 * gib},
		"by its UUID": {environment: "CUDA_VISIBLE_DEVICES=MIG-bbbb\x00", mode: gpu.MIGOn,
			instances: []gpu.Instance{small, large}, want: "Stand-in MIG 3g.71gb", memory: 70 * gib},
		"the only one": {mode: gpu.MIGOn, instances: []gpu.Instance{small}, want: "Stand-in MIG 1g.18gb",
			memory: 17 * gib},
		"one, nobody knows": {mode: gpu.MIGOn, instances: []gpu.Instance{small, large}, want: "Stand-in"},
		"none":              {mode: gpu.MIGOn, want: "Stand-in"},
	} {
		t.Run(name, func(t *testing.T) {
			state := using(0)
			g := &state.Devices[0]
			g.Memory, g.MIG, g.Instances = memory(140), c.mode, c.instances
			s := newGPUSession(t, c.environment, []string{"0"}, state)
			s.Identify(s.target, false)
			if got := s.Named(); len(got) != 1 || got[0].Name != c.want || got[0].Memory != c.memory {
				t.Errorf("got %+v", got)
			}
		})
	}
	var several tracee.MIGShares
	several.Note([]gpu.Device{{MIG: gpu.MIGOn, Instances: []gpu.Instance{small, large}}},
		gpu.Ordinals{Places: []gpu.Place{{Instance: 0}, {Instance: 1}, {Instance: 1}}})
	named := event.GPU{Name: "Stand-in", Memory: 140 * gib}
	several.Limit(&gpu.Device{MIG: gpu.MIGOn, Instances: []gpu.Instance{small, large}}, &named)
	if named.Memory != 0 || named.Name != "Stand-in" {
		t.Errorf("two targets on two of its devices: %+v", named)
	}
}
