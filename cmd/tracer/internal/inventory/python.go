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
	Notebook string `json:"notebook,omitempty"` // path of the notebook, by the kernel itself
	Cwd      string `json:"cwd"`
	Resident int64  `json:"resident"`
	GPUs     []int  `json:"gpus"`
	Command  string `json:"command"`

	Identity process.Identity `json:"-"`
	UID      uint32           `json:"-"`
	// Worker and Kernel: by its arguments, which its user chooses, it is a worker of Dask or a program that starts
	// some, and a kernel or IPython.
	Worker, Kernel bool `json:"-"`
}

// The names of the looks that a process without rights makes.
const (
	kernels = "kernels"
	workers = "workers"
	all     = "all"
)

// foundKernel is a row with fields that its public JSON lacks, or has in another form: JSON has no bytes that are not
// UTF-8.
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

// Named returns the processes with pids that the user typed, of any owner.
func Named(pids []int) (who []process.Identity) {
	for _, pid := range pids {
		who = append(who, process.Identity{PID: pid})
	}
	return who
}

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
