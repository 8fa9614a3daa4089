package process

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// near are the kinds of file systems whose files are on this machine's own disks or in its memory, so that a read waits
// for no other program. Any other file system is distant: another machine may serve it, or another program (FUSE), even
// the traced process itself. Linux does not show the layers of an overlay. In a user namespace, a user can mount an
// overlay above a file system that the user serves. Therefore such an overlay is not near, see [FS.kindsOf].
var near = func() map[string]bool {
	kinds := map[string]bool{}
	for name := range strings.FieldsSeq(`ext2 ext3 ext4 xfs btrfs f2fs zfs bcachefs jfs reiserfs nilfs2
		ntfs3 vfat msdos exfat hfs hfsplus ubifs jffs2
		iso9660 udf squashfs erofs cramfs romfs minix ufs tmpfs ramfs rootfs devtmpfs hugetlbfs overlay aufs
		proc sysfs cgroup cgroup2 devpts mqueue debugfs tracefs securityfs selinuxfs smackfs pstore bpf configfs fusectl
		binfmt_misc nsfs efivarfs rpc_pipefs cpuset pipefs sockfs anon_inodefs nfsd resctrl`) {
		kinds[name] = true
	}
	return kinds
}()

// maxMountinfo is how many bytes of a process's list of mounts are read, enough for some thousand mounts. File systems
// further down the list count as distant.
const maxMountinfo = 4 << 20

// mount is a line of /proc/PID/mountinfo (proc_pid_mountinfo(5)).
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

// kindsOf returns the kinds of the file systems that a process sees, by device; none if the list of mounts cannot be
// read. For a process in another user namespace than this program, the kind of an overlay is usersOverlay.
func (fs FS) kindsOf(pid string) map[device]string {
	f, err := openUnpolled(fs.root() + "/" + pid + "/mountinfo")
	if err != nil {
		return nil
	}
	defer f.Close()
	otherNamespace := pid != self && !fs.sharesUsers(pid)
	kinds := map[device]string{}
	lines := bufio.NewScanner(io.LimitReader(f, maxMountinfo))
	lines.Buffer(nil, maxMapLine)
	for lines.Scan() {
		if m, ok := parseMount(lines.Bytes()); ok {
			if otherNamespace && m.kind == "overlay" {
				m.kind = usersOverlay
			}
			kinds[device{m.major, m.minor}] = m.kind
		}
	}
	return kinds
}

const (
	self         = "self"
	usersOverlay = "overlay in a user namespace"
)

// kinds returns what [FS.kindsOf] returns. With a Helper, the result may be a moment old.
func (fs FS) kinds(pid string) map[device]string {
	if fs.Helper == nil || !fs.live() {
		return fs.kindsOf(pid)
	}
	return fs.Helper.pace.kindsOf(pid, fs.kindsOf)
}

// sharesUsers reports whether a process is in this program's user namespace, by comparing the maps of users. A user
// cannot make another namespace with the same map, because that takes rights over each user in it (user_namespaces(7)).
func (fs FS) sharesUsers(pid string) bool {
	theirs, _, err := readBounded(fs.root()+"/"+pid+"/uid_map", maxStatus)
	ours, _, failed := readBounded(fs.root()+"/"+self+"/uid_map", maxStatus)
	return (err == nil) == (failed == nil) && bytes.Equal(theirs, ours)
}

// shared returns an identity with the device of memory that Linux keeps as files without a visible mount: memfd, shared
// anonymous memory, System V's shared memory.
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

// isDistant reports whether a read of a mapped file may wait for another program. kind is the kind of the file's file
// system. If no mount of the file system is visible, kind is "" and the file counts as distant.
func (i Image) isDistant(id FileID) (kind string, distant bool) {
	if memory := shared(); memory.Major == id.Major && memory.Minor == id.Minor {
		return "memory", false
	}
	for _, whose := range []string{fmt.Sprint(i.proc.pid), self} {
		if kind, found := i.proc.fs.kinds(whose)[device{id.Major, id.Minor}]; found {
			return kind, !near[kind]
		}
	}
	return "", true
}

// IsDistant reports whether a read of a mapped file may wait for another program, such as a server that the traced
// process runs. A [Helper] reads such files. Without a Helper, no file counts as distant.
func (i Image) IsDistant(id FileID) bool {
	if i.proc.fs.Helper == nil {
		return false
	}
	_, distant := i.isDistant(id)
	return distant
}

// seesDistant reports whether the process sees a distant file system, to which its paths may lead.
func (i Image) seesDistant() bool {
	for _, kind := range i.proc.fs.kinds(fmt.Sprint(i.proc.pid)) {
		if !near[kind] {
			return true
		}
	}
	return false
}
