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

// picture decodes a picture in base64. It refuses one of more than maxPixels before it decodes the pixels.
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
	old, oldRead := picture(a)
	new, newRead := picture(b)
	if !oldRead || !newRead {
		return differ("the picture differs, and cannot be read")
	}
	oldBounds, newBounds := old.Bounds(), new.Bounds()
	oldSize, newSize := oldBounds.Size(), newBounds.Size()
	if oldSize != newSize {
		return differ("a picture of %d×%d pixels became one of %d×%d", oldSize.X, oldSize.Y, newSize.X, newSize.Y)
	}
	count, largest := 0, uint32(0)
	for y := range oldSize.Y {
		for x := range oldSize.X {
			at := image.Pt(x, y)
			if d := distance(old, new, oldBounds.Min.Add(at), newBounds.Min.Add(at)); d > 0 {
				count++
				largest = max(largest, d)
			}
		}
	}
	if count == 0 {
		return tolerate("the same pixels in another file")
	}
	return differ("%d of %d pixels differ, by %d of 255 at most", count, oldSize.X*oldSize.Y, largest)
}

// distance returns the largest difference of a channel of two pixels, from 0 to 255.
func distance(a, b image.Image, inA, inB image.Point) uint32 {
	r, g, bl, al := a.At(inA.X, inA.Y).RGBA()
	r2, g2, bl2, al2 := b.At(inB.X, inB.Y).RGBA()
	d := uint32(0)
	for _, pair := range [4][2]uint32{{r, r2}, {g, g2}, {bl, bl2}, {al, al2}} {
		d = max(d, max(pair[0], pair[1])-min(pair[0], pair[1]))
	}
	return (d + 256) / 257 // RGBA has 16 bits for each channel
}
