package holders

// element is an element of xml.etree's trees, as the module in C makes them.
const element = "xml.etree.ElementTree.Element"

// Layout of an element and of what it has besides: ElementObject and ElementObjectExtra in Modules/_elementtree.c, 3.9
// to 3.15. A text or a tail that is a list of texts yet to be joined has the lowest bit of its address set.
const (
	elementText     = 24
	elementTail     = 32
	elementExtra    = 40
	extraAttributes = 0
	extraLength     = 8
	extraRoom       = 16
	extraChildren   = 24
	extraInPlace    = 32 // four children
	extraSize       = 64
)

// elementSize is the size of what an element has besides itself: there is none where it has neither attributes nor
// children, and room for more than four of these is apart.
func (s *sizer) elementSize(addr uint64) (more uint64, known bool) {
	extra := s.mem.word(addr + elementExtra)
	if extra == 0 {
		return 0, true
	}
	if more, known = s.sizes.buffer(extra, extraSize); !known {
		return 0, false
	}
	if children := s.mem.word(extra + extraChildren); children != extra+extraInPlace {
		apart, ok := s.sizes.buffer(children, 8*min(s.mem.word(extra+extraRoom), userSpace/8))
		return more + apart, ok
	}
	return more, true
}
