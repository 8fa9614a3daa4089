package report

import "ipytracer/model"

// container writes the memory of a window's container, if it is known.
func (e *encoder) container(c *model.Container) {
	if c == nil {
		return
	}
	e.int(`,"container":{"at_least":`, c.AtLeast)
	e.intIfAny(`,"highest":`, c.Highest)
	e.truth(`,"exact":`, c.Exact)
	e.int(`,"bound":`, c.Bound)
	e.intIfAny(`,"limit":`, c.Limit)
	e.int(`,"start":`, c.Start)
	e.int(`,"end":`, c.End)
	if p := c.Parts; p != nil {
		e.int(`,"parts":{"anon":`, p.Anon)
		e.int(`,"file":`, p.File)
		e.int(`,"shmem":`, p.Shmem)
		e.int(`,"kernel":`, p.Kernel)
		e.raw("}")
	}
	e.raw("}")
}
