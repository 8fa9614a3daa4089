package inventory

import (
	"fmt"
	"strconv"
	"strings"

	"ipytracer/internal/host/process"
)

// Python is a running Python. Its JSON is public; its texts are hostile.
type Python struct {
	PID      int    `json:"pid"`
	User     string `json:"user"`
	Python   string `json:"python"`
	IPython  string `json:"ipython"`
	Frontend string `json:"frontend"`
	Notebook string `json:"notebook,omitempty"` // the path of the notebook, as the kernel says
	Cwd      string `json:"cwd"`
	Resident int64  `json:"resident"`
	GPUs     []int  `json:"gpus"`
	Command  string `json:"command"`

	Identity process.Identity `json:"-"`
	UID      uint32           `json:"-"`
	// Looker says that its arguments, which its user chooses, are those of a worker of Dask, or of a program that
	// starts workers.
	Worker bool `json:"-"`
	// Kernel says that its arguments are those of a kernel or of IPython.
	Kernel bool `json:"-"`
}

// The names of the looks that a process without rights makes.
const (
	lookKernels = "kernels"
	lookWorkers = "workers"
	lookAll     = "all"
)

// foundKernel is a row as a worker sends it, with the fields that the row's public JSON lacks. Cwd and Command are
// bytes, because JSON's texts cannot have invalid UTF-8.
type foundKernel struct {
	Row            Python
	Worker, Kernel bool
	Identity       process.Identity
	UID            uint32
	Cwd, Command   []byte
}

// python returns the row with all its fields.
func (f *foundKernel) python() *Python {
	row := f.Row
	row.Identity, row.UID, row.User = f.Identity, f.UID, process.UserName(f.UID)
	row.Worker, row.Kernel = f.Worker, f.Kernel
	row.Cwd, row.Command = string(f.Cwd), string(f.Command)
	return &row
}

// Named returns the processes with the given process IDs, whenever they started.
func Named(pids []int) (who []process.Identity) {
	for _, pid := range pids {
		who = append(who, process.Identity{PID: pid})
	}
	return who
}

// Describe returns "process 1" or "processes 1, 2".
func Describe(who []process.Identity) string {
	if len(who) == 1 {
		return fmt.Sprintf("process %d", who[0].PID)
	}
	var parts []string
	for _, id := range who {
		parts = append(parts, strconv.Itoa(id.PID))
	}
	return "processes " + strings.Join(parts, ", ")
}
