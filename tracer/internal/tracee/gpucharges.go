package tracee

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/internal/gpu"
	"ipytracer/internal/host/privileges"
)

// nvml is the part of [gpu.Helper] that a session uses.
type nvml interface {
	Snapshot() (gpu.Snapshot, error)
	Close()
}

// Charges are the amounts of memory that NVML charges to processes, from its latest answer.
type Charges struct {
	Helper nvml  // nil: NVML cannot be asked
	Why    error // the reason for a nil helper
	early  bool  // the driver has no devices yet: NVML is asked again
	began  bool  // NVML has started, and has answered
	failed error // why the latest question failed: last is from an earlier one
	Last   gpu.Snapshot
	Taken  time.Time                 // time of the latest answer
	cost   time.Duration             // of the latest answer; 0 for the answer that started NVML
	ending time.Duration             // time spent on the last questions at the end of targets
	used   map[int32]*event.Readings // by pid; nil: NVML has only named the devices

	first    chan nvmlAnswer // receives the answer that starts NVML; nil: none is awaited
	Patience time.Duration   // how long the session may still wait for that answer
}

// nvmlAnswer is an answer of the helper, with the time of the question and its duration.
type nvmlAnswer struct {
	last  gpu.Snapshot
	err   error
	asked time.Time
	cost  time.Duration
}

// Questions to NVML may take at most 1/NVMLShare of the time. Not counted are the first question, which wakes the GPUs,
// and the last questions at the ends of targets, for NVMLEnding in all.
//
// The first answer can take many seconds, so the question runs beside the session. Where the answer is needed, the
// session waits for it, for NVMLStart in all, so that early processes have the right numbers from the beginning. An
// answer that comes later is used at the next cell. The time of its charges is not known, so only its devices are used,
// and the charges are asked for again.
const (
	NVMLStart  = time.Second
	NVMLShare  = 20
	nvmlPause  = 10 * time.Millisecond
	nodePause  = time.Second // between two looks for the driver's devices, at least
	NVMLEnding = time.Second
)

var (
	errNotAsked = errors.New("this session, which keeps its rights, does not ask NVML")
	ErrStarting = errors.New("NVML had not started when the session ended")
)

// startPatience replaces nvmlStart in a build for tests (-ldflags -X) on a busy machine; it is "" in any other.
var startPatience string

// Start starts the helper, if there is a library to load. It must be called before this program is confined.
func (c *Charges) Start(as *privileges.User) {
	if missing := gpu.Missing(); missing != nil {
		c.Why = missing
		return
	}
	helper, err := gpu.StartHelper(as)
	if err != nil {
		c.Why = err
		return
	}
	c.Helper, c.Patience = helper, NVMLStart
	if longer, err := time.ParseDuration(startPatience); err == nil {
		c.Patience = longer
	}
}

// IsStarting reports whether NVML was asked for the first time and has not answered.
func (c *Charges) IsStarting() bool { return c.first != nil }

// due reports whether NVML may be asked again. last: it is the last question of a target.
func (c *Charges) due(last bool) bool {
	if c.IsStarting() {
		return true
	}
	pause := max(NVMLShare*c.cost, nvmlPause)
	if c.early {
		pause = max(pause, nodePause)
	}
	return c.Taken.IsZero() || time.Since(c.Taken) >= pause || last && c.ending < NVMLEnding
}

// Ask asks NVML. Afterwards the charges are of a time after the call, or there are none. Until NVML has started, Ask
// waits for what is left of Patience, or with last of NVMLEnding, and then fails with [ErrStarting]. After a permanent
// failure NVML is not asked again.
func (c *Charges) Ask(last bool) error {
	if c.Helper == nil {
		return cmp.Or(c.Why, errNotAsked)
	}
	asked := time.Now()
	if !c.began {
		a, ok := c.askFirst(last)
		if !ok {
			return ErrStarting
		}
		if err := c.take(a); err != nil || !a.asked.Before(asked) {
			return err
		}
		c.used = nil // these charges are of a time before the call
		asked = time.Now()
	}
	snapshot, err := c.Helper.Snapshot()
	return c.take(nvmlAnswer{snapshot, err, asked, time.Since(asked)})
}

// askFirst asks for the first time, or joins a question under way, and waits.
func (c *Charges) askFirst(last bool) (a nvmlAnswer, ok bool) {
	c.startNVML()
	began, wait := time.Now(), c.Patience
	if last {
		wait = max(wait, NVMLEnding-c.ending)
	}
	a, ok = c.started(wait)
	c.Patience = max(0, c.Patience-time.Since(began))
	return a, ok
}

// startNVML asks NVML for the first time, beside the session, unless that question is under way. Only one question runs
// at a time: the helper itself allows no more.
func (c *Charges) startNVML() {
	if c.Helper == nil || c.began || c.IsStarting() {
		return
	}
	helper, first, asked := c.Helper, make(chan nvmlAnswer, 1), time.Now()
	c.first = first
	go func() {
		last, err := helper.Snapshot()
		first <- nvmlAnswer{last, err, asked, time.Since(asked)} // the channel has room: this never blocks
	}()
}

// started waits for the first answer.
func (c *Charges) started(wait time.Duration) (a nvmlAnswer, ok bool) {
	select {
	case a = <-c.first:
	default:
		select {
		case a = <-c.first:
		case <-time.After(wait):
			return a, false
		}
	}
	c.first = nil
	return a, true
}

// take stores an answer.
func (c *Charges) take(a nvmlAnswer) error {
	err := a.err
	c.Taken, c.cost, c.failed = a.asked.Add(a.cost), a.cost, err
	c.early = errors.Is(err, gpu.ErrNoDevices)
	switch {
	case errors.Is(err, gpu.ErrNoNVML), errors.Is(err, gpu.ErrEnded):
		c.End(err)
		return err
	case err != nil:
		return err
	}
	if !c.began { // the time to start NVML is not the cost of a question
		c.began, c.cost = true, 0
	}
	c.Last = a.last
	c.count()
	return nil
}

// count computes the memory of each process on each GPU.
func (c *Charges) count() {
	c.used = map[int32]*event.Readings{}
	for _, device := range c.Last.Devices {
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

// answered reports whether NVML has named any device.
func (c *Charges) answered() bool { return len(c.Last.Devices) > 0 }

// End ends the helper, for a reason: NVML is not asked any more.
func (c *Charges) End(why error) {
	if c.Helper != nil {
		c.Helper.Close()
	}
	c.Helper, c.Why, c.early, c.first = nil, why, false, nil
}
