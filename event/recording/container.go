package recording

import "ipytracer/event"

// The columns of a process's container, from colFirstContainer on.
const (
	containerNumber = iota
	containerUsage
	containerHighest
	containerLimit
	containerSeen
	containerAnon
	containerFile
	containerShmem
	containerKernel
	containerLocal
	containerResets
	containerColumns
)

var containerFields = [containerColumns]field{
	containerNumber:  {name: "container", typ: typeUint64},
	containerUsage:   {name: "container.usage", typ: typeInt64},
	containerHighest: {name: "container.high", typ: typeInt64},
	containerLimit:   {name: "container.limit", typ: typeInt64},
	containerSeen:    {name: "container.seen", typ: typeInt64},
	containerAnon:    {name: "container.anon", typ: typeInt64},
	containerFile:    {name: "container.file", typ: typeInt64},
	containerShmem:   {name: "container.shmem", typ: typeInt64},
	containerKernel:  {name: "container.kernel", typ: typeInt64},
	containerLocal:   {name: "container.local", typ: typeInt64},
	containerResets:  {name: "container.resets", typ: typeUint64},
}

func (t *table) setContainer(c *event.Container) {
	t.set64Unless0(colFirstContainer+containerNumber, c.Number)
	t.set64Unless0(colFirstContainer+containerUsage, uint64(c.Usage))
	t.set64Unless0(colFirstContainer+containerHighest, uint64(c.Highest))
	t.set64Unless0(colFirstContainer+containerLimit, uint64(c.Limit))
	t.set64Unless0(colFirstContainer+containerSeen, uint64(c.Seen))
	t.set64Unless0(colFirstContainer+containerLocal, uint64(c.Local))
	t.set64Unless0(colFirstContainer+containerResets, uint64(c.Resets))
	if c.Parts.Known {
		t.set64(colFirstContainer+containerAnon, uint64(c.Parts.Anon))
		t.set64(colFirstContainer+containerFile, uint64(c.Parts.File))
		t.set64(colFirstContainer+containerShmem, uint64(c.Parts.Shmem))
		t.set64(colFirstContainer+containerKernel, uint64(c.Parts.Kernel))
	}
}

func (b *batch) container(row int, c *event.Container) {
	size := func(column int) event.Bytes { return b.bytes(colFirstContainer+column, row) }
	*c = event.Container{
		Number: b.u64(colFirstContainer+containerNumber, row), Usage: size(containerUsage),
		Highest: size(containerHighest), Limit: size(containerLimit),
		Seen: size(containerSeen), Local: size(containerLocal),
		Resets: uint32(b.u64(colFirstContainer+containerResets, row)),
	}
	if !b.columns[colFirstContainer+containerAnon].null(row) {
		c.Parts = event.ContainerParts{Known: true, Anon: size(containerAnon), File: size(containerFile),
			Shmem: size(containerShmem), Kernel: size(containerKernel)}
	}
}
