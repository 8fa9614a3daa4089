package privileges

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	alice = 54321
	bob   = 54322
)

// TestFileIsTheUsersFromTheFirst: the file is the user's from its first moment, and there when it is whole.
func TestFileIsTheUsersFromTheFirst(t *testing.T) {
	bothWays(t, func(r *rig) {
		defer unix.Umask(unix.Umask(0o777))
		for _, replace := range []bool{false, true, true} {
			path := r.path(fmt.Sprint("file", replace))
			_, before := os.Stat(path)
			f, err := r.rights.Create(path, replace)
			r.must(err)
			var st unix.Stat_t
			r.must(unix.Fstat(int(f.Fd()), &st))
			if st.Uid != alice || st.Gid != alice || st.Mode&0o777 != 0o600 {
				r.Errorf("of %d:%d, mode %o", st.Uid, st.Gid, st.Mode)
			}
			_, err = f.WriteString("new")
			r.must(err)
			if _, err := os.Stat(path); (err == nil) != (before == nil) {
				r.Errorf("before it is whole: %v", err)
			}
			r.must(f.Commit(), f.Close())
			if data, err := os.ReadFile(path); err != nil || string(data) != "new" {
				r.Errorf("%q %v", data, err)
			}
		}
		f, err := r.rights.Create(r.path("given up"), false)
		r.must(err)
		f.Discard()
		if _, err := os.Stat(r.path("given up")); err == nil {
			r.Error("discarded and there")
		}
	})
}

// TestKernelDecides: alice cannot write, or learn about, a file by way of a program of root's where she may not do so
// herself.
func TestKernelDecides(t *testing.T) {
	bothWays(t, func(r *rig) {
		vault := filepath.Dir(r.secret)
		for _, replace := range []bool{false, true} {
			for _, path := range []string{r.secret, filepath.Join(vault, "new"), "/etc/tracer-test", "/etc/passwd",
				"/proc/1/root/tmp/x"} {
				want := fs.ErrPermission
				if path == "/etc/passwd" && !replace {
					want = fs.ErrExist // as everybody sees
				}
				if err := r.write(path, replace); !errors.Is(err, want) {
					r.Errorf("%s: %v", path, err)
				}
			}
		}
		if r.rights.Exists(r.secret) || r.rights.Exists(filepath.Join(vault, "no such")) || !r.rights.Exists(r.nearby) {
			r.Error("sees what alice does not see")
		}
		for _, path := range []string{r.secret, r.nearby, "/etc/shadow"} {
			if _, err := r.rights.Open(path); !errors.Is(err, fs.ErrPermission) {
				r.Errorf("read %s: %v", path, err)
			}
		}
		// In her own folder she may remove a file that root has laid there, as with rm -f.
		r.must(r.write(r.path("mine"), false), os.WriteFile(r.path("roots"), nil, 0o600),
			r.write(r.path("roots"), true))
		// Not so where everybody removes his own.
		r.must(os.Chown(r.dir, 0, 0), unix.Chmod(r.dir, 0o1777))
		if err := r.write(r.nearby, true); !errors.Is(err, fs.ErrPermission) {
			r.Errorf("in a sticky folder: %v", err)
		}
	})
}

// TestNoLinkIsWrittenThrough: no link is written through, whatever it leads to.
func TestNoLinkIsWrittenThrough(t *testing.T) {
	bothWays(t, func(r *rig) {
		device := r.path("device")
		r.must(unix.Mknod(device, unix.S_IFBLK|0o666, int(unix.Mkdev(7, 250))), os.Chmod(device, 0o666))
		for name, target := range map[string]string{"to secret": r.secret, "to nearby": r.nearby, "to a device": device,
			"to nothing": r.path("absent"), "to null": "/dev/null"} {
			link := r.path(name)
			r.must(os.Symlink(target, link))
			for _, replace := range []bool{false, true} {
				if err := r.write(link, replace); !errors.Is(err, ErrNotRegular) {
					r.Errorf("%s: %v", name, err)
				}
			}
			if _, err := r.rights.Special(link); !errors.Is(err, ErrNotRegular) {
				r.Errorf("%s: %v", name, err)
			}
		}
		if _, err := os.Stat(r.path("absent")); err == nil {
			r.Error("made through a link")
		}
		// A second name of root's file is replaced, the file is not.
		hard := r.path("hard")
		r.must(os.Link(r.secret, hard), r.write(hard, true))
	})
}

// TestLinkLaidMeanwhile: a link that is put in the way between Create and Commit is replaced, not followed.
func TestLinkLaidMeanwhile(t *testing.T) {
	bothWays(t, func(r *rig) {
		for _, replace := range []bool{false, true} {
			path := r.path(fmt.Sprint("report", replace))
			f, err := r.rights.Create(path, replace)
			r.must(err, os.Symlink(r.nearby, path))
			_, err = f.WriteString("new")
			r.must(err)
			err = f.Commit()
			f.Close()
			if replace != (err == nil) || !replace && !errors.Is(err, fs.ErrExist) {
				r.Errorf("replace %v: %v", replace, err)
			}
		}
	})
}

// TestFolderLinks: links on the way are followed if they are alice's or root's, not bob's.
func TestFolderLinks(t *testing.T) {
	bothWays(t, func(r *rig) {
		r.must(os.Mkdir(r.path("real"), 0o755), os.Chown(r.path("real"), alice, alice))
		for name, owner := range map[string]int{"root's": 0, "hers": alice, "bob's": bob} {
			r.must(os.Symlink("real", r.path(name)), os.Lchown(r.path(name), owner, owner),
				os.Symlink(r.dir+"/"+name, r.path("way to "+name)))
			for _, way := range []string{name, "way to " + name} {
				err := r.write(filepath.Join(r.path(way), "..", name, "by "+way), false)
				if owner == bob && !errors.Is(err, ErrForeignLink) || owner != bob && err != nil {
					r.Errorf("%s: %v", way, err)
				}
			}
		}
		r.must(os.Symlink("loop", r.path("loop")))
		if err := r.write(r.path("loop/x"), false); !errors.Is(err, unix.ELOOP) {
			r.Errorf("a loop: %v", err)
		}
		for _, path := range []string{"", r.dir + "/", r.dir + "/.", r.dir + "/real/..", r.path("real"),
			r.path("nearby/x"), r.path("no/such")} {
			if err := r.write(path, true); err == nil {
				r.Errorf("%q was written", path)
			}
		}
	})
}

// TestSwappedLinkIsNeverFollowed: a file that is a link every other moment is never followed, between whatever two
// steps it changes.
func TestSwappedLinkIsNeverFollowed(t *testing.T) {
	bothWays(t, func(r *rig) {
		swapped := r.path("swapped")
		var swaps atomic.Int64
		stop, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for {
				select {
				case <-stop:
					return
				default:
				}
				_ = os.Symlink(r.nearby, r.path("link"))
				_ = os.Rename(r.path("link"), swapped)
				_ = os.WriteFile(r.path("file"), nil, 0o666)
				_ = os.Chown(r.path("file"), alice, alice)
				_ = os.Rename(r.path("file"), swapped)
				swaps.Add(1)
			}
		}()
		written, refused := 0, 0
		for try := 0; try < 2000 || swaps.Load() < 2000; try++ {
			if err := r.write(swapped, true); err == nil {
				written++
			} else {
				refused++
			}
			if f, _ := r.rights.Special(swapped); f != nil {
				r.Fatal("opened as it is")
			}
		}
		close(stop)
		<-ended
		if written == 0 || refused == 0 {
			r.Errorf("%d written, %d refused: nothing was swapped", written, refused)
		}
	})
}

// TestPipesAndDevicesAreWrittenAsTheyAre: a pipe or a device is written to as it is, if that does no harm; nothing
// blocks.
func TestPipesAndDevicesAreWrittenAsTheyAre(t *testing.T) {
	r := newRig(t)
	node := func(name string, mode uint32, major, minor uint32) string {
		path := r.path(name)
		r.must(unix.Mknod(path, mode|0o666, int(unix.Mkdev(major, minor))), os.Chmod(path, 0o666))
		return path
	}
	if err := os.WriteFile(node("null", unix.S_IFCHR, 1, 3), nil, 0o600); err != nil {
		t.Skip("devices cannot be opened where temporary files are: ", err)
	}
	for path, want := range map[string]error{
		"/dev/null": nil, r.path("null"): nil, node("full", unix.S_IFCHR, 1, 7): nil,
		node("disk", unix.S_IFBLK, 7, 250): ErrNotRegular, node("mem", unix.S_IFCHR, 1, 1): ErrNotRegular,
		node("watchdog", unix.S_IFCHR, 10, 130): ErrNotRegular, r.dir: ErrNotRegular,
		node("pipe", unix.S_IFIFO, 0, 0): ErrNotRegular, // root's own
	} {
		if path == r.path("pipe") {
			r.must(os.Chown(path, bob, bob))
		}
		f, err := r.rights.Special(path)
		if !errors.Is(err, want) || (f == nil) != (err != nil) {
			t.Errorf("%s: %v %v", path, f, err)
		}
		if f != nil {
			f.Close()
		}
		if err := r.write(path, true); !errors.Is(err, ErrNotRegular) && !errors.Is(err, fs.ErrPermission) {
			t.Errorf("as a file: %s: %v", path, err)
		}
	}
	for _, path := range []string{r.nearby, r.path("absent")} {
		if f, err := r.rights.Special(path); f != nil || err != nil {
			t.Errorf("%s: %v %v", path, f, err)
		}
	}
	pipe := r.path("pipe")
	r.must(os.Chown(pipe, alice, alice))
	if _, err := r.rights.Special(pipe); !errors.Is(err, ErrNobodyReads) {
		t.Errorf("a pipe that nobody reads: %v", err)
	}
	if f, err := r.rights.Open(pipe); err != nil {
		t.Errorf("a pipe that nobody writes to: %v", err)
	} else {
		f.Close()
	}
	reader, err := os.OpenFile(pipe, os.O_RDONLY|unix.O_NONBLOCK, 0)
	r.must(err)
	defer reader.Close()
	f, err := r.rights.Special(pipe)
	r.must(err)
	_, err = f.WriteString("through")
	r.must(err, f.Close())
	var got [16]byte
	if n, err := reader.Read(got[:]); string(got[:n]) != "through" {
		t.Errorf("%q %v", got[:n], err)
	}
}

// TestFolderVanishes: a file that cannot be put in its place is an error, and nothing is left.
func TestFolderVanishes(t *testing.T) {
	bothWays(t, func(r *rig) {
		dir := r.path("dir")
		r.must(os.Mkdir(dir, 0o755), os.Chown(dir, alice, alice))
		f, err := r.rights.Create(filepath.Join(dir, "file"), true)
		r.must(err, os.RemoveAll(dir), os.Symlink(filepath.Dir(r.secret), dir))
		if err := f.Commit(); !errors.Is(err, fs.ErrNotExist) {
			r.Errorf("%v", err)
		}
		f.Discard()
	})
}

// TestRemovedFileIsKnown: a file that was removed after it was put in its place is known to be.
func TestRemovedFileIsKnown(t *testing.T) {
	r := newRig(t)
	f, err := r.rights.Create(r.path("file"), false)
	r.must(err, f.Commit())
	defer f.Discard()
	if f.Gone() {
		t.Error("gone at once")
	}
	r.must(os.Remove(r.path("file")))
	if !f.Gone() {
		t.Error("not gone")
	}
}

// TestThreads: one thread has the user's ids and no capability in effect, every other one has the program's.
func TestThreads(t *testing.T) {
	ending, _ := alicesThreads(t) // of rights that were closed before
	r := newRig(t)
	var user string
	r.must(r.rights.Do(func() error {
		data, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status", unix.Gettid()))
		user = string(data)
		return err
	}))
	for _, want := range []string{"Uid:\t0\t0\t0\t54321\n", "Gid:\t0\t0\t0\t54321\n", "CapEff:\t0000000000000000\n",
		"Groups:\t54321 \n"} {
		if !strings.Contains(user, want) {
			t.Errorf("no %q in\n%s", want, user)
		}
	}
	hers, all := alicesThreads(t)
	hers = slices.DeleteFunc(hers, func(thread string) bool { return slices.Contains(ending, thread) })
	if len(hers) != 1 {
		t.Errorf("%d threads of %d are alice's", len(hers), all)
	}
}

// alicesThreads returns the threads of this process that have alice's ids, and how many there are in all.
func alicesThreads(t *testing.T) (hers []string, all int) {
	t.Helper()
	threads, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range threads {
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), "\t54321") {
			hers = append(hers, path)
		}
	}
	return hers, len(threads)
}

// TestRootItself: root may do everything that root may, and learns which rights the Commit takes.
func TestRootItself(t *testing.T) {
	r := newRig(t)
	self, err := Self()
	r.must(err)
	rights, err := RightsOf(self)
	r.must(err)
	defer rights.Close()
	own, err := rights.Create(filepath.Join(filepath.Dir(r.secret), "report"), true)
	r.must(err)
	defer own.Discard()
	hers, err := rights.Create(r.path("report"), true)
	r.must(err)
	defer hers.Discard()
	r.must(os.Chmod(r.dir, 0o755))
	if own.NeedsOverride() || !hers.NeedsOverride() {
		t.Errorf("in root's folder %v, in alice's %v", own.NeedsOverride(), hers.NeedsOverride())
	}
}
