package variables

import (
	"iter"

	"ipytracer/internal/python/holders/objects"
)

// A list of millions of texts, some of which others have as well, would make a node of each. They refer to nothing, and
// it does not matter which of them is which: those that the same objects refer to are one node, which has the bytes of
// all. So little is kept of each, and the others that have it are found as the references are met: an object's are met
// one after another, so there are few sets of objects.
//
// A crowd has leaves that no survey has noted: those that only objects with very many references have, see
// census.isLarge in package walk.
type crowd struct {
	index objects.Index
	addrs []uint64
	all   []leaf
	sets  []leafSet
	next  map[setStep]int32 // the set that an object more makes of one
	last  setStep
	to    int32 // the same of the last step

	first, end int32 // the nodes of all sets

	region objects.Region
}

// leaf is an object that refers to nothing.
type leaf struct {
	set   int32  // of those that refer to it
	left  uint32 // references that were not met
	Bytes uint32
}

// leafSet is a set of objects: one more than in another. The first is empty.
type leafSet struct {
	but, node int32
	whole     int32 // the node of its leaves that nothing else has, 0 for none
}

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

// take takes in a reference from a node to a leaf. It is false where there is no room for it.
func (c *crowd) take(s *objects.Sizer, from int32, addr uint64, t *objects.Type) bool {
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
	one := &c.all[n]
	if one.left > 0 {
		one.left--
	}
	to, ok := c.with(one.set, from)
	one.set = to
	return ok
}

// with returns the set with one node more.
func (c *crowd) with(set, node int32) (to int32, ok bool) {
	if c.sets[set].node == node {
		return set, true
	}
	step := setStep{set, node}
	if step == c.last {
		return c.to, true
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
	c.last, c.to = step, to
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
