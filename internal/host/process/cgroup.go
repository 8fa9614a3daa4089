package process

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
)

// NoLimit is where nothing limits: no process can have as much.
const NoLimit int64 = math.MaxInt64

// Cgroup is a control group with the memory controller, as the kernel accounts for it. Sizes are bytes and contain the
// memory of groups below it (cgroups(7); Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst).
type Cgroup struct {
	Version int    // 1 or 2
	Path    string // in its hierarchy, "/" for the root; raw, as whoever made the group named it
	// Limit is memory.max or memory.limit_in_bytes. Beyond it the OOM killer comes when nothing is left to reclaim.
	// High is memory.high of version 2. Beyond it processes are slowed down, to a crawl. Each is NoLimit where there is
	// none.
	Limit, High int64
	// memory.current or memory.usage_in_bytes: with pages of files and the memory that the kernel itself keeps for the
	// group
	Usage int64
	// Peak is the highest usage that there was (memory.peak, since Linux 5.19, or memory.max_usage_in_bytes); 0 where
	// it is not known.
	Peak int64
	// Cache is the part of Usage that the kernel takes back before it kills: pages of files that are not in tmpfs,
	// locked or to be written first.
	Cache int64
	// Above is the least limit of this group and of all groups above it, with those that cannot be seen from here
	// (hierarchical_memory_limit of version 1). It is NoLimit where there is none, and in version 2, where Linux does
	// not show it.
	Above int64
	// OOMKills is how many processes the OOM killer has ended in it; in version 2 with the groups below.
	OOMKills int64
	// OOMs is how often the group's own limit left nothing to do but kill. Linux counts that in version 2, since 5.2
	// (memory.events.local).
	OOMs int64
	dir  string // where it was read
}

// Again reads the group anew from the folder where it was: the process may have ended. It is not ok once the group is
// gone.
func (c Cgroup) Again() (Cgroup, bool) {
	again, ok := readCgroup(c.dir, c.Version)
	again.Path = c.Path
	return again, ok
}

// Room returns how much more the group can take before it reaches its limit or its High, if Linux gives up all of
// Cache. It is never negative, and is NoLimit where there is no limit.
func (c Cgroup) Room() int64 {
	limit := min(c.Limit, c.High)
	if limit == NoLimit {
		return NoLimit
	}
	return max(limit-max(c.Usage-c.Cache, 0), 0)
}

// The bounds on reads of control groups.
const (
	maxCgroups     = 64 << 10 // of /proc/PID/cgroup: a line for each hierarchy
	maxMounts      = 4 << 20
	maxCgroupDepth = 256
	maxCgroupFile  = 64 << 10
)

// MemoryCgroups returns the groups that account for a process's memory: its own first, then each ancestor that can be
// seen from here. It is empty where none can be seen, as with cgroup_disable=memory, or in a container without
// /sys/fs/cgroup. Ancestors above the cgroup namespace, or above the mount, stay unseen: in a container these are the
// groups around the container. It fails as [Proc.Status] does.
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

// MemoryGroup returns the name of the group that accounts for a process's memory, with the version of the group's
// hierarchy in front. Different groups have different names. ok is false where the group is not known: one example is a
// process that has ended in a hierarchy of version 1 (proc_cgroup_show in kernel/cgroup/cgroup.c).
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

// memoryPath finds the hierarchy with the memory controller in /proc/PID/cgroup: "4:memory:/path" of version 1, or
// "0::/path" of version 2. A machine with both versions (hybrid) has the controller in only one of them. If that is
// version 1, a line names the controller.
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

// cgroupMount finds where the hierarchy is mounted in our own mount namespace (/proc/PID/mountinfo,
// proc_pid_mountinfo(5)), and the part of the group's path below that. A mount can begin at any group; of several
// mounts it takes the one that shows most ancestors.
func cgroupMount(mountinfo []byte, version int, name string) (dir, below string, ok bool) {
	shortest := math.MaxInt
	for line := range bytes.Lines(mountinfo) {
		root, point, good := cgroupMountOf(string(line), version)
		if !good || len(root) >= shortest {
			continue
		}
		if rest, inside := under(root, name); inside {
			dir, below, ok, shortest = point, rest, true, len(root)
		}
	}
	return dir, below, ok
}

// cgroupMountOf reads one line: "41 31 0:38 / /sys/fs/cgroup rw,… - cgroup2 cgroup2 rw".
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

// under removes the root of a mount from the front of a path. The rest begins with "/", or is empty. A group outside
// our cgroup namespace is "/../…", and so is the root of a mount that shows it.
func under(root, name string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(strings.TrimSuffix(name, "/"), strings.TrimSuffix(root, "/"))
	return rest, ok && (rest == "" || rest[0] == '/' && !strings.Contains(rest+"/", "/../"))
}

// unescape decodes spaces, tabs, newlines and backslashes of mountinfo: \040 and so on.
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

// cgroupsUpwards reads a group and its ancestors up to the mount. Groups without the controller, and a root, which has
// no limit, are left out.
func cgroupsUpwards(mount, above, below string, version int) (out []Cgroup) {
	for range maxCgroupDepth {
		dir := mount + below
		if version == 1 && len(out) > 0 && cgroupFile(dir, "memory.use_hierarchy") == "0" {
			return out // memory of groups below does not count in it (before Linux 5.11)
		}
		if c, ok := readCgroup(dir, version); ok {
			c.Path = cmp.Or(above+below, "/")
			out = append(out, c)
		}
		if below == "" {
			return out
		}
		below = below[:strings.LastIndexByte(below, '/')]
	}
	return out
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
	if above, told := stat["hierarchical_memory_limit"]; told && above < unlimited1 {
		c.Above = above
	}
	c.Cache = stat["total_active_file"] + stat["total_inactive_file"] - stat["total_dirty"] - stat["total_writeback"]
	c.Cache = min(max(c.Cache, 0), c.Usage)
	c.OOMKills = cgroupKeys(dir, "memory.oom_control")["oom_kill"]
	return true
}

// unlimited1 is the value that version 1 shows where there is no limit: PAGE_COUNTER_MAX pages, of 64 KiB at most
// (include/linux/page_counter.h).
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

// cgroupBytes reads a file with one number, or "max". It is not ok where there is no such file.
func cgroupBytes(dir, name string) (int64, bool) {
	text := cgroupFile(dir, name)
	if text == "max" {
		return NoLimit, true
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return int64(min(n, math.MaxInt64)), true
}

func cgroupFile(dir, name string) string {
	data, _, err := readBounded(dir+"/"+name, maxCgroupFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// cgroupKeys reads a file of lines such as "oom_kill 3". Other lines are left out.
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
