package process

import "fmt"

// OpenFile opens a file by the name that a process would use, which need not have it mapped: absolute, looked up below
// the process's own root without leaving it. Only regular files are opened. Mapping has the file's identity and
// name and no addresses. The caller closes File.
func (fs FS) OpenFile(pid int, path string) (*MappedFile, error) {
	if fs.Helper != nil && fs.seesDistant(pid) {
		return fs.Helper.open(fs, openRequest{PID: pid, Path: path})
	}
	if fs.keeps() {
		return fs.Helper.near(fs, openRequest{PID: pid, Path: path})
	}
	f, st, err := openRegular(func() (int, error) { return fs.openBelowRoot(pid, path) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	id, err := mappedID(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &MappedFile{File: f, Stat: st, Mapping: Mapping{File: id, Path: path}, Route: ByRoot}, nil
}
