package ledger

import (
	"testing"

	"github.com/cilium/ebpf/asm"
)

// Verifiers before 6.7 refuse a loop with a back edge that is not a jump ("back-edge", push_insn in
// kernel/bpf/verifier.c): they walk the instructions depth first, and the target of any other instruction must not be
// on the path to it. Compilers generate such loops when they enter them in the middle. Newer verifiers accept them, so
// a load on a current kernel does not reveal them.
func TestLoopsSuitOldKernels(t *testing.T) {
	spec, err := loadKernel()
	if err != nil {
		t.Fatal(err)
	}
	for name, program := range spec.Programs {
		for _, at := range backEdges(program.Instructions) {
			t.Errorf("%s: instruction %d falls into its own loop: %v", name, at, program.Instructions[at])
		}
	}
}

// backEdges walks a program as check_cfg does, and returns the instructions that those verifiers refuse.
func backEdges(program asm.Instructions) (found []int) {
	labels := map[string]int{}
	for i := range program {
		if s := program[i].Symbol(); s != "" {
			labels[s] = i
		}
	}
	// Offsets count in units of 8 bytes; a 64-bit load takes two.
	raw, index := make([]int, len(program)), map[int]int{}
	offset := 0
	for i := range program {
		raw[i], index[offset] = offset, i
		offset += width(program[i])
	}
	const (
		unseen = iota
		onPath
		done
	)
	state := make([]int, len(program))
	var walk func(at int)
	edge := func(from, to int, loops bool) {
		if to >= len(program) {
			return
		}
		switch {
		case state[to] == unseen:
			walk(to)
		case state[to] == onPath && !loops:
			found = append(found, from)
		}
	}
	walk = func(at int) {
		state[at] = onPath
		ins := program[at]
		switch op := ins.OpCode; {
		case op.Class().IsJump() && op.JumpOp() == asm.Exit:
		case op.Class().IsJump() && op.JumpOp() == asm.Call:
			edge(at, at+1, false)
			if ins.IsFunctionCall() {
				edge(at, labels[ins.Reference()], false)
			}
		case op.Class().IsJump() && op.JumpOp() == asm.Ja:
			edge(at, target(ins, at, labels, raw, index), true)
		case op.Class().IsJump():
			edge(at, at+1, true)
			edge(at, target(ins, at, labels, raw, index), true)
		default:
			edge(at, at+1, false)
		}
		state[at] = done
	}
	for i := range program {
		if state[i] == unseen {
			walk(i)
		}
	}
	return found
}

func width(ins asm.Instruction) int {
	if ins.OpCode.IsDWordLoad() {
		return 2
	}
	return 1
}

func target(ins asm.Instruction, at int, labels map[string]int, raw []int, index map[int]int) int {
	if to, ok := labels[ins.Reference()]; ok && ins.Reference() != "" {
		return to
	}
	return index[raw[at]+1+int(ins.Offset)]
}
