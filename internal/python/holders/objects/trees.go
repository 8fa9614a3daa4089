package objects

import "os"

// scikit-learn's forests, and whatever else is made of its decision trees, keep their nodes in memory of malloc's, that
// no object of Python's has.

// TreeType is the type of a tree, in Cython, of scikit-learn 0.18 to 1.7.
const TreeType = "sklearn.tree._tree.Tree"

// machinePage is the size of a page of this machine's memory. malloc maps whole ones.
var machinePage = uint64(os.Getpagesize())

// treeSize returns the memory of a tree besides its object: its nodes and its values. Five words of the object describe
// them, one behind the other (sklearn/tree/_tree.pxd): the number of nodes, the number that there is room for, the
// place of the nodes, the place of the values, the number of values of a node. treeSize finds these words by
// conditions: a node takes 56 or 64 bytes, a value 8, and malloc gave out as much. n_classes, an array of a few words,
// is left out.
func treeSize(s *Sizer, addr uint64, t *Type) (bytes uint64, known bool) {
	const nodeLeast, nodeMost, value, most = 48, 80, 8, 1 << 32
	var words []uint64
	s.Mem.Words(addr+16, (min(t.Basic, 256)-16)/8, func(_, word uint64) bool {
		words = append(words, word)
		return true
	})
	for i := 0; i+5 <= len(words); i++ {
		count, room, nodes, values, stride := words[i], words[i+1], words[i+2], words[i+3], words[i+4]
		if count == 0 || count > room || room > most || stride == 0 || stride > UserSpace/value/room || nodes&15 != 0 ||
			values&15 != 0 {
			continue
		}
		ofNodes, ok := mallocSize(s, nodes)
		if !ok || ofNodes < nodeLeast*room || ofNodes > nodeMost*room+2*machinePage {
			continue
		}
		ofValues, ok := mallocSize(s, values)
		if want := value * room * stride; ok && ofValues >= want && ofValues <= want+2*machinePage {
			s.Sizes.reportBlock(nodes, ofNodes-16)
			s.Sizes.reportBlock(values, ofValues-16)
			return ofNodes + ofValues, true
		}
	}
	return 0, false
}

// mallocSize returns the size of the piece of memory that glibc's malloc gave out at an address, with its header.
func mallocSize(s *Sizer, addr uint64) (bytes uint64, ok bool) {
	const flags, least = 7, 32
	if addr < LowestAddress || addr >= UserSpace {
		return 0, false
	}
	size := s.Mem.Word(addr-8) &^ flags
	if size < least {
		return 0, false
	}
	placed := s.Sizes.Placed // there may be no block: it must not be reported yet
	s.Sizes.Placed = nil
	_, ok = s.Sizes.Buffer(addr, size-16)
	s.Sizes.Placed = placed
	if !ok {
		return 0, false
	}
	return size, true
}
