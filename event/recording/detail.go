package recording

import (
	"encoding/json"
	"fmt"

	"ipytracer/event"
)

// Rare events that have lists are stored as JSON in the column detail. The types below have the fields of the event's
// types, with public names. Where an event gains a field, the conversion between the two fails to compile.

type hostDetail struct {
	Name     string            `json:"name"`
	Kernel   string            `json:"kernel"`
	CPUs     int               `json:"cpus"`
	Memory   event.Bytes       `json:"memory"`
	Tracer   string            `json:"tracer"`
	BootID   string            `json:"boot_id"`
	WallNow  event.Nanoseconds `json:"wall_now_ns"`
	MonoNow  event.Nanoseconds `json:"mono_now_ns"`
	PageSize event.Bytes       `json:"page_size,omitempty"`
}

type processDetail struct {
	Root     uint32        `json:"root"`
	PID      int32         `json:"pid"`
	Command  string        `json:"command"`
	Python   string        `json:"python"`
	IPython  string        `json:"ipython"`
	Frontend string        `json:"frontend"`
	Notebook string        `json:"notebook,omitempty"`
	Late     bool          `json:"late"`
	Inputs   int64         `json:"inputs"`
	Limit    event.Bytes   `json:"limit,omitempty"`
	LimitBy  event.LimitBy `json:"limit_by,omitempty"`
	Started  uint64        `json:"started,omitempty"`
}

type meterDetail struct {
	Meter  meterName   `json:"meter"`
	Source string      `json:"source"`
	Exact  bool        `json:"exact"`
	Bound  event.Bytes `json:"bound"`
	Absent bool        `json:"absent"`
}

type startDetail struct {
	Host      hostDetail          `json:"host"`
	Processes list[processDetail] `json:"processes"`
	Meters    list[meterDetail]   `json:"meters"`
	Command   []string            `json:"command"`
}

type lossDetail struct {
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

type unprobedDetail struct {
	PID     int32             `json:"pid"`
	Meter   meterName         `json:"meter"`
	Since   event.Nanoseconds `json:"since_ns"`
	Until   event.Nanoseconds `json:"until_ns,omitempty"`
	OfChild bool              `json:"of_child,omitempty"`
}

type probeDetail struct {
	Probe       string            `json:"probe"`
	Site        string            `json:"site"`
	Hits        uint64            `json:"hits"`
	Cost        event.Nanoseconds `json:"cost_ns,omitempty"`
	Dear        string            `json:"dear,omitempty"`
	DearMachine bool              `json:"dear_machine,omitempty"`
}

type frameDetail struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int32  `json:"line"`
	Input    int32  `json:"input,omitempty"`
	Native   bool   `json:"native,omitempty"`
	Module   string `json:"module,omitempty"`
}

type stackDetail struct {
	Frames list[frameDetail] `json:"frames"`
	More   bool              `json:"more"`
}

type viewerDetail struct {
	Paths   []string         `json:"paths"`
	Type    string           `json:"type"`
	How     []event.ViewCopy `json:"how"`
	Used    event.Bytes      `json:"used"`
	Outputs []int            `json:"outputs"`
	Fixed   bool             `json:"fixed,omitempty"`
}

type viewDetail struct {
	Address uint64             `json:"address"`
	Size    event.Bytes        `json:"size"`
	Used    event.Bytes        `json:"used"`
	Copies  event.Bytes        `json:"copies"`
	Small   event.Bytes        `json:"small"`
	Type    string             `json:"type"`
	Collect bool               `json:"collect,omitempty"`
	Viewers list[viewerDetail] `json:"viewers"`
}

func viewToDetail(v event.View) viewDetail {
	return viewDetail{
		v.Address, v.Size, v.Used, v.Copies, v.Small, v.Type, v.Collect,
		convert(v.Viewers, func(x event.Viewer) viewerDetail { return viewerDetail(x) }),
	}
}

func viewFromDetail(v viewDetail) event.View {
	return event.View{
		Address: v.Address, Size: v.Size, Used: v.Used, Copies: v.Copies, Small: v.Small, Type: v.Type,
		Collect: v.Collect, Viewers: convert(v.Viewers, func(x viewerDetail) event.Viewer { return event.Viewer(x) }),
	}
}

type holdersDetail struct {
	Root     uint32             `json:"root"`
	Complete bool               `json:"complete"`
	Pool     string             `json:"pool,omitempty"`
	Objects  int64              `json:"objects"`
	Holders  list[holderDetail] `json:"holders"`
	Views    list[viewDetail]   `json:"views"`
}

type gpuDetail struct {
	Index    int         `json:"index"`
	UUID     string      `json:"uuid"`
	PCIBusID string      `json:"pci_bus_id"`
	Name     string      `json:"name"`
	Memory   event.Bytes `json:"memory"`
	Shared   bool        `json:"shared,omitempty"`
}

type shellDetail struct {
	PID    int32             `json:"pid"`
	Time   event.Nanoseconds `json:"time_ns"`
	Inputs int64             `json:"inputs"`
	Idle   bool              `json:"idle"`
}

type finishDetail struct {
	Time      event.Nanoseconds    `json:"time_ns"`
	Reason    string               `json:"reason"`
	Made      uint64               `json:"made"`
	Delivered uint64               `json:"delivered"`
	Lost      list[lossDetail]     `json:"lost"`
	Unprobed  list[unprobedDetail] `json:"blind"`
	Late      []string             `json:"late"`
	Probes    list[probeDetail]    `json:"probes"`
	GPUs      list[gpuDetail]      `json:"gpus"`
	Problems  []string             `json:"problems"`
	Unnamed   []string             `json:"unnamed"`
	Shells    list[shellDetail]    `json:"shells"`
	// Settled: the event is an event.Settled: a look at objects follows, and then the Finish.
	// Holders: that look searches for the holders of blocks.
	Settled bool `json:"settled,omitempty"`
	Holders bool `json:"holders,omitempty"`
}

// meterName is a meter that is written as its public id.
type meterName event.Meter

func (m meterName) MarshalText() ([]byte, error) {
	if event.Meter(m) >= event.MeterCount {
		return nil, fmt.Errorf("%w: meter %d", ErrEvent, m)
	}
	return []byte(event.Meter(m).String()), nil
}

func (m *meterName) UnmarshalText(text []byte) error {
	meter, ok := event.ParseMeter(string(text))
	if !ok {
		return fmt.Errorf("unknown meter %.60q", text)
	}
	*m = meterName(meter)
	return nil
}

func startToJSON(s *event.Start) ([]byte, error) {
	return json.Marshal(startDetail{
		Host:      hostDetail(s.Host),
		Processes: convert(s.Processes, func(p event.ProcessInfo) processDetail { return processDetail(p) }),
		Meters: convert(s.Meters, func(m event.MeterSource) meterDetail {
			return meterDetail{meterName(m.Meter), m.Source, m.Exact, m.Bound, m.Absent}
		}),
		Command: s.Command,
	})
}

func startFromJSON(text []byte) (*event.Start, error) {
	var d startDetail
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	return &event.Start{
		Host:      event.Host(d.Host),
		Processes: convert(d.Processes, func(p processDetail) event.ProcessInfo { return event.ProcessInfo(p) }),
		Meters: convert(d.Meters, func(m meterDetail) event.MeterSource {
			return event.MeterSource{
				Meter: event.Meter(m.Meter), Source: m.Source, Exact: m.Exact, Bound: m.Bound, Absent: m.Absent,
			}
		}),
		Command: d.Command,
	}, nil
}

func processToJSON(p *event.Process) ([]byte, error) {
	return json.Marshal(processDetail(p.ProcessInfo))
}

func processFromJSON(text []byte) (*event.Process, error) {
	var d processDetail
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	return &event.Process{ProcessInfo: event.ProcessInfo(d)}, nil
}

func stackToJSON(s *event.Stack) ([]byte, error) {
	return json.Marshal(stackDetail{
		Frames: convert(s.Frames, func(f event.Frame) frameDetail { return frameDetail(f) }), More: s.More,
	})
}

func stackFromJSON(text []byte, number uint64, pid int32) (*event.Stack, error) {
	var d stackDetail
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	return &event.Stack{
		Number: number, PID: pid, More: d.More,
		Frames: convert(d.Frames, func(f frameDetail) event.Frame { return event.Frame(f) }),
	}, nil
}

func holdersToJSON(h *event.Holders) ([]byte, error) {
	return json.Marshal(holdersDetail{
		Root: h.Root, Complete: h.Complete, Objects: h.Objects, Pool: h.Pool,
		Holders: convert(h.Holders, holderToDetail),
		Views:   convert(h.Views, viewToDetail),
	})
}

func holdersFromJSON(text []byte, time event.Nanoseconds, pid int32) (*event.Holders, error) {
	var d holdersDetail
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	return &event.Holders{
		Time: time, Root: d.Root, PID: pid, Complete: d.Complete, Objects: d.Objects, Pool: d.Pool,
		Holders: convert(d.Holders, holderFromDetail),
		Views:   convert(d.Views, viewFromDetail),
	}, nil
}

func finishToJSON(f *event.Finish) ([]byte, error) { return json.Marshal(detailOfFinish(f)) }

func settledToJSON(e *event.Settled) ([]byte, error) {
	d := detailOfFinish(&e.Finish)
	d.Settled, d.Holders = true, e.Holders
	return json.Marshal(d)
}

func detailOfFinish(f *event.Finish) finishDetail {
	return finishDetail{
		Time: f.Time, Reason: f.Reason, Made: f.Made, Delivered: f.Delivered,
		Lost: convert(f.Lost, func(l event.Loss) lossDetail { return lossDetail(l) }),
		Unprobed: convert(f.Unprobed, func(b event.Unprobed) unprobedDetail {
			return unprobedDetail{b.PID, meterName(b.Meter), b.Since, b.Until, b.OfChild}
		}),
		Late:     f.Late,
		Probes:   convert(f.Probes, func(p event.ProbeUse) probeDetail { return probeDetail(p) }),
		GPUs:     convert(f.GPUs, func(g event.GPU) gpuDetail { return gpuDetail(g) }),
		Problems: f.Problems,
		Unnamed:  f.Unnamed,
		Shells:   convert(f.Shells, func(s event.Shell) shellDetail { return shellDetail(s) }),
	}
}

// finishFromJSON returns an event.Finish, or an event.Settled.
func finishFromJSON(text []byte) (event.Event, error) {
	var d finishDetail
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	f := d.finish()
	if d.Settled {
		return &event.Settled{Finish: *f, Holders: d.Holders}, nil
	}
	return f, nil
}

func (d *finishDetail) finish() *event.Finish {
	return &event.Finish{
		Time: d.Time, Reason: d.Reason, Made: d.Made, Delivered: d.Delivered,
		Lost: convert(d.Lost, func(l lossDetail) event.Loss { return event.Loss(l) }),
		Unprobed: convert(d.Unprobed, func(b unprobedDetail) event.Unprobed {
			return event.Unprobed{
				PID: b.PID, Meter: event.Meter(b.Meter), Since: b.Since, Until: b.Until, OfChild: b.OfChild,
			}
		}),
		Late:     d.Late,
		Probes:   convert(d.Probes, func(p probeDetail) event.ProbeUse { return event.ProbeUse(p) }),
		GPUs:     convert(d.GPUs, func(g gpuDetail) event.GPU { return event.GPU(g) }),
		Problems: d.Problems,
		Unnamed:  d.Unnamed,
		Shells:   convert(d.Shells, func(s shellDetail) event.Shell { return event.Shell(s) }),
	}
}
