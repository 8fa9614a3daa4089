package e2e

import (
	"errors"
	"os"
	"testing"

	"github.com/cilium/ebpf"
)

// programs returns the ids of all BPF programs in the kernel.
func programs(t *testing.T) map[ebpf.ProgramID]bool {
	t.Helper()
	ids := map[ebpf.ProgramID]bool{}
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if errors.Is(err, os.ErrNotExist) {
			return ids
		}
		if err != nil {
			t.Fatal(err)
		}
		id = next
		ids[id] = true
	}
}

// anyLoaded reports whether any of these programs is still in the kernel.
func anyLoaded(t *testing.T, ids map[ebpf.ProgramID]bool) bool {
	t.Helper()
	for id := range programs(t) {
		if ids[id] {
			return true
		}
	}
	return false
}
