package gpu

import (
	"fmt"
	"slices"
	"testing"

	"ipytracer/internal/hostile"
)

// The UUID is the one of NVIDIA's own examples.
const documented = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"

// four GPUs of one model, listed in another order than that of their bus ids.
func four() []Device {
	return []Device{
		{Index: 1, Name: "H200", PCIBusID: "00000000:1B:00.0", UUID: "GPU-11111111-d72c-4106-c12f-20bd9faed9f6"},
		{Index: 0, Name: "H200", PCIBusID: "00000000:0A:00.0", UUID: documented},
		{Index: 2, Name: "H200", PCIBusID: "00000000:2C:00.0", UUID: "GPU-1111ffff-d72c-4106-c12f-20bd9faed9f6"},
		{Index: 3, Name: "H200", PCIBusID: "00000001:0A:00.0", UUID: "GPU-33333333-d72c-4106-c12f-20bd9faed9f6"},
	}
}

// mixed are two models; sliced is one GPU in MIG mode beside a whole one.
func mixed() []Device {
	d := four()[:2]
	d[0].Name = "L4"
	return d
}

func sliced() []Device {
	d := four()[:2]
	d[0].MIG = MIGOn
	d[0].Instances = []Instance{
		{Index: 0, UUID: "MIG-aaaa", GPUInstance: 1, ComputeInstance: 0},
		{Index: 2, UUID: "MIG-bbbb", GPUInstance: 2, ComputeInstance: 0},
	}
	return d
}

// withInstances returns GPUs of which the first is in MIG mode, with so many instances.
func withInstances(n int, d []Device) []Device {
	d[0].Instances = append([]Instance(nil), d[0].Instances[:n]...)
	return d
}

// ordinalCase is an environment, and the devices that CUDA shows in it.
type ordinalCase struct {
	name    string
	devices []Device
	visible string // "unset"
	order   string
	want    string // NVML index of each ordinal, with a MIG device after a colon
	doubt   string
}

// ordinalsOfNVIDIA are from NVIDIA's text, in its order.
var ordinalsOfNVIDIA = []ordinalCase{
	{"not set: all are visible", four(), "unset", "", "[0 1 2 3]", ""},
	{"empty: none is", four(), "", "", "[]", ""},
	{"2,1 hides 0 and turns them round", four(), "2,1", "", "[2 1]", ""},
	{"0,2,-1,1 hides 1", four(), "0,2,-1,1", "", "[0 2]", ""},
	{"UUID", four(), documented, "", "[0]", ""},
	{"UUID abbreviated", four(), "GPU-8932f937", "", "[0]", ""},
	{"MIG before R470", sliced(), "MIG-GPU-11111111-d72c-4106-c12f-20bd9faed9f6/2/0", "", "[1:2]", ""},
	{"MIG from R470", sliced(), "MIG-bbbb", "", "[1:2]", ""},
	{"only one MIG device", sliced(), "MIG-bbbb,MIG-aaaa", "", "[1:2]", ""},
	{"PCI_BUS_ID", mixed(), "unset", "PCI_BUS_ID", "[0 1]", ""},
	{"FASTEST_FIRST", mixed(), "unset", "FASTEST_FIRST", "[0 1]", doubtFastest},
	{"FASTEST_FIRST is the default", mixed(), "unset", "", "[0 1]", doubtFastest},
}

var ordinalsOfLists = []ordinalCase{
	{"fastest of one", mixed()[:1], "unset", "", "[1]", ""},
	{"fastest by index", mixed(), "1", "", "[1]", doubtFastest},
	{"by UUID the order does not matter", mixed(), "GPU-1111,GPU-8932", "", "[1 0]", ""},
	{"out of range", four(), "1,4,0", "", "[1]", ""},
	{"none at all", four(), "-1", "", "[]", ""},
	{"a word", four(), "NoDevFiles", "", "[]", ""},
	{"spaces", four(), " 1, 3 ", "", "[1 3]", ""},
	{"a gap", four(), "1,,3", "", "[1]", ""},
	{"too large for a number", four(), "99999999999999999999", "", "[]", ""},
	{"digits and more", four(), "1x,2", "", "[1 2]", doubtMalformed},
	{"a sign", four(), "+1", "", "[1]", doubtMalformed},
	{"twice", four(), "1,1", "", "[]", doubtRepeated},
	{"UUID twice", four(), "GPU-8932,GPU-8932f", "", "[]", doubtRepeated},
	{"UUID ambiguous", four(), "GPU-8932,GPU-1111,GPU-3333", "", "[0]", ""},
	{"UUID unknown", four(), "GPU-3333,GPU-7777,GPU-8932", "", "[3]", ""},
	{"UUIDs then a number", four(), "GPU-3333,0", "", "[3]", doubtMalformed},
	{"a number then a UUID", four(), "0,GPU-3333", "", "[0]", doubtMalformed},
	{"no bus id", []Device{{Name: "A"}, {Index: 1, Name: "A"}}, "unset", "", "[0 1]", doubtBusID},
	{"no device", nil, "unset", "", "[]", ""},
	{"no device, one named", nil, "0", "", "[]", ""},
}

var ordinalsOfMIG = []ordinalCase{
	{"MIG unknown", sliced(), "MIG-cccc", "", "[]", ""},
	{"MIG twice", sliced(), "MIG-aaaa,MIG-aaaa", "", "[]", doubtRepeated},
	{"MIG not named", sliced(), "unset", "", "[1:0]", doubtMIG},
	{"MIG the only one", withInstances(1, sliced()[:1]), "unset", "", "[1:0]", ""},
	{"MIG by the GPU's number", sliced(), "1", "", "[1:0]", doubtMIG},
	{"the whole GPU beside it", sliced(), "GPU-8932", "", "[0]", ""},
	{"the whole GPU beside it by number", sliced(), "0", "", "[0]", doubtMIG},
	{"MIG mode without instances", withInstances(0, sliced()), "unset", "", "[0]", ""},
	{"MIG mode without instances, named", withInstances(0, sliced()), "1", "", "[]", doubtMIG},
}

func TestMapOrdinals(t *testing.T) {
	for _, c := range slices.Concat(ordinalsOfNVIDIA, ordinalsOfLists, ordinalsOfMIG) {
		t.Run(c.name, func(t *testing.T) {
			got := MapOrdinals(c.devices, Environment{
				VisibleDevices: c.visible, VisibleSet: c.visible != "unset", DeviceOrder: c.order,
			})
			names := []string{}
			for _, p := range got.Places {
				d := c.devices[p.Device]
				name := fmt.Sprint(d.Index)
				if p.Instance >= 0 {
					name += fmt.Sprint(":", d.Instances[p.Instance].Index)
				}
				names = append(names, name)
			}
			if fmt.Sprint(names) != c.want || got.Doubt != c.doubt {
				t.Errorf("CUDA_VISIBLE_DEVICES=%q: %v, doubt %q; want %s, doubt %q",
					c.visible, names, got.Doubt, c.want, c.doubt)
			}
		})
	}
}

// With any environment, each ordinal is a device that is there, and none is there twice.
func FuzzMapOrdinals(f *testing.F) {
	for _, v := range []string{"", "0,2,-1,1", documented, "MIG-GPU-11111111-d72c-4106-c12f-20bd9faed9f6/2/0",
		"1x, +2,,", "GPU-,GPU-1"} {
		f.Add(v, "PCI_BUS_ID")
	}
	hostile.Fuzz(f, 64<<20, func(t *testing.T, visible, order string) {
		for _, devices := range [][]Device{nil, four(), mixed(), sliced()} {
			got := MapOrdinals(devices, Environment{VisibleDevices: visible, VisibleSet: true, DeviceOrder: order})
			for i, p := range got.Places {
				if p.Device < 0 || p.Device >= len(devices) || p.Instance >= len(devices[p.Device].Instances) {
					t.Fatalf("%q: no such place %+v", visible, p)
				}
				if slices.Contains(got.Places[:i], p) {
					t.Fatalf("%q: %+v twice", visible, p)
				}
			}
		}
	})
}
