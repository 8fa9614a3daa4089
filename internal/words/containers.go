package words

import (
	"strings"

	"ipytracer/model"
)

// Contained describes the highest use of a container in a window: "3.90 of 4.00 GiB (97 %)", or "at least 2.50 GiB and
// at most 3.90 of 4.00 GiB" if Linux's figures do not say more.
func Contained(c *model.Container) string {
	of := func(bytes int64) string {
		if c.Limit > 0 {
			return Of(bytes, c.Limit)
		}
		return Bytes(bytes)
	}
	switch {
	case c.Exact && c.Limit > 0:
		return of(c.Highest) + " (" + Share(float64(c.Highest)/float64(c.Limit)) + ")"
	case c.Exact:
		return of(c.Highest)
	case c.Highest > 0:
		return "at least " + Bytes(c.AtLeast) + " and at most " + of(c.Highest)
	}
	return "at least " + of(c.AtLeast)
}

// ContainerParts describes the parts of a container's memory, the largest parts only: "2.10 GiB anonymous, 1.60 GiB
// page cache, which Linux can drop". It returns "" if they are not known.
func ContainerParts(c *model.Container) string {
	if c.Parts == nil {
		return ""
	}
	var parts []string
	add := func(bytes int64, name string) {
		if bytes > 0 && bytes >= c.End/hardlyInContainer {
			parts = append(parts, Bytes(bytes)+" "+name)
		}
	}
	add(c.Parts.Anon, "anonymous")
	add(c.Parts.Shmem, "tmpfs and shared memory")
	add(c.Parts.Kernel, "of Linux itself")
	add(c.Parts.File, "page cache, which Linux can drop")
	return strings.Join(parts, ", ")
}

// hardlyInContainer divides the memory of a container: a smaller part is not named.
const hardlyInContainer = 50
