package process

// Image is the memory image of one process as /proc shows it: its mappings, and the files behind them.
type Image struct {
	proc Proc
}

// Image returns the memory image of the process that has this pid. Its methods find out whether there is one.
func (fs FS) Image(pid int) Image { return Image{fs.Proc(pid)} }
