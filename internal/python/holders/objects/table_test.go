package objects

import (
	"math/rand/v2"
	"testing"
)

func TestTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var all Index
	var addrs []uint64
	for range 20_000 {
		addr := r.Uint64N(UserSpace) &^ 7
		if n, ok := all.Get(addr, addrs); ok && addrs[n] != addr {
			t.Fatalf("%#x is not %#x", addr, addrs[n])
		} else if !ok {
			addrs = append(addrs, addr)
			all.Put(addr, int32(len(addrs)-1), addrs)
		}
	}
	for i, addr := range addrs {
		if n, ok := all.Get(addr, addrs); !ok || int(n) != i {
			t.Fatalf("%#x: %d, %t; want %d", addr, n, ok, i)
		}
		if _, ok := all.Get(addr+UserSpace, addrs); ok {
			t.Fatalf("%#x was never put", addr+UserSpace)
		}
	}
}
