package attribution

import "ipytracer/event"

// Container returns the memory of a process's container at the process's last boundary; ok is false if it is not known.
func (m *Monitor) Container(pid int) (c event.Container, ok bool) {
	process := m.core.Processes.ByPID[int32(pid)]
	if process == nil {
		return event.Container{}, false
	}
	c = process.ContainerNow()
	return c, c.Number != 0
}
