package doctor

import (
	"io"
	"os"
	"strings"
)

// platform is a virtual machine with Linux that a program for macOS or Windows brings along. Nobody has run the tracer
// in one: these texts follow from the public configurations of the kernels (docs/kernels.md).
type platform struct {
	name   string
	kernel string   // a part of the kernel's release; "" if the kernel is a distribution's
	files  []string // files of which the platform has one
	where  string   // how a user gets a root shell in it
	update string   // the command that installs a newer kernel and keeps everything else; "" if none is known
	since  string   // the first version whose kernel has all that the tracer needs
}

var platforms = []platform{
	{
		name: "WSL 2", kernel: "microsoft-standard-WSL2",
		where:  "type 'sudo tracer …' in the distribution that the kernel of the notebook runs in",
		update: "wsl --update", since: "kernels of 6.6 or newer",
	},
	{
		name: "Docker Desktop", kernel: "-linuxkit",
		where: "run the tracer in a container with --privileged --pid host", since: "Docker Desktop 4.30",
	},
	{
		name: "OrbStack", kernel: "-orbstack",
		where: "type 'sudo tracer …' in a Linux machine, or run it in a container with --privileged --pid host",
		since: "its newest version",
	},
	{
		name: "a Podman machine", files: []string{"/etc/containers/podman-machine"},
		where: "make the machine rootful (podman machine set --rootful), and use 'podman machine ssh'",
		since: "Fedora 38",
	},
	{
		name: "Lima or Colima", files: []string{"/mnt/lima-cidata", "/mnt/lima-colima"},
		where: "use 'limactl shell NAME' or 'colima ssh', and type 'sudo tracer …' there",
		since: "kernels of 6.2 or newer. A machine keeps its kernel: make a second one beside it, as its containers " +
			"and volumes are deleted with it",
	},
}

// platformOf returns the platform that this machine is, nil if it is none of them.
func platformOf(release string, exists func(path string) bool) *platform {
	for i := range platforms {
		p := &platforms[i]
		if p.kernel != "" && strings.Contains(release, p.kernel) {
			return p
		}
		for _, path := range p.files {
			if exists(path) {
				return p
			}
		}
	}
	return nil
}

// exists reports whether there is a file at a path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// platform adds a finding that names the platform and says where to run the tracer.
func (d *Diagnosis) platform(p *platform) {
	if p == nil {
		return
	}
	d.add("platform", "virtual machine", OK, "%s (not tried by its makers; docs/kernels.md): %s", p.name, p.where)
}

// readCPUs returns the first 8 KiB of /proc/cpuinfo, "" if it cannot be read.
func readCPUs() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 8<<10)
	n, _ := io.ReadFull(f, head)
	return string(head[:n])
}

// checkTranslation judges whether this program is translated for another processor, as by Rosetta or QEMU. Then
// processes do not run the instructions of their files, and no probe can be placed.
func (d *Diagnosis) checkTranslation(cpuinfo string) {
	if !isTranslated(cpuinfo) {
		return
	}
	d.add("translation", "processor", Missing, "another one than this tracer's: its instructions are translated")
	d.advise("", "this tracer is translated for another processor (Rosetta, QEMU): "+
		"use the tracer, the container and the Python of the machine's own processor")
}
