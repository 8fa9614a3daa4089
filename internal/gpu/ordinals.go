package gpu

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Environment has the variables that decide which devices CUDA shows to a process. The values are those from when the
// process initialized CUDA.
type Environment struct {
	VisibleDevices string // CUDA_VISIBLE_DEVICES
	VisibleSet     bool   // false: CUDA_VISIBLE_DEVICES is not set, which is not the same as set to ""
	DeviceOrder    string // CUDA_DEVICE_ORDER; "" not set
}

// Place says which device a CUDA ordinal means.
type Place struct {
	Device   int // position in the slice of devices that was given
	Instance int // position in its Instances; -1 the whole device
}

// Ordinals has the device of each CUDA ordinal of a process, from 0.
type Ordinals struct {
	Places []Place
	// Doubt says why the places are only the most likely ones; "" if they are certain. Memory should not be charged to
	// a device because of a doubtful place. The driver's cuDeviceGetUuid is certain.
	Doubt string
}

// The reasons for doubt.
const (
	doubtFastest = "the GPUs are of different models, and CUDA puts the fastest first; only it knows which that is " +
		"(CUDA_DEVICE_ORDER=PCI_BUS_ID orders them by place)"
	doubtBusID     = "the PCI bus id of a GPU is unknown"
	doubtMIG       = "some GPUs are in MIG mode; CUDA shows one MIG device, the first that the process may use"
	doubtRepeated  = "CUDA_VISIBLE_DEVICES names a device twice, which NVIDIA does not define"
	doubtMalformed = "CUDA_VISIBLE_DEVICES has an entry that NVIDIA does not define"
)

// MapOrdinals returns the devices that a process knows as its CUDA devices 0, 1, …. devices are those that the process
// can reach: in a container those that it was given, and not all of the machine. MapOrdinals is a pure function.
//
// Sources: "CUDA Environment Variables" in NVIDIA's CUDA Programming Guide, and "CUDA Device Enumeration" in its MIG
// User Guide. They do not define repeated entries, and numbers that are followed by other text. For these the result is
// what PyTorch expects of the driver when it counts devices without CUDA (torch.cuda._parse_visible_devices), and is in
// doubt.
func MapOrdinals(devices []Device, env Environment) Ordinals {
	m := &mapping{devices: devices}
	m.sort(env.DeviceOrder)
	switch {
	case !env.VisibleSet:
		m.all()
	case strings.HasPrefix(env.VisibleDevices, "GPU-"):
		m.uuids(strings.Split(env.VisibleDevices, ","))
	case strings.HasPrefix(env.VisibleDevices, "MIG-"):
		m.mig(strings.Split(env.VisibleDevices, ","))
	default:
		m.indices(strings.Split(env.VisibleDevices, ","))
	}
	return m.out
}

type mapping struct {
	devices   []Device
	order     []int  // positions in devices, as CUDA counts them
	uncertain string // why the order is in doubt
	out       Ordinals
}

// sort orders the devices by PCI bus id. CUDA's default, FASTEST_FIRST, is a heuristic of the driver; for GPUs of one
// model it gives the same order.
func (m *mapping) sort(order string) {
	m.order = make([]int, len(m.devices))
	for i := range m.order {
		m.order[i] = i
	}
	if len(m.devices) < 2 {
		return
	}
	slices.SortStableFunc(m.order,
		func(a, b int) int { return cmp.Compare(m.devices[a].PCIBusID, m.devices[b].PCIBusID) })
	for _, d := range m.devices {
		if d.PCIBusID == "" {
			m.uncertain = doubtBusID
		} else if order != "PCI_BUS_ID" && (d.Name != m.devices[0].Name || d.Name == "") {
			m.uncertain = doubtFastest
		}
	}
}

// doubt records a reason for doubt. The first reason counts.
func (m *mapping) doubt(why string) {
	if m.out.Doubt == "" {
		m.out.Doubt = why
	}
}

// all sets the places for an environment without a list: all devices, or one MIG device, because a process that can see
// a MIG device sees only that.
func (m *mapping) all() {
	total := 0
	first := Place{-1, -1}
	for _, at := range m.order {
		d := m.devices[at]
		total += len(d.Instances)
		if len(d.Instances) > 0 && first.Device < 0 {
			first = Place{at, 0}
		}
		if d.MIG == MIGUnknown {
			m.doubt(doubtMIG)
		}
	}
	if first.Device >= 0 {
		m.out.Places = []Place{first}
		if total > 1 {
			m.doubt(doubtMIG)
		}
		return
	}
	for _, at := range m.order {
		if m.devices[at].MIG != MIGOn { // a device in MIG mode without instances is none for CUDA
			m.out.Places = append(m.out.Places, Place{at, -1})
		}
	}
	if len(m.out.Places) > 1 {
		m.doubt(m.uncertain)
	}
}

// indices sets the places for a list of numbers. The first entry that is no device ends the list.
func (m *mapping) indices(list []string) {
	for _, entry := range list {
		number := strings.TrimSpace(entry)
		index, plain := leadingNumber(number)
		if index < 0 || index >= len(m.order) {
			if strings.HasPrefix(number, "GPU-") || strings.HasPrefix(number, "MIG-") {
				m.doubt(doubtMalformed)
			}
			break
		}
		if !plain {
			m.doubt(doubtMalformed)
		}
		if !m.add(m.order[index]) {
			return
		}
	}
	if len(m.out.Places) == 0 {
		return
	}
	m.doubt(m.uncertain)
	if slices.ContainsFunc(m.devices, func(d Device) bool { return d.MIG == MIGOn }) {
		m.doubt(doubtMIG) // NVIDIA does not document how CUDA counts then
	}
}

// uuids sets the places for a list of UUIDs or prefixes of UUIDs. The first entry that means no device, or several,
// ends the list.
func (m *mapping) uuids(list []string) {
	for _, entry := range list {
		if !strings.HasPrefix(entry, "GPU-") {
			if entry != "" && entry != "-1" {
				m.doubt(doubtMalformed)
			}
			return
		}
		at := -1
		for i, d := range m.devices {
			if !strings.HasPrefix(d.UUID, entry) {
				continue
			}
			if at >= 0 {
				return
			}
			at = i
		}
		if at < 0 || !m.add(at) {
			return
		}
	}
}

// add makes a device the next ordinal. It returns false if the list ends here.
func (m *mapping) add(at int) bool {
	if slices.ContainsFunc(m.out.Places, func(p Place) bool { return p.Device == at }) {
		m.out.Places = nil
		m.doubt(doubtRepeated)
		return false
	}
	d := m.devices[at]
	switch {
	case d.MIG == MIGUnknown:
		m.doubt(doubtMIG)
	case d.MIG == MIGOn && len(d.Instances) == 0:
		m.doubt(doubtMIG)
		return false
	case d.MIG == MIGOn:
		m.doubt(doubtMIG)
		m.out.Places = append(m.out.Places, Place{at, 0})
		return true
	}
	m.out.Places = append(m.out.Places, Place{at, -1})
	return true
}

// mig sets the place for a list of MIG devices: "MIG-<UUID>" since R470, "MIG-<GPU UUID>/<GPU instance>/<compute
// instance>" before. CUDA shows only one MIG device, so only the first entry counts.
func (m *mapping) mig(list []string) {
	for i, d := range m.devices {
		for j, in := range d.Instances {
			old := "MIG-" + d.UUID + "/" + strconv.Itoa(in.GPUInstance) + "/" + strconv.Itoa(in.ComputeInstance)
			if list[0] == in.UUID || list[0] == old {
				m.out.Places = []Place{{i, j}}
			}
		}
	}
	if slices.Contains(list[1:], list[0]) {
		m.out.Places = nil
		m.doubt(doubtRepeated)
	}
}

// leadingNumber returns the number at the beginning of a text; -1 if there is none. plain reports whether the text is
// only the number.
func leadingNumber(text string) (n int, plain bool) {
	digits := strings.TrimPrefix(text, "+")
	end := 0
	for end < len(digits) && digits[end] >= '0' && digits[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(digits[:end])
	if err != nil {
		return -1, false
	}
	return n, end == len(text)
}
