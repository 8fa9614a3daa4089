package process

import (
	"bytes"
	"strconv"
	"strings"
)

// Rlimit is a resource limit (getrlimit(2)) in bytes, or [NoLimit]. The process may raise Soft up to Hard.
type Rlimit struct {
	Soft, Hard int64
}

// Rlimits are the limits on a process's memory. A request beyond one fails with ENOMEM, a MemoryError in Python.
type Rlimits struct {
	Data         Rlimit // RLIMIT_DATA: private writable memory, used or not; the same as VmData (Linux 4.7)
	AddressSpace Rlimit // RLIMIT_AS: everything that is mapped
}

// Rlimits reads /proc/PID/limits. It also works for other users' processes, and fails as [Proc.Status] does.
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

// parse sets the limits from the columns behind a limit's name, such as "unlimited unlimited bytes".
func (r *Rlimit) parse(columns string) bool {
	fields := strings.Fields(columns)
	if len(fields) != 3 || fields[2] != "bytes" {
		return false
	}
	return parseRlimit(&r.Soft, fields[0]) && parseRlimit(&r.Hard, fields[1])
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
	// Available is Linux's estimate of the memory that programs can get without swapping (MemAvailable).
	Available int64
	SwapFree  int64
}

// MachineMemory reads /proc/meminfo. A missing figure is 0.
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
