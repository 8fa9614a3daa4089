package gpu

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// A question is one packet: its number in 4 bytes, little endian. An answer is one packet: the number of the question,
// followed by JSON.
const (
	questionSize = 4
	maxAnswer    = 128 << 10 // bytes: a thousand processes and more on all GPUs together
	maxText      = 512       // bytes of an error
	maxNamed     = 256       // devices in one answer
)

var errMessage = errors.New("a message that makes no sense")

// helperAnswer is the helper's answer.
type helperAnswer struct {
	Snapshot Snapshot
	None     *NoNVMLError `json:",omitempty"` // why NVML cannot be used
	Early    bool         `json:",omitempty"` // the driver has no devices yet
	Failed   string       `json:",omitempty"` // any other error
}

func (a *helperAnswer) err() error {
	switch {
	case a.None != nil:
		return a.None
	case a.Early:
		return ErrNoDevices
	case a.Failed != "":
		return errors.New(a.Failed)
	}
	return nil
}

// newHelperAnswer returns the answer with a snapshot, or with an error if err is not nil.
func newHelperAnswer(s Snapshot, err error) (a helperAnswer) {
	switch {
	case err == nil:
		a.Snapshot = s
	case errors.As(err, &a.None):
		a.None.Detail = a.None.Detail[:min(len(a.None.Detail), maxText)]
	case errors.Is(err, ErrNoDevices):
		a.Early = true
	default:
		a.Failed = err.Error()[:min(len(err.Error()), maxText)]
	}
	return a
}

func question(number uint32) []byte { return binary.LittleEndian.AppendUint32(nil, number) }

// packet returns an answer in the form in which it is sent.
func packet(number uint32, a helperAnswer) []byte {
	text, err := json.Marshal(a)
	if err == nil && questionSize+len(text) > maxAnswer {
		err = fmt.Errorf("NVML says more than %d bytes", maxAnswer)
	}
	if err != nil {
		text, _ = json.Marshal(newHelperAnswer(Snapshot{}, err))
	}
	return append(question(number), text...)
}

// parse decodes the answer to a question.
func parse(message []byte, number uint32) (a helperAnswer, err error) {
	if len(message) < questionSize || len(message) > maxAnswer || binary.LittleEndian.Uint32(message) != number {
		return a, errMessage
	}
	if json.Unmarshal(message[questionSize:], &a) != nil || len(a.Snapshot.Devices) > maxNamed {
		return a, errMessage
	}
	return a, nil
}
