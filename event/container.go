package event

// Container has the memory of a process's container at an instant: all that Linux charges to a memory cgroup, that is
// memory of its processes, pages of files that they read, tmpfs, and Linux's own memory for them. Of the process's
// cgroup and those around it, it is the one with the least limit; without a limit, the process's own.
type Container struct {
	Number  uint64 // of the cgroup's folder; 0: nothing is known
	Usage   Bytes
	Highest Bytes // the highest Usage since the cgroup was made
	Limit   Bytes // 0: none
	Seen    Bytes // the highest Usage at which the process gave memory back, since its last boundary; 0: none
	Parts   ContainerParts
}

// ContainerParts divides the memory of a container, a moment after the boundary.
type ContainerParts struct {
	Known  bool
	Anon   Bytes // anonymous memory: Linux cannot drop it
	File   Bytes // pages of files, without Shmem: Linux can drop those that are written back
	Shmem  Bytes // tmpfs and shared memory
	Kernel Bytes // of Linux itself
}

// ContainerBatch is the number of pages that Linux charges to a cgroup in advance, for each CPU (MEMCG_CHARGE_BATCH).
const ContainerBatch = 64
