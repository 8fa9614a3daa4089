//go:build !cgo

package gpu

// NVML is an open NVML. This build has none.
type NVML struct{}

// Loadable says that there is no NVML to load.
func Loadable() bool { return false }

// Missing says that there is no NVML in this build.
func Missing() *NoNVMLError { return &NoNVMLError{Reason: NotBuiltIn} }

// Open returns a [*NoNVMLError] with the reason [NotBuiltIn].
func Open() (*NVML, error) { return nil, &NoNVMLError{Reason: NotBuiltIn} }

// Snapshot is never reached: there is no NVML to ask.
func (n *NVML) Snapshot() (Snapshot, error) { return Snapshot{}, &NoNVMLError{Reason: NotBuiltIn} }

// Close does nothing.
func (n *NVML) Close() {}
