package recording_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"

	"ipytracer/event"
	"ipytracer/event/recording"
)

// A recording is read event by event, in the order in which windows have to see the events.
func ExampleOpen() {
	file, err := os.Open("../../testdata/recording/format7.arrows")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	r, err := recording.Open(file)
	if err != nil {
		log.Fatal(err)
	}
	boundaries, changes := 0, 0
	err = r.Each(context.Background(), func(e event.Event) {
		switch e.(type) {
		case *event.Boundary:
			boundaries++
		case *event.Change:
			changes++
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d boundaries, %d changes of meters\n", boundaries, changes)
	// Output: 9 boundaries, 7 changes of meters
}

// A recording that ends without an [event.Finish] was cut, and says so.
func ExampleNewWriter() {
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, "0.1.0")
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Write(&event.Start{}); err != nil {
		log.Fatal(err)
	}
	if err := w.Flush(); err != nil { // a crash from here on loses nothing of it
		log.Fatal(err)
	}
	r, err := recording.Open(&file)
	if err != nil {
		log.Fatal(err)
	}
	err = r.Each(context.Background(), func(e event.Event) {
		if end, is := e.(*event.Finish); is {
			fmt.Println(end.Reason)
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: recording cut
}
