package ledger

import "ipytracer/event"

// deviceReadings completes readings with the meters of the GPUs. The kernel sends those of a device only when they
// changed, in front of the record to which they belong; a meter that it does not send is unchanged.
type deviceReadings struct {
	records map[deviceKey][]kernelBoundary
	process map[int32]*event.Readings
	tree    map[uint32]*event.Readings
}

type deviceKey struct {
	number uint64
	pid    int32
}

// keep holds a device's record until the record it belongs to comes.
func (d *deviceReadings) keep(b *kernelBoundary) {
	if d.records == nil {
		d.records = map[deviceKey][]kernelBoundary{}
	}
	key := deviceKey{b.Number, b.Pid}
	d.records[key] = append(d.records[key], *b)
}

// boundary fills in the readings of the records in front of it, and the unchanged ones.
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
	fill(&b.Value, &b.High, own, records,
		func(r *kernelBoundary) ([event.CPUMeters]int64, [event.CPUMeters]int64) { return r.Value, r.High })
	fill(&b.Tree, &b.TreeHigh, tree, records,
		func(r *kernelBoundary) ([event.CPUMeters]int64, [event.CPUMeters]int64) { return r.Tree, r.TreeHigh })
	if b.Kind == event.ProcessExit {
		delete(d.process, b.PID)
	}
}

// reading fills in the readings of another process of the tree.
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
	fill(&r.Value, &r.High, own, records,
		func(r *kernelBoundary) ([event.CPUMeters]int64, [event.CPUMeters]int64) { return r.Value, r.High })
}

func remember[K comparable](in *map[K]*event.Readings, key K) *event.Readings {
	if *in == nil {
		*in = map[K]*event.Readings{}
	}
	fresh := &event.Readings{}
	(*in)[key] = fresh
	return fresh
}

// fill copies the known readings, and then those of the records. It updates known.
func fill(value, high, known *event.Readings, records []kernelBoundary,
	of func(*kernelBoundary) (value, high [event.CPUMeters]int64)) {
	copy(value[event.CPUMeters:], known[event.CPUMeters:])
	copy(high[event.CPUMeters:], known[event.CPUMeters:])
	for i := range records {
		n := int(records[i].Group) // its union has the number of the device
		if n >= event.MaxDevices {
			continue
		}
		now, most := of(&records[i])
		for k := range event.DeviceMeter(deviceMeters) {
			m := event.OfDevice(n, k)
			value[m] = event.Bytes(now[k])
			high[m] = max(high[m], event.Bytes(most[k])) // two records of one device: the maximum covers both
		}
	}
	copy(known[event.CPUMeters:], value[event.CPUMeters:])
}
