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

// slot remembers the place of a name in a dict, so that reading it again takes three small reads. A dict's keys object
// is replaced when it grows and an entry keeps its key, so both still being there proves the slot. A name that was
// absent stays so while no entry was added.
type slot struct {
	name  string
	keys  dictKeys
	entry dictEntry // key is 0 where the name was absent
}

// LastException reads sys.last_value, sys.last_traceback and, where the first is absent, sys.last_exc.
// IPython sets them whenever it shows a traceback (InteractiveShell._get_exc_info), so a cell raised if
// the addresses differ from before the cell: the old objects are alive until replaced, so their addresses
// are not reused. A cell that raises the same exception object again shows in Traceback only.
// No exception yet is not an error. The first call takes some milliseconds, later ones microseconds.
func (p *Interpreter) LastException() (Exception, error) {
	if p.sysDict == 0 {
		dict, err := p.moduleDict("sys")
		if err != nil {
			return Exception{}, err
		}
		p.sysDict = dict
		p.last = [2]slot{{name: "last_value"}, {name: "last_exc"}}
		p.lastTB = slot{name: "last_traceback"}
	}
	var e Exception
	for i := range p.last {
		v, err := p.readSlot(&p.last[i])
		if err != nil {
			p.sysDict = 0
			return Exception{}, fmt.Errorf("sys: %w", err)
		}
		if e.Value = v; v != 0 {
			break
		}
	}
	if e.Value == 0 {
		return e, nil
	}
	tb, err := p.readSlot(&p.lastTB)
	if err != nil {
		return Exception{}, fmt.Errorf("sys: %w", err)
	}
	e.Traceback = tb
	if e.Type, err = p.typeName(e.Value); err != nil {
		return Exception{}, fmt.Errorf("sys.last_value: %w", err)
	}
	if e.Type == "NoneType" {
		return Exception{}, nil
	}
	return e, nil
}

// readSlot returns the object under a name of the sys module, 0 where there is none.
func (p *Interpreter) readSlot(s *slot) (uint64, error) {
	k, err := p.keysOf(p.sysDict)
	if err != nil {
		return 0, err
	}
	if s.keys == k && s.entry.key == 0 {
		return 0, nil
	}
	if s.keys.entries == k.entries && s.keys.stride == k.stride && s.entry.key != 0 && s.entry.index < k.count {
		if e, err := p.entry(&k, s.entry.index); err == nil && e.key == s.entry.key && e.value != 0 {
			return e.value, nil
		}
	}
	s.keys, s.entry, err = p.lookup(p.sysDict, s.name)
	if err != nil && !errors.Is(err, ErrNotFound) {
		s.keys = dictKeys{}
		return 0, err
	}
	return s.entry.value, nil
}
