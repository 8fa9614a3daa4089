package agent

import "github.com/prometheus/client_golang/prometheus"

// Descriptions of the series of the container in which a kernel runs. Kernels of one container have the same values.
var (
	containerNow = describe("container_bytes",
		"Memory that Linux charges to the container of a kernel, at the kernel's last boundary.")
	containerHighest = describe("container_highest_bytes",
		"Highest memory that Linux has charged to the container of a kernel, since the container was made.")
	containerLimit = describe("container_limit_bytes", "Limit of that memory.")
)

// describeContainer makes the gauges of a kernel's container.
func describeContainer(k *kernel, gauge func(*prometheus.Desc, float64, ...string), labels []string) {
	c, known := k.monitor.Container(k.PID)
	if !known {
		return
	}
	gauge(containerNow, float64(c.Usage), labels...)
	gauge(containerHighest, float64(c.Highest), labels...)
	if c.Limit > 0 {
		gauge(containerLimit, float64(c.Limit), labels...)
	}
}
