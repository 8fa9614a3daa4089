package report

import "ipytracer/model"

// lacks is why it is not complete, in words; nothing where it is.
func lacks(c *model.Certificate) []string {
	if !c.Complete && len(c.Incomplete) == 0 {
		return []string{"something is missing"}
	}
	return c.Incomplete
}
