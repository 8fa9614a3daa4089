// Package profile prints reports in the formats of profilers: stacks with numbers, as pprof and memray's users read
// them. It turns figures and allocations into samples. Formats of timelines, and code that
// computes a figure, do not belong here.
package profile
