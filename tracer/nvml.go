package tracer

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/gpu"
	"ipytracer/tracer/nvmlhelper"
	"ipytracer/tracer/userfile"
)

// nvml is what a session asks: [nvmlhelper.Helper].
type nvml interface {
	Snapshot() (gpu.Snapshot, error)
	Close()
}

// charges are what NVML charges to processes, as it said when it was asked last.
type charges struct {
	helper nvml  // nil: there is nobody to ask
	why    error // and why
	early  bool  // the driver has no devices yet: it is asked again
	began  bool  // NVML has started, and has answered
	failed error // why the last question has no answer: last is of an earlier one
	last   gpu.Snapshot
	taken  time.Time     // when it was asked last
	cost   time.Duration // of that; 0 for the answer that NVML started for
	ending time.Duration // cost of the questions that nothing came after
	used   map[int32]*event.Readings
}

// How often NVML is asked: it must not take more than a twentieth of the time. The answer that it starts for, which wakes GPUs, comes on top, and so
// do the questions at the end of targets, which nothing comes after, for a second in all.
const (
	nvmlShare  = 20
	nvmlPause  = 10 * time.Millisecond
	nodePause  = time.Second // between two looks for the driver's devices, at least
	nvmlEnding = time.Second
)

var errNotAsked = errors.New("this session, which keeps its rights, does not ask NVML")

// start starts the helper, where there is a library to load. This program must not be confined yet.
func (c *charges) start(as *userfile.User) {
	if missing := gpu.Missing(); missing != nil {
		c.why = missing
		return
	}
	helper, err := nvmlhelper.Start(as)
	if err != nil {
		c.why = err
		return
	}
	c.helper = helper
}

// due reports whether it may be asked again. last: nothing comes after it.
func (c *charges) due(last bool) bool {
	pause := max(nvmlShare*c.cost, nvmlPause)
	if c.early {
		pause = max(pause, nodePause)
	}
	return c.taken.IsZero() || time.Since(c.taken) >= pause || last && c.ending < nvmlEnding
}

// ask asks anew. Once it fails for good there is nobody to ask.
func (c *charges) ask() error {
	if c.helper == nil {
		return cmp.Or(c.why, errNotAsked)
	}
	began := time.Now()
	last, err := c.helper.Snapshot()
	c.taken, c.cost, c.failed = time.Now(), time.Since(began), err
	c.early = errors.Is(err, nvmlhelper.ErrNoDevices)
	switch {
	case errors.Is(err, gpu.ErrNoNVML), errors.Is(err, nvmlhelper.ErrEnded):
		c.end(err)
		return err
	case err != nil:
		return err
	}
	if !c.began { // what it took to start is not the price of asking
		c.began, c.cost = true, 0
	}
	c.last = last
	c.count()
	return nil
}

// count takes in what each process has on each GPU.
func (c *charges) count() {
	c.used = map[int32]*event.Readings{}
	for _, device := range c.last.Devices {
		if device.Index < 0 || device.Index >= event.MaxDevices {
			continue
		}
		processes := device.Processes
		for _, i := range device.Instances {
			processes = append(slices.Clip(processes), i.Processes...)
		}
		for _, p := range processes {
			if !p.UsedKnown {
				continue
			}
			r := c.used[int32(p.PID)]
			if r == nil {
				r = &event.Readings{}
				c.used[int32(p.PID)] = r
			}
			r[event.OfDevice(device.Index, event.Unattributed)] += event.Bytes(p.Used)
		}
	}
}

// answered says whether NVML has said anything.
func (c *charges) answered() bool { return len(c.last.Devices) > 0 }

// end asks nothing any more.
func (c *charges) end(why error) {
	if c.helper != nil {
		c.helper.Close()
	}
	c.helper, c.why, c.early = nil, why, false
}
