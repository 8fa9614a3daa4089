package trial

import (
	"bytes"
	"encoding/base64"
	"image"
	_ "image/gif"  // a format of figures
	_ "image/jpeg" // a format of figures
	_ "image/png"  // the format of figures
	"strings"
)

// maxPixels is the most pixels of a picture that is decoded.
const maxPixels = 64 << 20

// picture decodes a picture of an output.
func picture(text string) (image.Image, bool) {
	data, err := base64.StdEncoding.DecodeString(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, text))
	if err != nil {
		return nil, false
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || size.Width <= 0 || size.Height <= 0 || int64(size.Width)*int64(size.Height) > maxPixels {
		return nil, false
	}
	p, _, err := image.Decode(bytes.NewReader(data))
	return p, err == nil
}

// comparePictures compares two encoded pictures pixel by pixel.
func comparePictures(a, b string) verdict {
	if a == b {
		return verdict{}
	}
	old, ok := picture(a)
	new, also := picture(b)
	if !ok || !also {
		return differ("the picture differs, and cannot be read")
	}
	of, to := old.Bounds(), new.Bounds()
	if of.Dx() != to.Dx() || of.Dy() != to.Dy() {
		return differ("a picture of %d×%d pixels became one of %d×%d", of.Dx(), of.Dy(), to.Dx(), to.Dy())
	}
	count, most := 0, uint32(0)
	for y := range of.Dy() {
		for x := range of.Dx() {
			if d := distance(old, new, of.Min.X+x, of.Min.Y+y, to.Min.X+x, to.Min.Y+y); d > 0 {
				count++
				most = max(most, d)
			}
		}
	}
	if count == 0 {
		return tolerate("the same pixels in another file")
	}
	return differ("%d of %d pixels differ, by %d of 255 at most", count, of.Dx()*of.Dy(), most)
}

// distance returns by how much the channels of two pixels differ at most, of 255.
func distance(a, b image.Image, ax, ay, bx, by int) uint32 {
	r, g, bl, al := a.At(ax, ay).RGBA()
	r2, g2, bl2, al2 := b.At(bx, by).RGBA()
	d := uint32(0)
	for _, pair := range [4][2]uint32{{r, r2}, {g, g2}, {bl, bl2}, {al, al2}} {
		d = max(d, max(pair[0], pair[1])-min(pair[0], pair[1]))
	}
	return (d + 256) / 257
}
