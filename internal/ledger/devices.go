package ledger

import "ipytracer/event"

// deviceReadings completes readings with the meters of the GPUs. The kernel half sends the meters of a GPU in a record
// of their own, in front of the record to which they belong, and only if they have changed.
type deviceReadings struct {
	records map[deviceKey][]kernelBoundary // records whose boundary or reading is still to come
	process map[int32]*event.Readings      // the last readings, by pid
	tree    map[uint32]*event.Readings     // the last readings, by root
}

type deviceKey struct {
	number uint64
	pid    int32
}

// keep keeps a device's record until the record to which it belongs comes.
func (d *deviceReadings) keep(b *kernelBoundary) {
	if d.records == nil {
		d.records = map[deviceKey][]kernelBoundary{}
	}
	key := deviceKey{b.Number, b.Pid}
	d.records[key] = append(d.records[key], *b)
}

// boundary fills in the meters of the GPUs at a boundary: those in the records in front of it, and the unchanged ones.
func (d *deviceReadings) boundary(b *event.Boundary) {
	if b.Kind == event.ProcessExec || b.Kind == event.ProcessStart { // the pid has no reading of its earlier program
		delete(d.process, b.PID)
	}
	key := deviceKey{b.Number, b.PID}
	records := d.records[key]
	delete(d.records, key)
	own, tree := d.process[b.PID], d.tree[b.Root]
	if own == nil && tree == nil && records == nil {
		return
	}
	if own == nil {
		own = remember(&d.process, b.PID)
	}
	if tree == nil {
		tree = remember(&d.tree, b.Root)
	}
	fill(&b.Value, &b.High, own, records, ofProcess)
	fill(&b.Tree, &b.TreeHigh, tree, records, ofTree)
	if b.Kind == event.ProcessExit {
		delete(d.process, b.PID)
	}
}

// reading fills in the meters of the GPUs in the reading of another process of the tree.
func (d *deviceReadings) reading(r *event.Reading) {
	key := deviceKey{r.Number, r.PID}
	records := d.records[key]
	delete(d.records, key)
	own := d.process[r.PID]
	if own == nil {
		if records == nil {
			return
		}
		own = remember(&d.process, r.PID)
	}
	fill(&r.Value, &r.High, own, records, ofProcess)
}

// ofProcess returns the readings of the process in a device's record.
func ofProcess(r *kernelBoundary) (value, high [event.CPUMeters]int64) { return r.Value, r.High }

// ofTree returns the readings of the tree in a device's record.
func ofTree(r *kernelBoundary) (value, high [event.CPUMeters]int64) { return r.Tree, r.TreeHigh }

// remember adds empty readings to known, which it makes if it is nil, and returns them.
func remember[K comparable](known *map[K]*event.Readings, key K) *event.Readings {
	if *known == nil {
		*known = map[K]*event.Readings{}
	}
	fresh := &event.Readings{}
	(*known)[key] = fresh
	return fresh
}

// fill sets the meters of the GPUs in value and high: first to the last known values, then to those of the records. It
// updates known.
func fill(value, high, known *event.Readings, records []kernelBoundary,
	readingsOf func(*kernelBoundary) (value, high [event.CPUMeters]int64)) {
	copy(value[event.CPUMeters:], known[event.CPUMeters:])
	copy(high[event.CPUMeters:], known[event.CPUMeters:])
	for i := range records {
		n := int(records[i].Group) // its union has the number of the device
		if n >= event.MaxDevices {
			continue
		}
		current, highest := readingsOf(&records[i])
		for k := range event.DeviceMeter(deviceMeters) {
			m := event.OfDevice(n, k)
			value[m] = event.Bytes(current[k])
			high[m] = max(high[m], event.Bytes(highest[k])) // two records of one device: the maximum covers both
		}
	}
	copy(known[event.CPUMeters:], value[event.CPUMeters:])
}
