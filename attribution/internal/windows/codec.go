//go:build !js

package windows

import "github.com/klauspost/compress/zstd"

// codec compresses chunks. Its encoder and decoder cannot fail: their options are valid, and they work in memory on
// their own bytes.
type codec struct {
	zstd   *zstd.Encoder
	unzstd *zstd.Decoder
}

// pack appends a compressed chunk to a buffer.
func (c *codec) pack(to, chunk []byte) []byte {
	if c.zstd == nil {
		c.zstd, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(chunkSize), zstd.WithLowerEncoderMem(true))
		c.unzstd, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	}
	return c.zstd.EncodeAll(chunk, to)
}

// unpack appends the chunk that was compressed to a buffer.
func (c *codec) unpack(to, packed []byte) []byte {
	chunk, err := c.unzstd.DecodeAll(packed, to)
	if err != nil {
		panic(err)
	}
	return chunk
}
