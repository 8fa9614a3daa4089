package gpu

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/privileges"
)

// withdraw gives up all rights that NVML does not need, in all threads of this program and for good. On a Linux without
// Landlock or seccomp filters it gives up less.
func withdraw(devices []string) error {
	for _, err := range []error{privileges.OnlyPaths(paths(devices)), privileges.AllowCalls(rules())} {
		if err != nil && !errors.Is(err, privileges.ErrNoLandlock) && !errors.Is(err, privileges.ErrNoFilter) {
			return err
		}
	}
	return nil
}

// paths returns the paths that NVML needs: the devices, and the files of its library and of the libraries that it
// loads. Nothing may be created.
func paths(devices []string) privileges.Paths {
	p := privileges.Paths{Read: []string{"/proc", "/sys", "/etc", "/usr", "/lib", "/lib64", "/nix/store", "/gnu/store",
		"/run/opengl-driver"}}
	for _, name := range []string{Library, CUDALibrary} {
		if path, err := filepath.EvalSymlinks(FindLibrary(name)); err == nil {
			p.Read = append(p.Read, filepath.Dir(path))
		}
	}
	for _, dir := range filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")) {
		if filepath.IsAbs(dir) && filepath.Clean(dir) != "/" {
			p.Read = append(p.Read, dir)
		}
	}
	for _, path := range devices {
		// nvidia-caps: a user who may open one has a right of MIG's
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			p.Read = append(p.Read, path)
		} else {
			p.Drive = append(p.Drive, path)
		}
	}
	return p
}

// ioctl commands of /dev/nvidia-uvm, which have no type (uvm_linux_ioctl.h and uvm_ioctl.h of NVIDIA's open kernel
// modules).
const (
	uvmInitialize   = 0x30000001
	uvmDeinitialize = 0x30000002
	uvmMMInitialize = 75
)

// rules returns the system calls that NVML and its program may make. NVML of driver 580 makes these (seen on an H100):
// it calls stat(2) on its devices, reads /proc and /sys, opens the devices to read and write, calls ioctls of type 'F'
// (nv-ioctl-numbers.h of NVIDIA's open kernel modules), and starts a thread. Its libraries are mapped as code, from
// files only.
func rules() []privileges.Rule {
	all := slices.Concat(privileges.Program(), privileges.Reading(), privileges.Always(
		unix.SYS_SCHED_GET_PRIORITY_MAX,
		unix.SYS_SCHED_GET_PRIORITY_MIN, unix.SYS_SCHED_GETPARAM,
		unix.SYS_SCHED_GETSCHEDULER, unix.SYS_GET_MEMPOLICY, unix.SYS_GETCPU, unix.SYS_GETPPID,
		unix.SYS_PSELECT6,
		unix.SYS_DUP, unix.SYS_SENDMSG, unix.SYS_RECVMSG,
	), privileges.Always(older...), []privileges.Rule{
		{Call: unix.SYS_MMAP,
			When: [][]privileges.Test{
				{privileges.Without(2, unix.PROT_WRITE), privileges.Without(3, unix.MAP_ANONYMOUS)}}},
		{Call: unix.SYS_IOCTL, When: [][]privileges.Test{{{Argument: 1, Mask: 0xff00, Value: 'F' << 8}}}},
		privileges.OneOf(unix.SYS_IOCTL, 1, uvmInitialize, uvmDeinitialize, uvmMMInitialize),
	})
	for call, flags := range opening {
		all = append(all, privileges.Rule{Call: call, When: [][]privileges.Test{
			{privileges.Without(flags, privileges.Writing)},
			{{Argument: flags, Mask: privileges.Writing, Value: unix.O_RDWR}},
		}})
	}
	return append(all, refused()...)
}

// refused returns rules for calls that NVML tries, and can do without, as it must for users who are not root: creating
// missing devices and links to them in /dev/char, by itself or by nvidia-modprobe(1) (nvidia-modprobe-utils.c), and
// naming its threads by a file. Each call fails with the error that such users get.
func refused() (all []privileges.Rule) {
	for errno, calls := range map[unix.Errno][]uintptr{
		// with any other error it gives up the folder's devices, which are there
		unix.EEXIST: {unix.SYS_MKDIRAT},
		unix.EPERM:  {unix.SYS_MKNODAT, unix.SYS_FCHMODAT, unix.SYS_FCHOWNAT},
		unix.EACCES: {unix.SYS_UNLINKAT, unix.SYS_SYMLINKAT, unix.SYS_SOCKET, unix.SYS_CONNECT},
		unix.EAGAIN: nil,
	} {
		for _, call := range slices.Concat(calls, olderRefused[errno]) {
			all = append(all, privileges.Rule{Call: call, Refuse: errno})
		}
	}
	making := func(argument int) [][]privileges.Test {
		return [][]privileges.Test{{{Argument: argument, Mask: unix.O_CREAT, Value: unix.O_CREAT}}}
	}
	for call, flags := range opening {
		all = append(all, privileges.Rule{Call: call, When: making(flags), Refuse: unix.EACCES})
	}
	return append(all, privileges.Rule{
		Call: unix.SYS_CLONE, When: [][]privileges.Test{{privileges.Without(0, unix.CLONE_THREAD)}},
		Refuse: unix.EAGAIN,
	})
}
