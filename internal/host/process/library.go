package process

import "fmt"

// OpenFile opens a file by the name that a process would use, which need not have it mapped: absolute, looked up below
// the process's own root without leaving it. Only regular files are opened. Mapping has the file's identity and
// name and no addresses. The caller closes File.
func (i Image) OpenFile(path string) (*MappedFile, error) {
	if i.proc.fs.Helper != nil && i.seesDistant() {
		return i.proc.fs.Helper.open(i.proc.fs, openRequest{PID: i.proc.pid, Path: path})
	}
	if i.proc.fs.keeps() {
		return i.proc.fs.Helper.near(i.proc.fs, openRequest{PID: i.proc.pid, Path: path})
	}
	f, st, err := openRegular(func() (int, error) { return i.openBelowRoot(path) })
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
