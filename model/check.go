package model

// CheckSchema is the version of the JSON object of a [Check], in its "schema" field.
const CheckSchema = "ipytracer/check/v1"

// Check is the result of a second look at processes, after an earlier look listed code that frees memory in them.
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
	// Ended: the process no longer exists, and neither does its memory.
	Ended bool `json:"ended"`
	// Why says in a sentence why the process could not be looked at; left out if it could.
	Why string `json:"why,omitempty"`
}

// Checked is an entry of [Freeing], with the memory that was freed since.
type Checked struct {
	PID       int    `json:"pid"`
	Type      string `json:"type"`
	Predicted int64  `json:"predicted"`
	Device    int64  `json:"predicted_device,omitempty"`
	Exact     bool   `json:"exact"` // else a lower bound
	// CameBack is the part of Predicted that was freed, judged by the largest objects, less Stays. If there are more
	// objects than a check looks at, the largest stand for all. Back is the same for Device.
	CameBack int64 `json:"came_back"`
	Back     int64 `json:"came_back_device,omitempty"`
	// Stays is memory of freed objects by which resident memory did not fall: an allocator keeps it, or new objects
	// have it.
	Stays int64 `json:"stays,omitempty"`
}

// IsBack reports whether all of the memory was freed, or nothing of it.
func (c *Checked) IsBack() (all, nothing bool) {
	return c.CameBack+c.Stays >= c.Predicted && c.Back >= c.Device, c.CameBack+c.Stays <= 0 && c.Back <= 0
}
