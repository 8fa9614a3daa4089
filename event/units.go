package event

// Bytes is a size in bytes. It is signed because differences are as common as sizes.
type Bytes int64

// Nanoseconds is an instant of CLOCK_MONOTONIC or a length of time, in nanoseconds.
type Nanoseconds int64

// Readings holds one value for each meter.
type Readings [MeterCount]Bytes
