package process

import (
	"bytes"
	"math"
	"strconv"
)

// Status has fields of /proc/PID/status (proc_pid_status(5)). Sizes are 0 for kernel threads and zombies, which have no
// memory of their own.
type Status struct {
	PID      int
	TGID     int    // the process this is a thread of; equal to PID for a process
	UID      uint32 // real user, as seen from our user namespace
	EUID     uint32 // effective user
	GID      uint32 // real group
	EGID     uint32 // effective group
	latent   latentRights
	Threads  int
	Sleeps   bool   // its state: it waits for something (S)
	Switches uint64 // how often it has given up a CPU, voluntarily or not
	NSPIDs   []int  // the pid in each pid namespace, ours first, the process's own last; nil before Linux 4.1
	CapsHeld CapabilitySet
	Ignored  uint64 // signals it ignores: signal n is bit n - 1
	Caught   uint64 // signals it handles

	// Sizes the kernel keeps. VmData is mm->data_vm and page-exact. The resident figures are kept per CPU since
	// Linux 6.2 and may be off by a batch of pages for each CPU, depending on the kernel.
	AddressSpaceBytes  int64 // VmSize: everything that is mapped
	DataBytes          int64 // VmData: private writable memory
	ResidentBytes      int64 // VmRSS: anonymous + file + shared
	ResidentAnonBytes  int64 // RssAnon
	ResidentFileBytes  int64 // RssFile
	ResidentShmemBytes int64 // RssShmem
}

// latentRights are rights that a process does not use, and may take on again.
type latentRights struct {
	uid, gid     uint32 // saved by a set-user-ID or set-group-ID program
	capabilities CapabilitySet
}

// Status reads /proc/PID/status. It works on zombies and on strangers' processes.
func (p Proc) Status() (Status, error) {
	data, _, err := p.read("status", maxStatus)
	if err != nil {
		return Status{}, err
	}
	st, ok := parseStatus(data)
	if !ok || st.PID != p.pid {
		return Status{}, &Error{PID: p.pid, Kind: ErrMalformed}
	}
	if st.TGID == 0 { // reaped while the kernel wrote the file (proc_pid_status, fs/proc/array.c)
		return Status{}, &Error{PID: p.pid, Kind: ErrNoProcess}
	}
	return st, nil
}

// StoodStill reports whether a thread did not run between this status and a later one: it slept at both, and has not
// given up a CPU since.
func (st *Status) StoodStill(later *Status) bool {
	return st.Sleeps && later.Sleeps && st.Switches == later.Switches
}

// User returns the user and the group that a process runs as. ok is false where the real, the effective and the saved
// ones differ.
func (st *Status) User() (uid, gid uint32, ok bool) {
	return st.UID, st.GID, st.EUID == st.UID && st.latent.uid == st.UID && st.EGID == st.GID && st.latent.gid == st.GID
}

// parseStatus lets a later line win over an earlier one of the same key. The process's name comes first, and where a
// kernel does not escape newlines in it, the name must not be able to forge later lines.
func parseStatus(data []byte) (Status, bool) {
	st := Status{TGID: -1}
	good := true
	for line := range bytes.Lines(data) {
		key, value, ok := bytes.Cut(line, []byte(":"))
		if ok && !st.set(string(key), bytes.Fields(value)) {
			good = false
		}
	}
	return st, good && st.PID > 0 && st.TGID >= 0
}

// set takes one line. It returns false only for a line it knows and cannot read.
func (st *Status) set(key string, values [][]byte) bool {
	switch key {
	case "State":
		st.Sleeps = len(values) > 0 && string(values[0]) == "S"
	case "voluntary_ctxt_switches":
		st.Switches = 0
		return st.addSwitches(values)
	case "nonvoluntary_ctxt_switches":
		return st.addSwitches(values)
	case "Pid":
		return setInt(&st.PID, values)
	case "Tgid":
		return setInt(&st.TGID, values)
	case "Threads":
		return setInt(&st.Threads, values)
	case "Uid":
		return setIDs(&st.UID, &st.EUID, &st.latent.uid, values)
	case "Gid":
		return setIDs(&st.GID, &st.EGID, &st.latent.gid, values)
	case "NSpid":
		return st.setNSPIDs(values)
	case "CapPrm":
		return setHex((*uint64)(&st.latent.capabilities), values)
	case "CapEff":
		return setHex((*uint64)(&st.CapsHeld), values)
	case "SigIgn":
		return setHex(&st.Ignored, values)
	case "SigCgt":
		return setHex(&st.Caught, values)
	case "VmSize":
		return setKiB(&st.AddressSpaceBytes, values)
	case "VmData":
		return setKiB(&st.DataBytes, values)
	case "VmRSS":
		return setKiB(&st.ResidentBytes, values)
	case "RssAnon":
		return setKiB(&st.ResidentAnonBytes, values)
	case "RssFile":
		return setKiB(&st.ResidentFileBytes, values)
	case "RssShmem":
		return setKiB(&st.ResidentShmemBytes, values)
	}
	return true
}

// addSwitches takes one of the two counts; the voluntary ones come first.
func (st *Status) addSwitches(values [][]byte) bool {
	if len(values) != 1 {
		return false
	}
	n, err := strconv.ParseUint(string(values[0]), 10, 64)
	st.Switches += n
	return err == nil
}

// setNSPIDs takes the pids of one process; namespaces nest at most 32 deep (MAX_PID_NS_LEVEL).
func (st *Status) setNSPIDs(values [][]byte) bool {
	if len(values) == 0 || len(values) > 33 {
		return false
	}
	pids := make([]int, len(values))
	for i := range values {
		if !setInt(&pids[i], values[i:]) {
			return false
		}
	}
	st.NSPIDs = pids
	return true
}

func setInt(to *int, values [][]byte) bool {
	if len(values) == 0 {
		return false
	}
	n, err := strconv.ParseInt(string(values[0]), 10, 32)
	*to = int(n)
	return err == nil && n >= 0
}

func setIDs(real, effective, saved *uint32, values [][]byte) bool {
	if len(values) < 3 {
		return false
	}
	r, err1 := strconv.ParseUint(string(values[0]), 10, 32)
	e, err2 := strconv.ParseUint(string(values[1]), 10, 32)
	s, err3 := strconv.ParseUint(string(values[2]), 10, 32)
	*real, *effective, *saved = uint32(r), uint32(e), uint32(s)
	return err1 == nil && err2 == nil && err3 == nil
}

func setHex(to *uint64, values [][]byte) bool {
	if len(values) != 1 {
		return false
	}
	n, err := strconv.ParseUint(string(values[0]), 16, 64)
	*to = n
	return err == nil
}

func setKiB(to *int64, values [][]byte) bool {
	if len(values) != 2 || string(values[1]) != "kB" {
		return false
	}
	n, err := strconv.ParseInt(string(values[0]), 10, 64)
	*to = n << 10
	return err == nil && n >= 0 && n <= math.MaxInt64>>10
}
