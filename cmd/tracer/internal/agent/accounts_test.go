package agent

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

// TestSubordinateUsersShareOneLimit: a user with all subordinate ones takes no more numbers than one user may, and
// others still get one each.
func TestSubordinateUsersShareOneLimit(t *testing.T) {
	c := DefaultConfig()
	all := newArrivals()
	book := &telemetry.Accounts{Known: func(uint32) bool { return false }, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("1000:100000:65536\n")), nil
	}}
	slot := uint32(0)
	joins := func(uid uint32, group string) bool {
		f := podAndContainerOf(group)
		f.uid = uid
		one := arrival{facts: facts{account: accountOf(group, &f, book.Login(uid, group))}}
		of := one.holder()
		if !of.mayTake(all.countSlots(of), &c) {
			return false
		}
		all.takeSlot(slot, of)
		slot++
		return true
	}
	const own = "/user.slice/user-1000.slice/user@1000.service/app.slice"
	got := 0
	for i := range uint32(500) {
		group := fmt.Sprintf("%s/libpod-%064x.scope", own, i) // a container, as rootless Podman makes them
		if joins(100000+i, group) {
			got++
		}
	}
	if joins(1000, own) || got != c.PerUser {
		t.Errorf("a user has %d numbers, and may have %d", got, c.PerUser)
	}
	pod := "/kubepods/burstable/pod0f3c2d1e-1a2b-4c3d-8e9f-00112233445"
	for i := range uint32(500) { // root in a pod is any user there
		joins(i, pod+"5")
		joins(i, pod+"6")
	}
	if n := all.countSlots(holder{}).total; n != c.Kernels-c.Kernels/4 {
		t.Errorf("a few have taken %d of %d numbers", n, c.Kernels)
	}
	for i := range uint32(16) {
		if !joins(1001+i, "/system.slice/x.service") {
			t.Errorf("user %d gets no number", 1001+i)
		}
		if joins(1001+i, "/system.slice/x.service") {
			t.Errorf("user %d gets two of the last ones", 1001+i)
		}
	}
}
