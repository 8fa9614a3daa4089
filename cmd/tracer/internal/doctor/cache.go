package doctor

import (
	"errors"
	"io/fs"

	"ipytracer/internal/host/filecache"
	"ipytracer/internal/words"
)

// cache describes the cache of the places of probes, which only root may see.
func (d *Diagnosis) cache(folder string) {
	const id, name = "cache", "kept between attaches"
	if !d.Root {
		d.add(id, name, Unknown, "%s is root's alone", folder)
		return
	}
	switch size, err := filecache.Measure(folder); {
	case errors.Is(err, fs.ErrNotExist):
		d.add(id, name, OK,
			"nothing yet; the first attach keeps in %s where probes go in an interpreter and in libraries", folder)
	case errors.Is(err, filecache.ErrUnsafe):
		d.add(id, name, Reduced,
			"users other than root may write to %s, so nothing is kept there: each attach takes longer", folder)
		d.advise("sudo rm -r "+folder, "%s is not root's alone", folder)
	case err != nil:
		d.add(id, name, Reduced, "%v: each attach takes longer", err)
	default:
		d.add(id, name, OK, "%s in %s (safe to delete)", words.Bytes(size), folder)
	}
}
