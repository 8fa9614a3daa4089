package model

// CheckSchema is the version of the JSON object that says what came back, in its "schema" field.
const CheckSchema = "ipytracer/check/v1"

// Check is a second look at processes of which an earlier one has said what to type to free memory.
type Check struct {
	Schema    string         `json:"schema"`
	Processes []CheckProcess `json:"processes"`
	Checked   []Checked      `json:"checked"` // in the order of what was said to be typed
	// ToFree is what can be freed now.
	ToFree []Freeing `json:"to_free"`
}

// CheckProcess is a process of a check.
type CheckProcess struct {
	PID int `json:"pid"`
	// Ended: it is no longer there, nor is its memory.
	Ended bool `json:"ended"`
	// Why is why it could not be looked at, in a sentence; left out where it could.
	Why string `json:"why,omitempty"`
}

// Checked is an entry of [Freeing], and what came back of it.
type Checked struct {
	PID       int    `json:"pid"`
	Type      string `json:"type"`
	Predicted int64  `json:"predicted"`
	Device    int64  `json:"predicted_device,omitempty"`
	Exact     bool   `json:"exact"` // else it was the least
	// CameBack is how much of Predicted has gone, as far as its largest objects say: where there are more of them than are looked at, these stand for
	// all. Back is likewise of Device.
	CameBack int64 `json:"came_back"`
	Back     int64 `json:"came_back_device,omitempty"`
}

// IsBack reports whether all of it has gone, or nothing.
func (c *Checked) IsBack() (all, nothing bool) {
	return c.CameBack >= c.Predicted && c.Back >= c.Device, c.CameBack <= 0 && c.Back <= 0
}
