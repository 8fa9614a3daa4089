// Package e2e holds the end-to-end tests: the real binary on real IPython kernels and terminals, its report compared
// with what the traced processes themselves measured (testdata/workloads). They need root, BPF, gcc and a Python
// with IPython; with TRACER_REQUIRE_BPF=1 what is missing is a failure, not a skip. What can be tested without
// another process is tested in its own package.
package e2e
