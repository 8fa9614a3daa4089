package privileges

import (
	"errors"
	"testing"
)

func TestMayChange(t *testing.T) {
	for _, c := range []struct {
		invoker, owner uint32
		pid            int
		may            bool
	}{
		{0, 0, 4242, true}, {0, 1000, 4242, true}, {1000, 1000, 4242, true},
		{1000, 0, 4242, false}, {1000, 1001, 4242, false},
		// in a container's pid namespace it may be anybody's
		{0, 0, 1, false}, {1000, 1000, 1, false}, {1000, 0, 1, false},
	} {
		err := (&Invoker{User: User{UID: c.invoker}}).MayChange(c.pid, c.owner)
		var refused *Refusal
		if (err == nil) != c.may || err != nil && (!errors.As(err, &refused) || refused.PID != c.pid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
