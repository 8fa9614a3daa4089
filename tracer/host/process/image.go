package process

// Image is the memory image of one process as /proc shows it: what is mapped, and the files behind that.
type Image struct {
	proc Proc
}

// Image returns the memory image of the process that has this pid. Whether there is one, its methods find out.
func (fs FS) Image(pid int) Image { return Image{fs.Proc(pid)} }
