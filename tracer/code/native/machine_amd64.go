package native

// The registers that rules are about, by their DWARF numbers (System V ABI, AMD64, figure 3.36): the frame pointer, the
// stack pointer, the return address.
const (
	regBP = 6
	regSP = 7
	regRA = 16
)

// returnAddress is where a call leaves the return address, from the frame's address.
const returnAddress = -8

// userLimit is where the user's half of the address space ends.
const userLimit = 1 << 47
