// Package profile prints reports in the formats of profilers: stacks with numbers, as pprof, speedscope, flame graphs
// and memray's users read them. It turns figures and who allocated into samples; formats of timelines, and anything
// that computes a figure, do not belong here.
package profile
