package tracer

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/gpu"
	"ipytracer/tracer/gpu/nvmlhelper"
	"ipytracer/tracer/host/userfile"
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
	taken  time.Time                 // when it answered last
	cost   time.Duration             // of that; 0 for the answer that NVML started for
	ending time.Duration             // of the session's, for the questions that nothing came after
	used   map[int32]*event.Readings // nil: NVML has only named the devices

	first    chan nvmlAnswer // where what NVML starts for arrives; nil: nobody waits for it
	patience time.Duration   // how long the session may wait for it still
}

// nvmlAnswer is what the helper says, when it was asked, and how long that took.
type nvmlAnswer struct {
	last  gpu.Snapshot
	err   error
	asked time.Time
	cost  time.Duration
}

// How often NVML is asked: it must not take more than a twentieth of the time. The answer that it starts for, which
// wakes GPUs, comes on top, and so do the questions at the end of targets, which nothing comes after, for a second in
// all.
//
// That answer can take many seconds. It is asked for beside the session, which waits for nvmlStart in all, at the
// places that need it: whoever is known early has the right numbers from the beginning. After that it joins at the next
// cell. What it says of charges is of some instant since it was asked: who comes later takes from it which devices
// there are, and asks for the charges anew.
const (
	nvmlStart  = time.Second
	nvmlShare  = 20
	nvmlPause  = 10 * time.Millisecond
	nodePause  = time.Second // between two looks for the driver's devices, at least
	nvmlEnding = time.Second
)

var (
	errNotAsked = errors.New("this session, which keeps its rights, does not ask NVML")
	errStarting = errors.New("NVML had not started when the session ended")
)

// startPatience is nvmlStart in a build for tests (-ldflags -X), of which the machine may be busy; "" in any other.
var startPatience string

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
	c.helper, c.patience = helper, nvmlStart
	if longer, err := time.ParseDuration(startPatience); err == nil {
		c.patience = longer
	}
}

// isStarting reports whether NVML was asked for the first time, and has not answered.
func (c *charges) isStarting() bool { return c.first != nil }

// due reports whether it may be asked again. last: nothing comes after it.
func (c *charges) due(last bool) bool {
	if c.isStarting() {
		return true
	}
	pause := max(nvmlShare*c.cost, nvmlPause)
	if c.early {
		pause = max(pause, nodePause)
	}
	return c.taken.IsZero() || time.Since(c.taken) >= pause || last && c.ending < nvmlEnding
}

// ask asks anew: the charges are of an instant behind the call, or there are none of that answer. Once it fails for
// good there is nobody to ask. Until NVML has started it fails with errStarting, after what is left of the session's
// patience, or that of a target's end.
func (c *charges) ask(last bool) error {
	if c.helper == nil {
		return cmp.Or(c.why, errNotAsked)
	}
	came := time.Now()
	if !c.began {
		a, there := c.askFirst(last)
		if !there {
			return errStarting
		}
		if err := c.take(a); err != nil || !a.asked.Before(came) {
			return err
		}
		c.used = nil // NVML has started, and what it says is of a time that is over
		came = time.Now()
	}
	all, err := c.helper.Snapshot()
	return c.take(nvmlAnswer{all, err, came, time.Since(came)})
}

// askFirst asks for the first time, or joins who did, and waits.
func (c *charges) askFirst(last bool) (a nvmlAnswer, there bool) {
	c.startNVML()
	began, wait := time.Now(), c.patience
	if last {
		wait = max(wait, nvmlEnding-c.ending)
	}
	a, there = c.started(wait)
	c.patience = max(0, c.patience-time.Since(began))
	return a, there
}

// startNVML asks for the first time, beside the session, unless that is under way. One question at a time is: the
// helper has a limit of its own.
func (c *charges) startNVML() {
	if c.helper == nil || c.began || c.isStarting() {
		return
	}
	helper, first, asked := c.helper, make(chan nvmlAnswer, 1), time.Now()
	c.first = first
	go func() {
		last, err := helper.Snapshot()
		first <- nvmlAnswer{last, err, asked, time.Since(asked)} // there is room, also where nobody wants it any more
	}()
}

// started waits for the first answer.
func (c *charges) started(wait time.Duration) (a nvmlAnswer, there bool) {
	late := time.NewTimer(max(0, wait))
	defer late.Stop()
	select {
	case a = <-c.first:
	default:
		select {
		case a = <-c.first:
		case <-late.C:
			return a, false
		}
	}
	c.first = nil
	return a, true
}

// take takes an answer in.
func (c *charges) take(a nvmlAnswer) error {
	err := a.err
	c.taken, c.cost, c.failed = a.asked.Add(a.cost), a.cost, err
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
	c.last = a.last
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
	c.helper, c.why, c.early, c.first = nil, why, false, nil
}
