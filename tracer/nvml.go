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
	last   gpu.Snapshot
	taken  time.Time     // when it was asked last
	cost   time.Duration // of that
	used   map[int32]*event.Readings
}

// How often NVML is asked: it must not take more than a twentieth of the time.
const (
	nvmlShare = 20
	nvmlPause = 10 * time.Millisecond
	nodePause = time.Second // between two looks for the driver's devices
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

// due says whether it may be asked again.
func (c *charges) due() bool {
	pause := max(nvmlShare*c.cost, nvmlPause)
	if c.early {
		pause = nodePause
	}
	return c.taken.IsZero() || time.Since(c.taken) >= pause
}

// ask asks anew. Once it fails for good there is nobody to ask.
func (c *charges) ask() error {
	if c.helper == nil {
		return cmp.Or(c.why, errNotAsked)
	}
	began := time.Now()
	last, err := c.helper.Snapshot()
	c.taken, c.cost = time.Now(), time.Since(began)
	c.early = errors.Is(err, nvmlhelper.ErrNoDevices)
	switch {
	case errors.Is(err, gpu.ErrNoNVML), errors.Is(err, nvmlhelper.ErrEnded):
		c.end(err)
		return err
	case err != nil:
		return err
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
