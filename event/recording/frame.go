package recording

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// Every buffer of a recording is a zstd frame (RFC 8878). Arrow also has a mark for uncompressed buffers, but not every
// reader knows it. So this file writes two kinds of frame by hand, as fast as memory is copied: raw bytes, and zeros.

const zstdBlock = 128 << 10 // the most one block may hold

const (
	blockRaw = 0
	blockRLE = 1
)

// appendFrameHeader appends the header of a frame with n bytes of content, in one segment and without a checksum.
func appendFrameHeader(dst []byte, n int) []byte {
	dst = append(dst, 0x28, 0xb5, 0x2f, 0xfd, 0xa0)
	return binary.LittleEndian.AppendUint32(dst, uint32(n))
}

func appendBlockHeader(dst []byte, kind, n int, last bool) []byte {
	h := uint32(n)<<3 | uint32(kind)<<1
	if last {
		h |= 1
	}
	return append(dst, byte(h), byte(h>>8), byte(h>>16))
}

// appendRaw appends a frame that stores p uncompressed.
func appendRaw(dst, p []byte) []byte {
	dst = appendFrameHeader(dst, len(p))
	for {
		n := min(len(p), zstdBlock)
		dst = appendBlockHeader(dst, blockRaw, n, n == len(p))
		dst = append(dst, p[:n]...)
		if p = p[n:]; len(p) == 0 {
			return dst
		}
	}
}

// appendZeros appends a frame of n zero bytes.
func appendZeros(dst []byte, n int) []byte {
	dst = appendFrameHeader(dst, n)
	for {
		k := min(n, zstdBlock)
		dst = append(appendBlockHeader(dst, blockRLE, k, k == n), 0)
		if n -= k; n == 0 {
			return dst
		}
	}
}

func newEncoder() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil,
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(128<<10),
		zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderCRC(false),
		zstd.WithSingleSegment(true))
}

func newDecoder() (*zstd.Decoder, error) {
	return zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxReadText),
		zstd.WithDecodeAllCapLimit(true))
}

// unframe decodes one Arrow buffer, a length and a zstd frame, which must hold exactly want bytes. It decodes into dst,
// and allocates if dst is too small.
func unframe(dec *zstd.Decoder, dst, buffer []byte, want int) ([]byte, error) {
	if len(buffer) < 8 || binary.LittleEndian.Uint64(buffer) != uint64(want) {
		return nil, fmt.Errorf("%w: a buffer has the wrong length", errDamaged)
	}
	if want/zstdBlock > len(buffer)/4 { // each block takes at least four bytes: fail before allocating want bytes
		return nil, fmt.Errorf("%w: a buffer is shorter than it says", errDamaged)
	}
	if cap(dst) < want {
		dst = make([]byte, 0, want)
	}
	out, err := dec.DecodeAll(buffer[8:], dst[:0:want])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if len(out) != want {
		return nil, fmt.Errorf("%w: a buffer is shorter than it says", errDamaged)
	}
	return out, nil
}
