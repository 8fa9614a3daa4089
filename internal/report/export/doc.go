// Package export prints reports for other programs. It has stacks with numbers for pprof and for scripts that read
// memray's CSV, timelines for Perfetto, memory on GPUs for PyTorch's memory_viz. The form of a format belongs here;
// code that computes a figure does not.
package export
