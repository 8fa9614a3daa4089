package tracer

import "ipytracer/tracer/host/process"

// ownership is the required owner of a session's targets ([Options.Owner]).
type ownership struct {
	fs    process.FS
	owner *uint32 // nil: any user
}

// check fails with [process.ErrNotPermitted] where a target is not its owner's, or has further rights.
func (o ownership) check(targets []*target) error {
	if o.owner == nil {
		return nil
	}
	for _, t := range targets {
		if err := process.RightsOf(*o.owner).MayLook(o.fs, t.pid); err != nil {
			return err
		}
	}
	return nil
}

// isLost reports whether a live target has become another user's, or gained rights. It returns true where that cannot
// be determined.
func (o ownership) isLost(t *target) bool {
	return o.check([]*target{t}) != nil && t.lives() == nil
}
