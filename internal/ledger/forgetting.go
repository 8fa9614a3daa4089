package ledger

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
)

// ForgetStacks makes the programs forget which stacks and code objects they have sent: each is sent again when it is
// next met, but for the stack that a thread met last, until it meets another one. So their tables, which keep what they
// have, do not fill in a session that goes on for ever.
func (p *Processes) ForgetStacks() error {
	// What has no number in code_numbers is looked for in codes: so codes come first. Stacks name code, and are last.
	err := cmp.Or(takeAll[uint32](p.objects.Codes), takeAll[uint64](p.objects.CodeNumbers),
		takeAll[uint64](p.objects.Paths), takeAll[uint32](p.objects.Stacks))
	if err != nil {
		return fmt.Errorf("forget stacks: %w", err)
	}
	return nil
}

// atOnce is the number of entries that are taken out of a map at once.
const atOnce = 4096

// takeAll takes all entries out of a hash map.
func takeAll[V any](m *ebpf.Map) error {
	var cursor ebpf.MapBatchCursor
	keys, values := make([]uint64, atOnce), make([]V, atOnce)
	for {
		_, err := m.BatchLookupAndDelete(&cursor, keys, values, nil)
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
