package tracer

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// olderForbidden are calls that machines of later architectures do not have.
func olderForbidden() map[string][7]uintptr {
	path, err := unix.BytePtrFromString("/no such folder/file")
	if err != nil {
		panic(err)
	}
	return map[string][7]uintptr{
		"open by the old call": {unix.SYS_OPEN, uintptr(unsafe.Pointer(path)), unix.O_WRONLY},
		"creat":                {unix.SYS_CREAT, 0},
		"iopl":                 {unix.SYS_IOPL, 4},
	}
}
