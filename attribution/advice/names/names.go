// Package names finds names that hold memory longer than the notebook needs it.
package names

import "ipytracer/attribution/advice/evidence"

// Rules returns the rules of this package.
func Rules() []evidence.Rule { return []evidence.Rule{Delete, Shape, Loop, Local} }
