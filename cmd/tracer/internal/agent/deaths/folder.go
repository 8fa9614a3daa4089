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

// folder has reports as files of the agent's user, with mode 0600: an agent without CAP_CHOWN cannot give them to their
// owners. A report is written under another name and renamed, so that no report is half written.
type folder struct {
	root  *os.Root
	saved map[string]*Report // the reports on the disk, by ID
}

// maxNames is the most names in the folder that are read.
const maxNames = 4 * maxInAll

// Names of reports, and of those that are being written.
var (
	reportName = regexp.MustCompile(`^([0-9a-f]{16})\.json$`)
	tempName   = regexp.MustCompile(`^\.[0-9a-f]{16}\.tmp$`)
)

// errUnsafeFolder says that other users could put files into the folder.
var errUnsafeFolder = errors.New("it is a link, not this user's, or others may write to it")

// openFolder opens a folder. It makes the folder if there is none.
func openFolder(path string) (_ *folder, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if at, err := os.Lstat(path); err != nil || !at.IsDir() {
		return nil, errors.Join(errUnsafeFolder, err)
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
		err = errUnsafeFolder
	}
	if err != nil {
		f.root.Close()
		return nil, err
	}
	return f, nil
}

// load reads the reports. skipped counts files with a report's name that are no reports. It removes files that a killed
// agent has left half written.
func (f *folder) load() (reports []*Report, skipped int, err error) {
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
		reports = append(reports, r)
	}
	return reports, skipped, nil
}

// read reads a report. It refuses anything but a plain file with one name that only this user can read and write.
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
	return readReport(file)
}

// sync writes the reports that have changed, and removes the files of reports that are not given. It returns at the
// first report that cannot be written, but goes on after a file that cannot be removed.
func (f *folder) sync(reports []*Report) error {
	var removeErr error
	keep := map[string]bool{}
	for _, r := range reports {
		keep[r.ID] = true
	}
	for id := range f.saved { // removed first, to make room
		if keep[id] {
			continue
		}
		if err := f.root.Remove(id + ".json"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			removeErr = err
			continue
		}
		delete(f.saved, id)
	}
	for _, r := range reports {
		if f.saved[r.ID] == r {
			continue
		}
		if err := f.write(r); err != nil {
			return errors.Join(removeErr, err) // the disk is probably full
		}
		f.saved[r.ID] = r
	}
	return removeErr
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
