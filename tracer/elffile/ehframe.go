package elffile

import (
	"encoding/binary"
	"sort"
)

const (
	maxEHFrame = 32 << 20 // 3 MiB in the largest build seen
	maxFDEs    = 1 << 18
)

// parseEHFrame returns the sorted code ranges of an .eh_frame section loaded at addr: one for each function
// and one for each cold fragment that the compiler or BOLT split off. It stops at the first record it does
// not understand. Format: System V ABI, LSB 5.0 section 10.6.
func parseEHFrame(data []byte, addr uint64) []Span {
	var out []Span
	encodings := make(map[int]byte) // CIE position -> pointer encoding
	for pos := 0; pos+8 <= len(data) && len(out) < maxFDEs; {
		length := int(binary.LittleEndian.Uint32(data[pos:]))
		if length == 0 { // terminator; a linker may leave one before more records
			pos += 4
			continue
		}
		body := pos + 4
		if length < 4 || length > len(data)-body {
			break
		}
		record := data[body : body+length]
		id := int(binary.LittleEndian.Uint32(record))
		if id == 0 {
			encodings[pos] = cieEncoding(record[4:])
		} else if enc, ok := encodings[body-id]; ok {
			if s, ok := fdeSpan(record[4:], addr+uint64(body)+4, enc); ok {
				out = append(out, s)
			}
		}
		pos = body + length
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Start < out[j].Start })
	return out
}

const (
	encPCRelSData4 = 0x1b // DW_EH_PE_pcrel | DW_EH_PE_sdata4: what GCC, Clang and BOLT write on x86-64
	encUnknown     = 0xff
)

// cieEncoding returns the encoding of the addresses in a CIE's FDEs.
func cieEncoding(cie []byte) byte {
	if len(cie) < 2 {
		return encUnknown
	}
	rest := cie[1:]
	end := 0
	for end < len(rest) && rest[end] != 0 {
		end++
	}
	if end >= len(rest) || end == 0 || rest[0] != 'z' {
		return encUnknown
	}
	augmentation, rest := rest[:end], rest[end+1:]
	for range 4 { // code alignment, data alignment, return register, length of the augmentation data
		for len(rest) > 0 && rest[0]&0x80 != 0 {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return encUnknown
		}
		rest = rest[1:]
	}
	for _, c := range augmentation[1:] {
		if len(rest) == 0 {
			return encUnknown
		}
		switch c {
		case 'R':
			return rest[0]
		case 'L':
			rest = rest[1:]
		case 'P':
			if rest[0]&0x0f != 0x0b || len(rest) < 5 { // only 4-byte personality pointers
				return encUnknown
			}
			rest = rest[5:]
		case 'S', 'B':
		default:
			return encUnknown
		}
	}
	return encUnknown
}

// fdeSpan reads the code range of an FDE whose initial location field lies at address at.
func fdeSpan(fde []byte, at uint64, enc byte) (Span, bool) {
	if enc != encPCRelSData4 || len(fde) < 8 {
		return Span{}, false
	}
	start := at + uint64(int64(int32(binary.LittleEndian.Uint32(fde))))
	size := uint64(binary.LittleEndian.Uint32(fde[4:]))
	return Span{start, start + size}, size > 0
}
