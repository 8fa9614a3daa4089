package cgroupstat

import (
	"strings"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/process"
)

// Peak is an open memory.peak of a control group of version 2. A write to it lets the highest use that its readers see
// begin again (peak_write, mm/memcontrol.c, Linux 6.12). Descriptors that were never written to show the highest use
// ever, as before.
type Peak struct {
	fd    int
	wrote bool // Linux watches the descriptor
}

// mostLevels bounds the groups around a process, as GROUP_LEVELS in bpf/container.h.
const mostLevels = 16

// EachPeak opens memory.peak of a process's control group and of the groups around it, and calls take with the inode of
// the group's folder and the file, which the caller must close, until take returns false. Files that this program may
// not write to are left out.
func EachPeak(p process.Proc, take func(number uint64, file *Peak) bool) {
	name, _ := p.MemoryGroup()
	version, path, _ := strings.Cut(name, ":")
	if version != "2" {
		return
	}
	opened := 0
	for _, dir := range folders(process.CgroupMounts(), path) {
		var folder unix.Stat_t
		if unix.Stat(dir, &folder) != nil {
			continue
		}
		fd, err := openFile(dir+"/memory.peak", unix.O_WRONLY)
		if err != nil {
			continue
		}
		if opened++; !take(folder.Ino, &Peak{fd: fd}) || opened == mostLevels {
			return
		}
	}
}

// Reset lets the highest use begin again at the present one. It does nothing if Linux watches other descriptors than
// this one: watched is how many there are. It fails if the group was removed, or Linux is older.
func (p *Peak) Reset(watched uint32) error {
	if watched > 1 || watched == 1 && !p.wrote {
		return nil
	}
	_, err := unix.Write(p.fd, []byte("reset\n"))
	p.wrote = p.wrote || err == nil
	return err
}

// Close closes the file.
func (p *Peak) Close() { _ = unix.Close(p.fd) }
