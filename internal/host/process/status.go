package process

import (
	"bytes"
	"math"
	"strconv"
)

// Status has fields of /proc/PID/status (proc_pid_status(5)). Sizes are 0 for kernel threads and zombies.
type Status struct {
	PID      int
	TGID     int    // the process that the thread belongs to; equal to PID for a process
	UID      uint32 // real user, as seen from this program's user namespace
	EUID     uint32 // effective user
	GID      uint32 // real group
	EGID     uint32 // effective group
	latent   latentRights
	Threads  int
	Sleeps   bool   // its state is S: it waits for something
	Switches uint64 // how often it has given up a CPU, voluntarily or not
	// NSPIDs has the pid in each pid namespace, from this program's to the process's own; nil before Linux 4.1.
	NSPIDs   []int
	CapsHeld CapabilitySet // effective ones
	Ignored  uint64        // signals that it ignores: signal n is bit n - 1
	Caught   uint64        // signals that it handles, in the same form
	Shadowed bool          // its threads have shadow stacks (since Linux 6.6)

	// Sizes in bytes. VmData is exact to the page (mm->data_vm). Since Linux 6.2 the resident sizes are counted for
	// each CPU, and may be off by a batch of pages for each.
	AddressSpaceBytes  int64 // VmSize: everything that is mapped
	DataBytes          int64 // VmData: private writable memory
	ResidentBytes      int64 // VmRSS: anonymous + file + shared
	ResidentAnonBytes  int64 // RssAnon
	ResidentFileBytes  int64 // RssFile
	ResidentShmemBytes int64 // RssShmem
}

// latentRights are rights that a process does not use now, but may take on again.
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
	if st.TGID == 0 { // it was reaped while Linux wrote the text (proc_pid_status, fs/proc/array.c)
		return Status{}, &Error{PID: p.pid, Kind: ErrNoProcess}
	}
	return st, nil
}

// StoodStill reports whether a thread did not run between two statuses: it slept at both, and gave up no CPU between.
func (st *Status) StoodStill(later *Status) bool {
	return st.Sleeps && later.Sleeps && st.Switches == later.Switches
}

// User returns the user and the group that a process runs as. ok is false if its real, effective and saved ids differ.
func (st *Status) User() (uid, gid uint32, ok bool) {
	sameUser := st.EUID == st.UID && st.latent.uid == st.UID
	sameGroup := st.EGID == st.GID && st.latent.gid == st.GID
	return st.UID, st.GID, sameUser && sameGroup
}

// parseStatus parses the text. Of two lines with one key the later counts: a process's name may forge earlier ones.
func parseStatus(data []byte) (Status, bool) {
	st := Status{TGID: -1}
	good := true
	for line := range bytes.Lines(data) {
		key, value, ok := bytes.Cut(line, []byte(":"))
		if bytes.HasSuffix(key, []byte("_Thread_features")) {
			st.Shadowed = bytes.Contains(value, []byte("shstk"))
		}
		if ok && !st.set(string(key), bytes.Fields(value)) {
			good = false
		}
	}
	return st, good && st.PID > 0 && st.TGID >= 0
}

// set sets the field of a line. It returns false for a known line that it cannot parse, and true for an unknown line.
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

// addSwitches adds one of the two counts of switches.
func (st *Status) addSwitches(values [][]byte) bool {
	if len(values) != 1 {
		return false
	}
	n, err := strconv.ParseUint(string(values[0]), 10, 64)
	st.Switches += n
	return err == nil
}

// maxNamespaces is how many pid namespaces a process is in at most: MAX_PID_NS_LEVEL below the initial one.
const maxNamespaces = 32 + 1

// setNSPIDs sets the pids of a process in each namespace.
func (st *Status) setNSPIDs(values [][]byte) bool {
	if len(values) == 0 || len(values) > maxNamespaces {
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
