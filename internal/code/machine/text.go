package machine

import (
	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/isa"
)

// pieceSize is how many bytes of code are read at a time. It is no page of a machine's memory.
const pieceSize = 4096

// Text is the machine code of an image. Its pieces are read and decoded when they are asked for. Not safe for
// concurrent use.
type Text struct {
	image  *elffile.Image
	arch   *isa.Architecture
	pieces map[uint64][]byte
}

// NewText makes one, of the architecture that the file is for; nothing is read yet.
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
	if len(code) < isa.MaxLength { // it may go on in the next piece
		var whole [isa.MaxLength]byte
		n := copy(whole[:], code)
		n += copy(whole[n:], t.from(addr+uint64(n)))
		code = whole[:n]
	}
	return t.arch.Decode(code, addr)
}

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
