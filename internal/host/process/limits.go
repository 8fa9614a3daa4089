package process

import (
	"bytes"
	"strconv"
	"strings"
)

// Rlimit is one of a process's own resource limits (getrlimit(2)), in bytes; NoLimit for unlimited. The process itself
// may move the soft one up to the hard one.
type Rlimit struct {
	Soft, Hard int64
}

// Rlimits are the limits on a process's memory. A request beyond one fails with ENOMEM, which is a MemoryError in
// Python.
type Rlimits struct {
	Data         Rlimit // RLIMIT_DATA: private writable memory, touched or not; VmData counts the same (Linux 4.7)
	AddressSpace Rlimit // RLIMIT_AS: everything that is mapped
}

// Rlimits reads /proc/PID/limits. It works on strangers' processes, and fails as [Proc.Status] does.
func (p Proc) Rlimits() (Rlimits, error) {
	data, _, err := p.read("limits", maxStat)
	if err != nil {
		return Rlimits{}, err
	}
	var out Rlimits
	seen := 0
	for line := range bytes.Lines(data) {
		for name, to := range map[string]*Rlimit{"Max data size": &out.Data, "Max address space": &out.AddressSpace} {
			if rest, ok := bytes.CutPrefix(line, []byte(name)); ok && to.parse(string(rest)) {
				seen++
			}
		}
	}
	if seen != 2 {
		return Rlimits{}, &Error{PID: p.pid, Kind: ErrMalformed}
	}
	return out, nil
}

func (r *Rlimit) parse(columns string) bool {
	fields := strings.Fields(columns)
	return len(fields) == 3 && parseRlimit(&r.Soft, fields[0]) && parseRlimit(&r.Hard, fields[1]) &&
		fields[2] == "bytes"
}

func parseRlimit(to *int64, text string) bool {
	if text == "unlimited" {
		*to = NoLimit
		return true
	}
	n, err := strconv.ParseUint(text, 10, 64)
	*to = int64(min(n, uint64(NoLimit)))
	return err == nil
}

// MachineMemory has figures of the machine from /proc/meminfo, in bytes.
type MachineMemory struct {
	Total int64
	// Available is the memory that can be had without swapping, by the kernel's own estimate (MemAvailable).
	Available int64
	SwapFree  int64
}

// MachineMemory reads /proc/meminfo. A figure that is not there is 0.
func (fs FS) MachineMemory() (m MachineMemory) {
	data, _, err := readBounded(fs.root()+"/meminfo", maxCgroupFile)
	if err != nil {
		return m
	}
	for line := range bytes.Lines(data) {
		key, value, _ := bytes.Cut(line, []byte(":"))
		switch string(key) {
		case "MemTotal":
			setKiB(&m.Total, bytes.Fields(value))
		case "MemAvailable":
			setKiB(&m.Available, bytes.Fields(value))
		case "SwapFree":
			setKiB(&m.SwapFree, bytes.Fields(value))
		}
	}
	return m
}
