// Package kept finds memory that something other than a plain variable keeps: IPython's history of outputs.
package kept

import "ipytracer/attribution/advice/evidence"

// least is the size of memory that is worth a look, in bytes.
const least = 1 << 20

// most is how many outputs are looked at, the largest first.
const most = 16

// Rules returns the rules of this package.
func Rules() []evidence.Rule { return []evidence.Rule{outputs} }
