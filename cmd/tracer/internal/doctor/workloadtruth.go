package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Truth is the memory of a process at one instant.
type Truth struct {
	PID   int
	Bytes map[string]int64 // by meter
}

var (
	// ErrUnsteady says that two readings differ: the workload has to run again.
	ErrUnsteady = errors.New("other memory moved while the workload read its own")
	// ErrNoTruth says that a reading contradicts itself.
	ErrNoTruth = errors.New("the workload's own reading contradicts itself")
)

// ParseTruths parses the output of a workload: two readings of each process, which must agree.
func ParseTruths(text []byte) (truths []Truth, err error) {
	for len(text) > 0 {
		var pair [2]Truth
		for i := range pair {
			if pair[i], text, err = parseTruth(text); err != nil {
				return nil, err
			}
		}
		for meter, n := range pair[0].Bytes {
			if pair[1].Bytes[meter] != n {
				return nil, fmt.Errorf("%w: %s was %d, then %d", ErrUnsteady, meter, n, pair[1].Bytes[meter])
			}
		}
		truths = append(truths, pair[0])
	}
	if len(truths) == 0 {
		return nil, fmt.Errorf("%w: there is none", ErrNoTruth)
	}
	return truths, nil
}

func parseTruth(text []byte) (t Truth, rest []byte, err error) {
	line, rest, _ := bytes.Cut(text, []byte{'\n'})
	var status, smaps int // bytes
	_, err = fmt.Sscanf(string(line), "%d %d %d", &t.PID, &status, &smaps)
	if err != nil || status < 0 || smaps < 0 || status+smaps > len(rest) {
		return t, nil, fmt.Errorf("%w: it begins with %.40q", ErrNoTruth, line)
	}
	if t.Bytes, err = parseSmaps(rest[status : status+smaps]); err != nil {
		return t, nil, err
	}
	// Linux' total of private writable mappings must be the sum of the listed ones.
	if data := kibibytes(rest[:status], "VmData:"); data != t.Bytes[Mapped] {
		return t, nil, fmt.Errorf("%w: VmData is %d, the mappings make %d", ErrUnsteady, data, t.Bytes[Mapped])
	}
	return t, rest[status+smaps:], nil
}

// parseSmaps adds up the memory of all mappings in /proc/PID/smaps (fs/proc/task_mmu.c), by meter. Rss counts the same
// pages as Linux' counters: not the zero page, not hugetlb, and not pages without a struct page.
func parseSmaps(text []byte) (map[string]int64, error) {
	sums := map[string]int64{Mapped: 0, Resident: 0, Anon: 0, File: 0, Shmem: 0}
	var size, rss, anon int64
	var shmem bool
	for line := range bytes.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(string(line)), ":")
		switch fields := strings.Fields(value); {
		case !ok || strings.Contains(key, " "): // the mapping itself
			shmem = isShmem(string(line))
			size, rss, anon = 0, 0, 0
		case key == "Size":
			size = kibField(fields)
		case key == "Rss":
			rss = kibField(fields)
		case key == "Anonymous":
			anon = kibField(fields)
		case key == "VmFlags":
			sums[Resident] += rss
			sums[Anon] += anon
			if shmem {
				sums[Shmem] += rss - anon
			} else {
				sums[File] += rss - anon
			}
			if isData(fields) {
				sums[Mapped] += size
			}
		}
	}
	if sums[Resident] == 0 {
		return nil, fmt.Errorf("%w: no resident page (is there no CONFIG_PROC_PAGE_MONITOR?)", ErrNoTruth)
	}
	return sums, nil
}

// isData does what is_data_mapping does in Linux (mm/vma.h): it reports whether a mapping is writable, not shared, and
// no stack that grows down.
func isData(flags []string) bool {
	var writable, other bool
	for _, f := range flags {
		writable = writable || f == "wr"
		other = other || f == "sh" || f == "gd"
	}
	return writable && !other
}

// isShmem reports whether the pages of a mapping's file count as shared memory, as the pages of tmpfs do.
func isShmem(line string) bool {
	at := strings.IndexByte(line, '/')
	if at < 0 {
		return false
	}
	path := strings.TrimSpace(line[at:])
	for _, prefix := range []string{"/memfd:", "/dev/zero", "/SYSV"} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && fs.Type == unix.TMPFS_MAGIC
}

// kibField reads a field in KiB and returns bytes, 0 if it is malformed.
func kibField(fields []string) int64 {
	if len(fields) == 0 {
		return 0
	}
	n, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// kibibytes finds a line such as "VmData:	  1234 kB" and returns its bytes, -1 if there is none.
func kibibytes(text []byte, key string) int64 {
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(key)); ok {
			return kibField(strings.Fields(string(rest)))
		}
	}
	return -1
}
