package machine

import (
	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/isa"
)

// pieceSize is how many bytes of code are read at a time. It need not be the size of a page of memory.
const pieceSize = 4096

// Text is the machine code of an image. It reads and decodes code when an analysis asks for it. It is not safe for
// concurrent use.
type Text struct {
	image  *elffile.Image
	arch   *isa.Architecture
	pieces map[uint64][]byte
}

// NewText returns the machine code of an image, for the architecture in the file's header. It reads nothing yet.
func NewText(img *elffile.Image) *Text { return textFor(img, architectureOf(img.Machine())) }

func textFor(img *elffile.Image, arch *isa.Architecture) *Text {
	return &Text{image: img, arch: arch, pieces: make(map[uint64][]byte)}
}

// decode returns the instruction at an address. ok is false outside the executable segments and for bytes
// that are not a known instruction.
func (t *Text) decode(addr uint64) (in isa.Instruction, ok bool) {
	if !t.image.Executable(addr) {
		return in, false
	}
	code := t.from(addr)
	if len(code) < isa.MaxLength { // the instruction may go on in the next piece
		var whole [isa.MaxLength]byte
		n := copy(whole[:], code)
		n += copy(whole[n:], t.from(addr+uint64(n)))
		code = whole[:n]
	}
	return t.arch.Decode(code, addr)
}

// piece returns the bytes from address n*pieceSize on, or nil if the file does not have all of them.
func (t *Text) piece(n uint64) []byte {
	p, ok := t.pieces[n]
	if !ok {
		p = make([]byte, pieceSize)
		if t.image.Read(n*pieceSize, p) != nil {
			p = nil
		}
		t.pieces[n] = p
	}
	return p
}

// from returns some bytes from an address on, at most up to the end of their piece.
func (t *Text) from(addr uint64) []byte {
	if p := t.piece(addr / pieceSize); p != nil {
		return p[addr%pieceSize:]
	}
	// The last piece of a segment is not whole in the file.
	var last [isa.MaxLength]byte
	for n := len(last); n > 0; n-- {
		if t.image.Read(addr, last[:n]) == nil {
			return last[:n]
		}
	}
	return nil
}
