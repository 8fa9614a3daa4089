// Bench makes the inputs of benchmarks. It traces nothing and measures nothing.
//
//	go run ./bench sessions -kind notebook -n 20000 -o long.arrows
//	go run ./bench numpysites "FOLDER/VERSION COMPILER CASE.so" ...
package main

import (
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	commands := map[string]func(arguments []string){"sessions": sessions, "numpysites": numpySites}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		log.Fatal("usage: bench sessions|numpysites ARGUMENTS")
	}
	commands[os.Args[1]](os.Args[2:])
}
