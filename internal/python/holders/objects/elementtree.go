package objects

// Element is an element of xml.etree's trees, as the module in C makes them.
const Element = "xml.etree.ElementTree.Element"

// Layout of an element and of what it has besides: ElementObject and ElementObjectExtra in Modules/_elementtree.c, 3.9
// to 3.15. A text or a tail that is a list of texts yet to be joined has the lowest bit of its address set.
const (
	ElementText     = 24
	ElementTail     = 32
	ElementExtra    = 40
	ExtraAttributes = 0
	ExtraLength     = 8
	ExtraRoom       = 16
	ExtraChildren   = 24
	extraInPlace    = 32 // four children
	extraSize       = 64
)

// elementSize returns the bytes that an element has besides itself: none if it has neither attributes nor children.
// Room for more than four children is a buffer of its own.
func (s *Sizer) elementSize(addr uint64) (more uint64, known bool) {
	extra := s.Mem.Word(addr + ElementExtra)
	if extra == 0 {
		return 0, true
	}
	if more, known = s.Sizes.Buffer(extra, extraSize); !known {
		return 0, false
	}
	if children := s.Mem.Word(extra + ExtraChildren); children != extra+extraInPlace {
		apart, ok := s.Sizes.Buffer(children, 8*min(s.Mem.Word(extra+ExtraRoom), UserSpace/8))
		return more + apart, ok
	}
	return more, true
}
