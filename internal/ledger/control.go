package ledger

import (
	"fmt"
	"io"

	"github.com/cilium/ebpf/link"

	"ipytracer/event"
)

// Processes are the processes that the ledger follows.
type Processes struct {
	objects    *kernelObjects
	operations *operations
	stream     *Stream
}

// AttachProcess makes pid a root: its memory is seeded from the kernel's counters at this instant, its children are
// followed, and an Attached boundary opens its session. slot identifies its memory for SetPython until its next exec.
// started is its start time, as in /proc/PID/stat, in 1/100 s since boot: if another process has the pid by now, it
// fails with [ErrNoProcess]. 0 accepts any process with the pid.
func (p *Processes) AttachProcess(root uint32, pid int, started uint64) (slot uint32, err error) {
	return p.operations.run(kernelOperationOP_ATTACH, pid, kernelControl{Root: root, Started: started})
}

// Adopt adds a process that already was a descendant of a root when the root was attached. started is as in
// [Processes.AttachProcess].
func (p *Processes) Adopt(root uint32, pid int, started uint64, parent int) (slot uint32, err error) {
	request := kernelControl{Root: root, Started: started, Parent: int32(parent)}
	return p.operations.run(kernelOperationOP_ADOPT, pid, request)
}

// Detach draws the last boundary of a root, at which its session ends. The process stays in the ledger.
func (p *Processes) Detach(pid int) error {
	_, err := p.operations.run(kernelOperationOP_DETACH, pid, kernelControl{})
	return err
}

// Leave takes all processes of a root out of the ledger, though they live on: each has the boundary of its end, with a
// status of 0. It fails with [ErrNoProcess] if there is none.
func (p *Processes) Leave(root uint32) error {
	_, err := p.operations.run(kernelOperationOP_LEAVE, 0, kernelControl{Root: root})
	return err
}

// Release forgets a root whose processes have all ended, so that another root can get its number. done is false, and
// nothing changes, if a process is left or boundaries of the root still wait. All records of the root must have been
// read.
func (p *Processes) Release(root uint32) (done bool, err error) {
	var r kernelRoot
	if err := p.objects.Roots.Lookup(root, &r); err != nil {
		return false, fmt.Errorf("read root %d: %w", root, err)
	}
	if r.Processes > 0 || r.UntracedNow > 0 || p.stream.order.isWaiting(root) {
		return false, nil
	}
	if err := p.objects.Roots.Put(root, kernelRoot{}); err != nil {
		return false, fmt.Errorf("release root %d: %w", root, err)
	}
	for number := range uint32(event.MaxDevices) {
		if err := p.objects.DeviceTrees.Put(root*event.MaxDevices+number, kernelDeviceTree{}); err != nil {
			return false, fmt.Errorf("release root %d: %w", root, err)
		}
	}
	p.stream.forget(root)
	return true, nil
}

// Look draws a boundary of a root without any event, so that the figures of open windows are current. It draws none
// while the store is nearly full; then a later call will.
func (p *Processes) Look(pid int) error {
	_, err := p.operations.run(kernelOperationOP_LOOK, pid, kernelControl{})
	return err
}

// Slot returns the slot of a process that is in the ledger already, such as a child after its exec.
func (p *Processes) Slot(pid int) (uint32, error) {
	return p.operations.run(kernelOperationOP_NONE, pid, kernelControl{})
}

// operations run in the kernel, each on one task.
type operations struct {
	objects  *kernelObjects
	iterator *link.Iter
}

// run runs one operation on the task with this pid, through the task iterator. The request has the other arguments of
// the operation.
func (o *operations) run(what kernelOperation, pid int, request kernelControl) (slot uint32, err error) {
	request.Operation, request.Pid, request.Slot = uint32(what), int32(pid), ^uint32(0)
	if err := o.objects.Request.Set(request); err != nil {
		return 0, fmt.Errorf("write the request: %w", err)
	}
	reader, err := o.iterator.Open()
	if err != nil {
		return 0, classify("open the task iterator", err)
	}
	defer reader.Close()
	if _, err := io.Copy(io.Discard, reader); err != nil {
		return 0, classify("run the task iterator", err)
	}
	after, err := o.answer()
	if err != nil {
		return 0, err
	}
	if after.Done == 0 {
		return 0, fmt.Errorf("pid %d: %w", request.Pid, ErrNoProcess)
	}
	if after.Slot == ^uint32(0) {
		return 0, fmt.Errorf("pid %d: %w", request.Pid, ErrFull)
	}
	return after.Slot, nil
}

// answer returns the request of the last operation as the kernel left it.
func (o *operations) answer() (after kernelControl, err error) {
	if err := o.objects.Request.Get(&after); err != nil {
		return after, fmt.Errorf("read the request: %w", err)
	}
	return after, nil
}

// Devices has the facts that the ledger needs about the GPUs of a process.
type Devices struct {
	Physical []int // the GPU of each CUDA device of the process, from device 0 on; empty: both have the same numbers
	Only     int   // the only GPU that the process can use, or uses; -1: there may be several
	Late     bool  // the process may have used CUDA before the attach
}

// SetDevices sets the GPUs of the process in slot.
func (p *Processes) SetDevices(slot uint32, d Devices) error {
	var devices kernelCudaDevices
	for ordinal, number := range d.Physical[:min(len(d.Physical), len(devices.Physical))] {
		if number < 0 || number >= event.MaxDevices {
			return fmt.Errorf("GPU %d: at most %d are known", number, event.MaxDevices)
		}
		devices.Physical[ordinal] = uint8(number + 1)
	}
	if d.Only >= 0 && d.Only < event.MaxDevices {
		devices.Only = uint32(d.Only) + 1
	}
	if d.Late {
		devices.Late = 1
	}
	if err := p.objects.Ordinals.Put(slot, devices); err != nil {
		return fmt.Errorf("write the GPUs: %w", err)
	}
	return nil
}

// Values of Python.Native: the threads whose native stacks are walked.
const (
	NativeThreads = 1 // threads without Python frames
	NativeAll     = 2 // all threads
)

// Python has the facts that the BPF programs need about a process's CPython; see struct python in bpf/wire_python.h.
type Python = kernelPython

// SetPython sets the facts by which the ledger reads the Python objects of the process in slot. If Inputs is zero,
// IPython's In list has not been found yet; call it again once it has.
func (p *Processes) SetPython(slot uint32, python Python) error {
	python.Ready = 1
	if err := p.objects.Pythons.Put(slot, python); err != nil {
		return fmt.Errorf("write the Python offsets: %w", err)
	}
	return nil
}
