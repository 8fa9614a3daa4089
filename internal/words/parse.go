package words

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strings"
)

// typed matches a size: its number, and the letter of its unit.
var typed = regexp.MustCompile(`^([0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30}) ?(?:([kmgtp])(?:i?b)?|b)?$`)

// ParseBytes reads a size as people type it: 512MiB, 8G, 1.5 gib or a number of bytes; units are powers of 1024, as in
// [Bytes]. A fraction of a byte is cut off. It fails for any other text, and for a size above 8 EiB.
func ParseBytes(text string) (int64, error) {
	errNotSize := fmt.Errorf("%q: must be a size such as 512MiB, 8G or 1.5GiB", text)
	parts := typed.FindStringSubmatch(strings.ToLower(text))
	if parts == nil {
		return 0, errNotSize
	}
	n, ok := new(big.Rat).SetString(parts[1])
	if !ok {
		return 0, errNotSize
	}
	if parts[2] != "" {
		power := uint(1 + strings.Index("kmgtp", parts[2]))
		n.Mul(n, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 10*power)))
	}
	bytes := new(big.Int).Quo(n.Num(), n.Denom())
	if bytes.Cmp(big.NewInt(math.MaxInt64)) > 0 {
		return 0, fmt.Errorf("%q is more than 8 EiB", text)
	}
	return bytes.Int64(), nil
}
