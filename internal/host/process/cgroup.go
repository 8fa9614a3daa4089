package process

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// NoLimit is the value of a limit that is not set. No process can have as much memory.
const NoLimit int64 = math.MaxInt64

// Cgroup is a control group with the memory controller. Sizes are in bytes, and include the groups below it
// (cgroups(7); Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst).
type Cgroup struct {
	Version int    // 1 or 2
	Path    string // in its hierarchy, "/" for the root; the raw bytes that the group's maker chose
	// Limit is memory.max or memory.limit_in_bytes, above which the OOM killer ends a process; NoLimit if not set.
	Limit int64
	// High is memory.high of version 2, above which Linux slows the group's processes down; or NoLimit.
	High int64
	// Usage is memory.current or memory.usage_in_bytes, with pages of files and Linux's own memory for the group.
	Usage int64
	// Peak is the highest usage so far (memory.peak, since Linux 5.19, or memory.max_usage_in_bytes); 0: not known.
	Peak int64
	// Cache is what Linux reclaims before it kills: pages of files, unless in tmpfs, locked, or not yet written back.
	Cache int64
	// Above is the least limit of this group and of all groups above it, also of those that cannot be seen from here
	// (hierarchical_memory_limit of version 1). It is NoLimit if none is set, and in version 2, which does not show it.
	Above int64
	// OOMKills is how many processes the OOM killer has ended in the group; in version 2 also in the groups below.
	OOMKills int64
	// OOMs is how often the group hit its own limit, nothing being reclaimable (version 2, memory.events.local, 5.2).
	OOMs int64
	dir  string // the folder that it was read from
}

// Again reads the group once more. It works after the process has ended. ok is false if the group is gone.
func (c Cgroup) Again() (again Cgroup, ok bool) {
	again, ok = readCgroup(c.dir, c.Version)
	again.Path = c.Path
	return again, ok
}

// Room returns how much more the group can take before it reaches its limit or its High, if Linux gives up all of
// Cache. It is never negative, and is NoLimit where there is no limit.
func (c Cgroup) Room() int64 {
	if limit := min(c.Limit, c.High); limit != NoLimit {
		return max(limit-max(c.Usage-c.Cache, 0), 0)
	}
	return NoLimit
}

// Limits for reads of control groups.
const (
	maxCgroups     = 64 << 10 // bytes of /proc/PID/cgroup, which has a line for each hierarchy
	maxMounts      = 4 << 20  // bytes of mountinfo
	maxCgroupDepth = 256
	maxCgroupFile  = 64 << 10 // bytes of a group's file
)

// MemoryCgroups returns the groups that account for a process's memory: its own first, then each ancestor that can be
// seen from here. Ancestors above the cgroup namespace, or above the mount, cannot be seen: in a container these are
// the groups around the container. The result is empty if no group can be seen, as with cgroup_disable=memory, or in a
// container without /sys/fs/cgroup. It fails as [Proc.Status] does.
func (p Proc) MemoryCgroups() ([]Cgroup, error) {
	data, _, err := p.read("cgroup", maxCgroups)
	if err != nil {
		return nil, err
	}
	version, name, ok := memoryPath(data)
	if !ok {
		return nil, nil
	}
	mounts, _, err := readBounded(p.fs.root()+"/self/mountinfo", maxMounts)
	if err != nil {
		return nil, nil // the mounts are not known
	}
	dir, below, ok := cgroupMount(mounts, version, name)
	if !ok {
		return nil, nil
	}
	return cgroupsUpwards(dir, strings.TrimSuffix(name, below), below, version), nil
}

// MemoryGroup returns a name of the group that accounts for a process's memory: the version of its hierarchy and its
// path. Different groups have different names. ok is false if the group is not known, as for a process that has ended
// in a hierarchy of version 1 (proc_cgroup_show in kernel/cgroup/cgroup.c).
func (p Proc) MemoryGroup() (name string, ok bool) {
	data, _, err := p.read("cgroup", maxCgroups)
	if err != nil {
		return "", false
	}
	version, path, ok := memoryPath(data)
	if !ok || version == 1 && path == "/" {
		return "", false
	}
	return strconv.Itoa(version) + ":" + path, true
}

// memoryPath returns the group with the memory controller from /proc/PID/cgroup. The line is "4:memory:/path" for
// version 1, or "0::/path" for version 2. A machine with both versions (hybrid) has the controller in only one of them.
// If that is version 1, its line names the controller.
func memoryPath(data []byte) (version int, name string, ok bool) {
	for line := range bytes.Lines(data) {
		fields := strings.SplitN(strings.TrimSuffix(string(line), "\n"), ":", 3)
		if len(fields) != 3 || !strings.HasPrefix(fields[2], "/") {
			continue
		}
		group := strings.TrimSuffix(fields[2], " (deleted)")
		switch {
		case hasWord(fields[1], "memory"):
			return 1, group, true
		case fields[0] == "0" && fields[1] == "":
			version, name, ok = 2, group, true
		}
	}
	return version, name, ok
}

func hasWord(list, word string) bool {
	return slices.Contains(strings.Split(list, ","), word)
}

// CgroupMounts returns the folders in which this program sees control groups of memory.
func CgroupMounts() (folders []string) {
	mounts, _, err := readBounded("/proc/self/mountinfo", maxMounts)
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(mounts) {
		for _, version := range []int{1, 2} {
			if _, point, ok := cgroupMountOf(string(line), version); ok {
				folders = append(folders, point)
			}
		}
	}
	return folders
}

// cgroupMount returns the folder at which this program sees the hierarchy (proc_pid_mountinfo(5)), and the part of the
// group's path below that. A mount can begin at any group; cgroupMount takes the one that shows most ancestors.
func cgroupMount(mountinfo []byte, version int, name string) (dir, below string, ok bool) {
	shortest := math.MaxInt
	for line := range bytes.Lines(mountinfo) {
		root, point, isMount := cgroupMountOf(string(line), version)
		if !isMount || len(root) >= shortest {
			continue
		}
		if rest, inside := under(root, name); inside {
			dir, below, ok, shortest = point, rest, true, len(root)
		}
	}
	return dir, below, ok
}

// cgroupMountOf parses a line of mountinfo: "41 31 0:38 / /sys/fs/cgroup rw,… - cgroup2 cgroup2 rw". It returns the
// group that the mount begins at, and the mount point. ok is false for any other file system.
func cgroupMountOf(line string, version int) (root, point string, ok bool) {
	mount, filesystem, found := strings.Cut(line, " - ")
	fields, types := strings.Fields(mount), strings.Fields(filesystem)
	if !found || len(fields) < 5 || len(types) < 3 {
		return "", "", false
	}
	switch version {
	case 1:
		ok = types[0] == "cgroup" && hasWord(types[2], "memory")
	case 2:
		ok = types[0] == "cgroup2"
	}
	return unescape(fields[3]), unescape(fields[4]), ok
}

// under removes the root of a mount from the front of a group's path. The rest begins with "/", or is empty. ok is
// false for a group that the mount does not show. A group outside of this program's cgroup namespace has a path
// "/../…", and so has the root of a mount that shows it.
func under(root, name string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(strings.TrimSuffix(name, "/"), strings.TrimSuffix(root, "/"))
	return rest, ok && (rest == "" || rest[0] == '/' && !strings.Contains(rest+"/", "/../"))
}

// unescape decodes the octal escapes of mountinfo, such as \040 for a space.
func unescape(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// cgroupsUpwards reads a group and its ancestors up to the mount point. The group's path is above+below, and below is
// its part under the mount point. Groups without the controller are left out, and so is the root, which has no limit.
func cgroupsUpwards(mount, above, below string, version int) (groups []Cgroup) {
	for range maxCgroupDepth {
		dir := mount + below
		if version == 1 && len(groups) > 0 && cgroupFile(dir, "memory.use_hierarchy") == "0" {
			return groups // this group does not count the memory of groups below it (before Linux 5.11)
		}
		if c, ok := readCgroup(dir, version); ok {
			c.Path = cmp.Or(above+below, "/")
			groups = append(groups, c)
		}
		if below == "" {
			return groups
		}
		below = below[:strings.LastIndexByte(below, '/')]
	}
	return groups
}

func readCgroup(dir string, version int) (c Cgroup, ok bool) {
	c = Cgroup{Version: version, Limit: NoLimit, High: NoLimit, Above: NoLimit, dir: dir}
	if version == 1 {
		return c, c.readVersion1(dir)
	}
	return c, c.readVersion2(dir)
}

func (c *Cgroup) readVersion1(dir string) bool {
	var ok bool
	if c.Usage, ok = cgroupBytes(dir, "memory.usage_in_bytes"); !ok {
		return false
	}
	if c.Limit, ok = cgroupBytes(dir, "memory.limit_in_bytes"); !ok || c.Limit >= unlimited1 {
		c.Limit = NoLimit
	}
	c.Peak, _ = cgroupBytes(dir, "memory.max_usage_in_bytes")
	stat := cgroupKeys(dir, "memory.stat")
	if above, known := stat["hierarchical_memory_limit"]; known && above < unlimited1 {
		c.Above = above
	}
	c.Cache = stat["total_active_file"] + stat["total_inactive_file"] - stat["total_dirty"] - stat["total_writeback"]
	c.Cache = min(max(c.Cache, 0), c.Usage)
	c.OOMKills = cgroupKeys(dir, "memory.oom_control")["oom_kill"]
	return true
}

// unlimited1 is the least value that version 1 shows if no limit is set: PAGE_COUNTER_MAX in whole pages of at most
// 64 KiB (include/linux/page_counter.h).
const unlimited1 = math.MaxInt64 &^ (64<<10 - 1)

func (c *Cgroup) readVersion2(dir string) bool {
	var ok bool
	if c.Usage, ok = cgroupBytes(dir, "memory.current"); !ok {
		return false
	}
	if c.Limit, ok = cgroupBytes(dir, "memory.max"); !ok {
		c.Limit = NoLimit
	}
	if c.High, ok = cgroupBytes(dir, "memory.high"); !ok {
		c.High = NoLimit
	}
	c.Peak, _ = cgroupBytes(dir, "memory.peak")
	stat := cgroupKeys(dir, "memory.stat")
	c.Cache = stat["active_file"] + stat["inactive_file"] - stat["file_dirty"] - stat["file_writeback"]
	c.Cache = min(max(c.Cache, 0), c.Usage)
	c.OOMKills = cgroupKeys(dir, "memory.events")["oom_kill"]
	c.OOMs = cgroupKeys(dir, "memory.events.local")["oom"]
	return true
}

// cgroupBytes reads a file with one number, or "max" for no limit. ok is false if there is no such file.
func cgroupBytes(dir, name string) (n int64, ok bool) {
	text := cgroupFile(dir, name)
	if text == "max" {
		return NoLimit, true
	}
	parsed, err := strconv.ParseUint(text, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return int64(min(parsed, math.MaxInt64)), true
}

// cgroupFile returns the text of a file; "" for anything else, such as a pipe that nobody writes into.
func cgroupFile(dir, name string) string {
	f, err := os.OpenFile(dir+"/"+name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	data, _, _ := readAllOf(f, maxCgroupFile)
	return strings.TrimSpace(string(data))
}

// cgroupKeys reads a file with lines such as "oom_kill 3". It ignores other lines.
func cgroupKeys(dir, name string) map[string]int64 {
	out := map[string]int64{}
	for line := range strings.Lines(cgroupFile(dir, name)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			if n, err := strconv.ParseInt(value, 10, 64); err == nil && n >= 0 {
				out[key] = n
			}
		}
	}
	return out
}
