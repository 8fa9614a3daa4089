package process

import (
	"bytes"
	"errors"
	"io"
	"strings"
)

// maxEnviron bounds how much of an environment is looked through.
const maxEnviron = 1 << 20

// Variables returns the named variables of the environment a process was started with (proc_pid_environ(5)); those it
// does not have are left out. Variables that it has set since are not there. An environment holds secrets: nothing else
// of it is kept, so ask for the needed variables and no others. It needs ptrace access.
func (p Proc) Variables(names ...string) (map[string]string, error) {
	if p.pid <= 0 {
		return nil, &Error{PID: p.pid, Kind: ErrNoProcess}
	}
	f, err := p.open("environ")
	if err != nil {
		return nil, p.failure(err)
	}
	defer f.Close()
	data := make([]byte, maxEnviron)
	defer clear(data)
	n, err := io.ReadFull(f, data)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, p.failure(err)
	}
	found := map[string]string{}
	for entry := range bytes.SplitSeq(data[:n], []byte{0}) {
		for _, name := range names {
			if value, ok := bytes.CutPrefix(entry, []byte(name+"=")); ok {
				found[name] = strings.Clone(string(value))
			}
		}
	}
	return found, nil
}
