package model

// Host is the machine the session ran on.
type Host struct {
	Name   string `json:"name"`
	Kernel string `json:"kernel"`
	CPUs   int    `json:"cpus"`
	Memory int64  `json:"memory"`
	Tracer string `json:"tracer"`
	// Started is the wall-clock time of the first event, RFC 3339 with nanoseconds, UTC.
	Started string `json:"started"`
}

// GPU describes a device of the machine by names that do not change.
type GPU struct {
	Index    int    `json:"index"` // N of gpu.N, NVML's and nvidia-smi's
	UUID     string `json:"uuid"`
	PCIBusID string `json:"pci_bus_id"`
	Name     string `json:"name"`
	Memory   int64  `json:"memory"` // total; 0 if not known
}
