package filecache

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// hiddenPrefix is the beginning of the name of a file that is not complete yet.
const hiddenPrefix = ".new-"

// makeRoom removes incomplete files of programs that have ended. It also removes the domains that were not used for the
// longest time, until there is room for another domain. The caller must have locked the folder.
func (o *opener) makeRoom() {
	names, err := o.dir.Readdirnames(-1)
	if err != nil {
		return
	}
	type domain struct {
		name string
		used int64 // the time of the last use, in nanoseconds
	}
	var domains []domain
	for _, name := range names {
		var st unix.Stat_t
		switch {
		case strings.HasPrefix(name, hiddenPrefix):
			_ = unix.Unlinkat(int(o.dir.Fd()), name, 0)
		case name == o.name || strings.HasSuffix(name, before):
		case unix.Fstatat(int(o.dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil:
			domains = append(domains, domain{name, st.Mtim.Nano()})
		}
	}
	slices.SortFunc(domains, func(a, b domain) int { return cmp.Compare(a.used, b.used) })
	for _, d := range domains[:max(0, len(domains)-maxDomains+1)] {
		_ = unix.Unlinkat(int(o.dir.Fd()), d.name, 0)
		_ = unix.Unlinkat(int(o.dir.Fd()), d.name+before, 0)
	}
}

// Measure returns the total size in bytes of the caches in a folder. The error matches [os.ErrNotExist] if there is no
// folder yet.
func Measure(folder string) (size int64, err error) {
	dir, err := openFolder(folder, false)
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	files, err := dir.ReadDir(-1)
	for _, f := range files {
		if info, err := f.Info(); err == nil && info.Mode().IsRegular() && !strings.HasPrefix(f.Name(), hiddenPrefix) {
			size += info.Size()
		}
	}
	return size, err
}
