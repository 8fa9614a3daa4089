package holders

import (
	"iter"

	"ipytracer/internal/python/holders/objects"
)

// Lists of millions of texts would make a node of each text. But all leaves to which the same objects refer can share
// one node, which has the bytes of all of them. So of each leaf only the set of objects that refer to it is kept. The
// references of an object are met one after another, so there are few different sets.
//
// A crowd has the leaves that no survey has noted: those that only objects with very many references have, see
// census.isLarge in package walk.
type crowd struct {
	index  objects.Index // from addresses to leaves
	addrs  []uint64      // by leaf
	all    []leaf
	sets   []leafSet
	next   map[setStep]int32 // the results of with
	last   setStep           // the last argument of with, and its result
	lastTo int32

	first, end int32 // the nodes of all sets, once there are any

	region objects.Region
}

// leaf is an object that refers to nothing.
type leaf struct {
	set   int32  // the objects that refer to it
	left  uint32 // how many of the references to it were not met
	Bytes uint32
}

// leafSet is a set of nodes: those of another set, and one more. The first set is empty.
type leafSet struct {
	but   int32 // the other set
	node  int32 // the node more
	whole int32 // the node for those leaves of the set to which nothing else refers, 0 for none
}

// setStep adds a node to a set.
type setStep struct{ set, node int32 }

// Bounds of a crowd.
const (
	maxCrowd    = 1 << 23
	maxLeafSets = 1 << 16
)

func newCrowd() *crowd {
	c := &crowd{sets: []leafSet{{-1, -1, 0}}, next: map[setStep]int32{}, last: setStep{-1, -1}}
	c.addrs = objects.Room[uint64](&c.region, maxCrowd)
	c.all = objects.Room[leaf](&c.region, maxCrowd)
	return c
}

func (c *crowd) free() {
	c.addrs, c.all = nil, nil
	c.region.Free()
}

// addReference notes a reference from a node to a leaf. It returns false where there is no room for it.
func (c *crowd) addReference(s *objects.Sizer, from int32, addr uint64, t *objects.Type) bool {
	n, known := c.index.Get(addr, c.addrs)
	if !known {
		if len(c.all) == maxCrowd {
			return false
		}
		bytes, _ := s.Measure(addr, t)
		n = int32(len(c.all))
		c.addrs = append(c.addrs, addr)
		c.all = append(c.all, leaf{left: uint32(s.References(addr)), Bytes: uint32(min(bytes, 1<<32-1))})
		c.index.Put(addr, n, c.addrs)
	}
	found := &c.all[n]
	if found.left > 0 {
		found.left--
	}
	set, ok := c.with(found.set, from)
	found.set = set
	return ok
}

// with returns the number of the set that has a node more than a given set. ok is false where there is no room for it.
func (c *crowd) with(set, node int32) (to int32, ok bool) {
	if c.sets[set].node == node {
		return set, true
	}
	step := setStep{set, node}
	if step == c.last {
		return c.lastTo, true
	}
	to, ok = c.next[step]
	if !ok {
		if len(c.sets) == maxLeafSets {
			return set, false
		}
		to = int32(len(c.sets))
		c.sets = append(c.sets, leafSet{set, node, 0})
		c.next[step] = to
	}
	c.last, c.lastTo = step, to
	return to, true
}

// nodes yields the nodes of a set.
func (c *crowd) nodes(set int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for ; set > 0; set = c.sets[set].but {
			if !yield(c.sets[set].node) {
				return
			}
		}
	}
}
