//go:build !cgo

package gpu

import "time"

// Checkpoints has the driver's calls that move the device memory of a process to the host and back. This build cannot
// load the driver.
type Checkpoints struct{}

// OpenCheckpoints returns a [*NoCheckpointsError] with the reason [NotBuiltIn].
func OpenCheckpoints() (*Checkpoints, error) { return nil, &NoCheckpointsError{Reason: NotBuiltIn} }

// State is never reached, because OpenCheckpoints fails. The same holds for the other methods.
func (c *Checkpoints) State(int) (CUDAState, error) {
	return 0, &NoCheckpointsError{Reason: NotBuiltIn}
}

// Lock is never reached.
func (c *Checkpoints) Lock(int, time.Duration) error { return &NoCheckpointsError{Reason: NotBuiltIn} }

// Checkpoint is never reached.
func (c *Checkpoints) Checkpoint(int) error { return &NoCheckpointsError{Reason: NotBuiltIn} }

// Restore is never reached.
func (c *Checkpoints) Restore(int) error { return &NoCheckpointsError{Reason: NotBuiltIn} }

// Unlock is never reached.
func (c *Checkpoints) Unlock(int) error { return &NoCheckpointsError{Reason: NotBuiltIn} }
