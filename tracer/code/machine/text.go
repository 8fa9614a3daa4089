package machine

import "ipytracer/tracer/code/elffile"

const codePage = 4096

// Text is the machine code of an image, which is read and decoded as it is asked for, a page at a time. Not safe for concurrent use.
type Text struct {
	image *elffile.Image
	pages map[uint64][]byte
}

// NewText makes one; nothing is read yet.
func NewText(img *elffile.Image) *Text {
	return &Text{img, make(map[uint64][]byte)}
}

func (t *Text) page(n uint64) []byte {
	p, ok := t.pages[n]
	if !ok {
		p = make([]byte, codePage)
		if t.image.Read(n*codePage, p) != nil {
			p = nil
		}
		t.pages[n] = p
	}
	return p
}

func (t *Text) from(addr uint64) []byte {
	if p := t.page(addr / codePage); p != nil {
		return p[addr%codePage:]
	}
	// The last page of a segment is not whole in the file.
	var last [16]byte
	for n := len(last); n > 0; n-- {
		if t.image.Read(addr, last[:n]) == nil {
			return last[:n]
		}
	}
	return nil
}
