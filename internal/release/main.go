package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	version := flag.String("version", "", "the version, such as v0.9.0")
	root := flag.String("root", "../..", "the repository")
	flag.Parse()
	if err := release(*root, *version); err != nil {
		log.Fatal("release: ", err)
	}
}

// release writes the go.mod files of a version, and prints its tags.
func release(root, version string) error {
	modules, err := published(root, version)
	if err != nil {
		return err
	}
	for _, m := range modules {
		if err := os.WriteFile(filepath.Join(root, m.dir, "go.mod"), m.mod, 0o666); err != nil {
			return err
		}
	}
	fmt.Println("Commit the go.mod files on a branch of their own, and tag that commit:")
	for _, m := range modules {
		fmt.Println("git tag", m.tag(version))
	}
	return nil
}
