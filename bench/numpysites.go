package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ipytracer/tracer"
)

// numpySites prints a table that shows in which builds of NumPy's extension module the places of large blocks are
// found. The names of the files describe the builds. scripts/numpy-builds.sh makes them.
func numpySites(files []string) {
	found := 0
	fmt.Println("| NumPy | compiler | build | places |\n|---|---|---|---|")
	for _, name := range files {
		columns := strings.Fields(strings.TrimSuffix(filepath.Base(name), ".so"))
		if len(columns) != 3 {
			fmt.Fprintf(os.Stderr, "%s: not named VERSION COMPILER CASE.so\n", name)
			os.Exit(2)
		}
		result, ok := look(name)
		if ok {
			found++
		}
		fmt.Printf("| %s | %s | %s | %s |\n", columns[0], columns[1], columns[2], result)
	}
	fmt.Printf("\n%d of %d found\n", found, len(files))
}

// look returns the number of places in a file, or the reason why they are not found.
func look(name string) (result string, ok bool) {
	f, err := os.Open(name)
	if err != nil {
		return err.Error(), false
	}
	defer f.Close()
	n, err := tracer.InspectNumPy(f)
	switch {
	case err != nil:
		return err.Error(), false
	case n.Stepped > 0:
		return fmt.Sprintf("%d, %d of them single-stepped", n.Places, n.Stepped), true
	}
	return fmt.Sprint(n.Places), true
}
