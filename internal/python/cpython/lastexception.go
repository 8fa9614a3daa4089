package cpython

import (
	"errors"
	"fmt"
)

// Exception has the objects of sys.last_value: the exception of the last traceback that was shown.
type Exception struct {
	Value     uint64 // address of the exception, 0 where none was shown yet
	Traceback uint64 // address of sys.last_traceback
	Type      string // tp_name of its type, at most 128 bytes, hostile; "" where Value is 0
}

// LastException reads sys.last_value, sys.last_traceback and, where the first is absent, sys.last_exc.
// IPython sets them whenever it shows a traceback (InteractiveShell._get_exc_info). So a cell has raised if
// the addresses differ from those before the cell: the old objects live until they are replaced, so their
// addresses are not reused. A cell that raises the same exception object again changes only Traceback.
// Without any exception Value is 0. The first call takes some milliseconds, later calls microseconds.
func (p *Interpreter) LastException() (Exception, error) {
	if p.sysDict == 0 {
		dict, err := p.moduleDict("sys")
		if err != nil {
			return Exception{}, err
		}
		p.sysDict = dict
	}
	var e Exception
	var err error
	for _, name := range []string{"last_value", "last_exc"} {
		if e.Value, err = p.sysObject(name); err != nil || e.Value != 0 {
			break
		}
	}
	if err != nil {
		p.sysDict = 0
		return Exception{}, err
	}
	if e.Value == 0 {
		return e, nil
	}
	if e.Traceback, err = p.sysObject("last_traceback"); err != nil {
		return Exception{}, err
	}
	if e.Type, err = p.typeName(e.Value); err != nil {
		return Exception{}, fmt.Errorf("sys.last_value: %w", err)
	}
	if e.Type == "NoneType" {
		return Exception{}, nil
	}
	return e, nil
}

// sysObject returns the object under a name of the sys module, 0 where there is none.
func (p *Interpreter) sysObject(name string) (uint64, error) {
	_, e, err := p.lookup(p.sysDict, name)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("sys: %w", err)
	}
	return e.value, nil
}
