package pods

import "github.com/prometheus/client_golang/prometheus"

// Series is the number of time series of a [Watcher], and of a [Runtime].
const Series = 3

// series are the time series of a source of names. They have its store and its health.
type series struct {
	descriptions *[Series]*prometheus.Desc // up, pods, refused
	store        *store
	health       *health
}

var ofServer = [Series]*prometheus.Desc{
	prometheus.NewDesc("ipytracer_kubernetes_up",
		"1 if Kubernetes' API server answers, so that pods have names.", nil, nil),
	prometheus.NewDesc("ipytracer_kubernetes_pods", "Pods of this node that are known.", nil, nil),
	prometheus.NewDesc("ipytracer_kubernetes_refused_total", "Times that a pod had no room.", nil, nil),
}

var ofRuntime = [Series]*prometheus.Desc{
	prometheus.NewDesc("ipytracer_cri_up", "1 if the container runtime answers.", nil, nil),
	prometheus.NewDesc("ipytracer_cri_pods", "Pods that the container runtime has named.", nil, nil),
	prometheus.NewDesc("ipytracer_cri_refused_total",
		"Times that a pod of the container runtime had no room.", nil, nil),
}

// Describe implements [prometheus.Collector].
func (s *series) Describe(to chan<- *prometheus.Desc) {
	for _, one := range s.descriptions {
		to <- one
	}
}

// Collect implements [prometheus.Collector].
func (s *series) Collect(to chan<- prometheus.Metric) {
	up := 0.0
	if s.health.up.Load() {
		up = 1
	}
	to <- prometheus.MustNewConstMetric(s.descriptions[0], prometheus.GaugeValue, up)
	to <- prometheus.MustNewConstMetric(s.descriptions[1], prometheus.GaugeValue, float64(s.store.count()))
	to <- prometheus.MustNewConstMetric(s.descriptions[2], prometheus.CounterValue, float64(s.health.refused.Load()))
}
