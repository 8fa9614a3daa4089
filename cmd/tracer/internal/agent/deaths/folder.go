package deaths

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"
)

// folder has reports as files, each with mode 0600 of the agent's user: an agent without CAP_CHOWN cannot give them
// away. A report is written under another name and renamed, so no file is half written.
type folder struct {
	root  *os.Root
	saved map[string]*Report // by id, as they are on the disk
}

// maxNames is how many names in the folder are looked at.
const maxNames = 4 * maxInAll

// Names of reports, and of those that are being written.
var (
	reportName = regexp.MustCompile(`^([0-9a-f]{16})\.json$`)
	tempName   = regexp.MustCompile(`^\.[0-9a-f]{16}\.tmp$`)
)

// errFolder is the error for a folder in which others could put files.
var errFolder = errors.New("it is a link, not this user's, or others may write to it")

// openFolder opens a folder, which is made if it is not there.
func openFolder(path string) (_ *folder, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if at, err := os.Lstat(path); err != nil || !at.IsDir() {
		return nil, errors.Join(errFolder, err)
	}
	f := &folder{saved: map[string]*Report{}}
	if f.root, err = os.OpenRoot(path); err != nil {
		return nil, err
	}
	var st unix.Stat_t
	opened, err := f.root.Open(".")
	if err == nil {
		err = unix.Fstat(int(opened.Fd()), &st)
		opened.Close()
	}
	if err == nil && (int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0) {
		err = errFolder
	}
	if err != nil {
		f.root.Close()
		return nil, err
	}
	return f, nil
}

// load reads the reports, and removes what an agent that was killed has left half written. skipped is how many files
// are no reports.
func (f *folder) load() (all []*Report, skipped int, err error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, 0, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxNames)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	for _, name := range names {
		if tempName.MatchString(name) {
			_ = f.root.Remove(name)
			continue
		}
		id := reportName.FindStringSubmatch(name)
		if id == nil {
			continue
		}
		r, err := f.read(name)
		if err != nil || r.ID != id[1] {
			skipped++
			continue
		}
		f.saved[r.ID] = r
		all = append(all, r)
	}
	return all, skipped, nil
}

// read reads a report. Only a plain file of this user's that has no other name is one.
func (f *folder) read(name string) (*Report, error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() || st.Nlink != 1 || st.Mode&0o077 != 0 {
		return nil, errors.New("it is no file of this user's alone")
	}
	return read(file)
}

// sync writes the reports that changed, and removes the files of all other reports. It goes on after an error.
func (f *folder) sync(reports []*Report) error {
	var failed error
	keep := map[string]bool{}
	for _, r := range reports {
		keep[r.ID] = true
	}
	for id := range f.saved { // first: they make room
		if keep[id] {
			continue
		}
		if err := f.root.Remove(id + ".json"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = err
			continue
		}
		delete(f.saved, id)
	}
	for _, r := range reports {
		if f.saved[r.ID] == r {
			continue
		}
		if err := f.write(r); err != nil {
			return errors.Join(failed, err) // the others have no more room
		}
		f.saved[r.ID] = r
	}
	return failed
}

func (f *folder) write(r *Report) (err error) {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	temp := "." + r.ID + ".tmp"
	_ = f.root.Remove(temp)
	file, err := f.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Close()); err == nil {
		err = f.root.Rename(temp, r.ID+".json")
	}
	if err != nil {
		_ = f.root.Remove(temp)
		return fmt.Errorf("write a report: %w", err)
	}
	return nil
}

func (f *folder) close() { f.root.Close() }
