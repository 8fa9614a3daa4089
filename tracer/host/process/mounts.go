package process

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// near are the file systems with files on this machine's own disks or in its memory: reading them waits for nobody. A
// file system that is not in the list may be served by another machine, or by another program (FUSE), which may be the
// traced process itself. The kernel does not show the layers of an overlay; it is taken for near.
var near = func() map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(`ext2 ext3 ext4 xfs btrfs f2fs zfs bcachefs jfs reiserfs nilfs2
		ntfs3 vfat msdos exfat hfs hfsplus ubifs jffs2
		iso9660 udf squashfs erofs cramfs romfs minix ufs tmpfs ramfs rootfs devtmpfs hugetlbfs overlay aufs
		proc sysfs cgroup cgroup2 devpts mqueue debugfs tracefs securityfs selinuxfs smackfs pstore bpf configfs fusectl
		binfmt_misc nsfs efivarfs rpc_pipefs cpuset pipefs sockfs anon_inodefs nfsd resctrl`) {
		all[name] = true
	}
	return all
}()

// maxMountinfo bounds the reads of a process's mounts: some thousand of them.
const maxMountinfo = 16 << 20

// mount is one line of /proc/PID/mountinfo (proc_pid_mountinfo(5)).
type mount struct {
	major, minor uint32
	kind         string // of file system: ext4, fuse.sshfs, …
}

func parseMount(line []byte) (m mount, ok bool) {
	before, after, ok := bytes.Cut(line, []byte(" - "))
	fields, rest := bytes.Fields(before), bytes.Fields(after)
	if !ok || len(fields) < 3 || len(rest) < 1 {
		return m, false
	}
	if n, _ := fmt.Sscanf(string(fields[2]), "%d:%d", &m.major, &m.minor); n != 2 {
		return m, false
	}
	m.kind = string(rest[0])
	return m, true
}

// mounts are those that a process sees; none where they cannot be read.
func (fs FS) mounts(pid string) (all []mount) {
	data, _, err := readBounded(fs.root()+"/"+pid+"/mountinfo", maxMountinfo)
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(data) {
		if m, ok := parseMount(line); ok {
			all = append(all, m)
		}
	}
	return all
}

// shared is the device of memory that the kernel keeps as files without a visible mount: memfd, shared anonymous
// memory, System V's.
var shared = sync.OnceValue(func() (id FileID) {
	fd, err := unix.MemfdCreate("", unix.MFD_CLOEXEC)
	if err != nil {
		return id
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil {
		id.Major, id.Minor = unix.Major(st.Dev), unix.Minor(st.Dev)
	}
	return id
})

// isDistant reports whether reading a mapped file may wait for another program, by the kind of its file system, ""
// where no mount of it is visible. A file that is looked for in vain is taken for a distant one.
func (i Image) isDistant(id FileID) (kind string, distant bool) {
	if memory := shared(); memory.Major == id.Major && memory.Minor == id.Minor {
		return "memory", false
	}
	for _, whose := range []string{fmt.Sprint(i.proc.pid), "self"} {
		for _, m := range i.proc.fs.mounts(whose) {
			if m.major == id.Major && m.minor == id.Minor {
				return m.kind, !near[m.kind]
			}
		}
	}
	return "", true
}

// IsDistant reports whether reading a mapped file may wait for another program, such as a server of the traced
// process's own: then a [Helper] reads it. Without a Helper nothing is taken to be distant.
func (i Image) IsDistant(id FileID) bool {
	if i.proc.fs.Helper == nil {
		return false
	}
	_, distant := i.isDistant(id)
	return distant
}

// seesDistant reports whether any path of a process may lead to a file that is distant.
func (i Image) seesDistant() bool {
	for _, m := range i.proc.fs.mounts(fmt.Sprint(i.proc.pid)) {
		if !near[m.kind] {
			return true
		}
	}
	return false
}
