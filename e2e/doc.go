// Package e2e holds the end-to-end tests. They run the real binary on real IPython kernels and terminals, with its
// report compared with the measurements of the traced processes themselves (testdata/workloads). They need root, BPF,
// gcc and a Python with IPython; with TRACER_REQUIRE_BPF=1 anything missing is a failure, not a skip. Tests that need
// no other process are in the package of the tested code.
package e2e
