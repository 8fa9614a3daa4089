package model

// CheckSchema is the version of the JSON object of a [Check], in its "schema" field.
const CheckSchema = "ipytracer/check/v1"

// Check is a second look at processes. An earlier look listed code that frees memory in them.
type Check struct {
	Schema    string         `json:"schema"`
	Processes []CheckProcess `json:"processes"`
	Checked   []Checked      `json:"checked"` // in the order of that list
	// ToFree lists code that frees memory now.
	ToFree []Freeing `json:"to_free"`
}

// CheckProcess is a process of a check.
type CheckProcess struct {
	PID int `json:"pid"`
	// Ended: the process is no longer there, nor is its memory.
	Ended bool `json:"ended"`
	// Why is the reason why the process could not be looked at, in a sentence; left out if it could.
	Why string `json:"why,omitempty"`
}

// Checked is an entry of [Freeing], with the memory that came back.
type Checked struct {
	PID       int    `json:"pid"`
	Type      string `json:"type"`
	Predicted int64  `json:"predicted"`
	Device    int64  `json:"predicted_device,omitempty"`
	Exact     bool   `json:"exact"` // else a lower bound
	// CameBack is the part of Predicted that has gone, by its largest objects, less Stays. If there are more objects
	// than a check looks at, these stand for all. Back is the same for Device.
	CameBack int64 `json:"came_back"`
	Back     int64 `json:"came_back_device,omitempty"`
	// Stays is what these objects had, but resident memory did not fall by: an allocator keeps it, or something new has
	// it.
	Stays int64 `json:"stays,omitempty"`
}

// IsBack reports whether all of it has gone, or nothing.
func (c *Checked) IsBack() (all, nothing bool) {
	return c.CameBack+c.Stays >= c.Predicted && c.Back >= c.Device, c.CameBack+c.Stays <= 0 && c.Back <= 0
}
